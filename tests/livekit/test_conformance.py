"""`TurnSession(audit=True)`: a session tells when it breaks a property, and changes nothing."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from turnfsm import Flow, load_flow
from turnfsm.fsm.audit.properties import Broken, Judge
from turnfsm.livekit import TurnSession
from turnfsm.testing import Outcome, Reply, ScriptedLLM, ScriptedUser, Stage, broken_properties

PLAYS_OVER_THE_USER = """
flow: mine
extends: turn
states:
  thinking:
    on:
      user_started_speaking: {}
      barge_in: {}
      start_playout:
        - {conditions: [interruptible, holdable], unless: user_silent, actions: start_output}
        - {actions: start_output}
"""


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    """A flow that lets the agent begin while the user speaks; its proof fails."""
    file = tmp_path / "mine.yaml"
    file.write_text(PLAYS_OVER_THE_USER)
    return load_flow(file)


def played(flow: Flow | str, audit: bool) -> tuple[Outcome, list[Broken], TurnSession[Any]]:
    """The user makes a noise as the reply is about to be heard."""
    told: list[Broken] = []

    class Session(TurnSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(flow=flow, proof="off", audit=audit, **options)
            self.on("turn_property_broken", told.append)

    user = ScriptedUser().says("hello", at=1.0).makes_noise(at=3.5, duration=1.5)
    model = ScriptedLLM({"hello": Reply("Hello, how are you today?", ttft=2.0)})
    stage = Stage(Session, user=user, llm=model)
    outcome = stage.run(12.0)
    session: Any = stage.session
    return outcome, told, session


def test_a_broken_property_is_an_event_and_a_warning(
    flow: Flow, caplog: pytest.LogCaptureFixture
) -> None:
    """As `broken_properties` finds it in the journal afterwards."""
    with caplog.at_level(logging.WARNING, "turnfsm"):
        _, told, session = played(flow, audit=True)
    journal = session.turn.journal.read()
    assert {broken.property for broken in told} == {"no_playout_over_the_user"}
    assert list(dict.fromkeys(map(str, told))) == broken_properties(journal, flow, session.timers)
    warned = [r for r in caplog.records if r.getMessage().startswith("property broken")]
    assert [vars(record)["property"] for record in warned] == [b.property for b in told]


def test_what_happens_is_the_same_without_it(flow: Flow) -> None:
    """To the last event."""
    on, told, _ = played(flow, audit=True)
    off, none, _ = played(flow, audit=False)
    assert told
    assert not none
    assert on.heard == off.heard
    assert on.agent_states == off.agent_states


def test_the_shipped_flow_breaks_nothing() -> None:
    """In the same conversation."""
    assert played("turn", audit=True)[1] == []


def test_what_it_keeps_does_not_grow() -> None:
    """A thousand turns later it is as large as after one."""
    _, _, session = played("turn", audit=True)
    journal = session.turn.journal.read()
    judge = Judge(session.turn.flow, session.timers)
    sizes = []
    for _ in range(1000):
        for entry in journal.entries:
            list(judge.entry(entry))
        sizes.append((len(judge.known), len(judge.tokens)))
    assert sizes[10:] == sizes[10:11] * len(sizes[10:])
