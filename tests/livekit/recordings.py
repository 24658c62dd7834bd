"""The scenarios of `turnfsm compare`, recorded; several tests look at the same conversation."""

from __future__ import annotations

import inspect
import io
from functools import cache
from typing import Any

from livekit.agents import AgentSession

from turnfsm.audit import Audit, audit_recording, parse_recording
from turnfsm.livekit import EventRecorder
from turnfsm.runtime.compare import Scenario
from turnfsm.runtime.testing.livekit import Outcome

__all__ = ["FAILING", "audited", "outages", "played", "recorded"]

FAILING = {
    "P2": ["the TTS failed (APIConnectionError) and was given up"],
    "P3": ["the LLM failed (APIConnectionError) and was given up"],
}
"""What fails in a scenario, so that the audit names it."""


@cache
def played(
    scenario: Scenario, session: type[AgentSession[Any]] = AgentSession
) -> tuple[Outcome, str]:
    """A scenario on a stock session or on ours, and what `EventRecorder` writes of it."""
    events = io.StringIO()

    class Recorded(session):  # type: ignore[misc, valid-type]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            EventRecorder(self, events)

    Recorded.__signature__ = inspect.signature(session)  # type: ignore[attr-defined]
    return scenario.play(Recorded), events.getvalue()


def recorded(scenario: Scenario) -> str:
    """What `EventRecorder` writes of a scenario on a stock session."""
    return played(scenario)[1]


@cache
def audited(scenario: Scenario, session: type[AgentSession[Any]] = AgentSession) -> Audit:
    """The audit of what is recorded."""
    return audit_recording(parse_recording(played(scenario, session)[1].encode(), "events.jsonl"))


def outages(audit: Audit) -> list[str]:
    """The findings, which are all about outages."""
    assert not any(finding.failure or finding.property for finding in audit.findings)
    return [finding.what for finding in audit.findings]
