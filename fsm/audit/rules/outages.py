"""Outages that LiveKit reports: a component failed for good, or an error closed the session."""

from __future__ import annotations

from contextlib import suppress

from turnfsm.fsm.audit.events import Evidence
from turnfsm.fsm.audit.facts import Facts
from turnfsm.fsm.journal import Closed, ComponentFailed, Note, session_event

from .rule import Found, rule

__all__ = ["given_up"]


def given_up(failures: list[tuple[float, ComponentFailed]]) -> Found:
    """The components that failed for good, each once."""
    times: dict[str, list[float]] = {}
    for at, failure in failures:
        if not failure.recoverable:
            times.setdefault(str(failure), []).append(at)
    for what, when in times.items():
        often = f", {len(when)} times until {when[-1]:.2f} s" if len(when) > 1 else ""
        yield when[0], f"{what} and was given up{often}"


@rule("", "", needs=(Evidence.ERRORS,))
def _given_up(facts: Facts) -> Found:
    """A component has failed, and LiveKit does not retry it."""
    failures = []
    for event in facts.recording.named("error"):
        with suppress(TypeError):  # an older recording does not name the component
            failed = session_event(Note(0, event.t, ComponentFailed.KIND, event.fields))
            failures += [(event.t, failed)] if isinstance(failed, ComponentFailed) else []
    yield from given_up(failures)


@rule("", "", needs=(Evidence.CLOSE,))
def _closed(facts: Facts) -> Found:
    """LiveKit closes a session whose components keep failing."""
    for event in facts.recording.named("close"):
        if event.text("reason") == "error":
            yield event.t, str(Closed("error", event.text("error") or None))
