"""Outages: a component failed for good, an error closed the session, speech got no transcript."""

from __future__ import annotations

from contextlib import suppress

from turnfsm.fsm.audit.events import Evidence
from turnfsm.fsm.audit.facts import Facts
from turnfsm.fsm.journal import (
    AgentEntryFailed,
    Closed,
    ComponentFailed,
    Note,
    VoiceUnrecognised,
    session_event,
)
from turnfsm.fsm.metrics.figures import Figures
from turnfsm.fsm.metrics.values import Reported, TurnEnd

from .rule import AuditFinding, Found, rule

__all__ = ["outages_in"]


def _components(failures: list[tuple[float, ComponentFailed]]) -> Found:
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
    yield from _components(failures)


@rule("", "", needs=(Evidence.CLOSE,))
def _closed(facts: Facts) -> Found:
    """LiveKit closes a session whose components keep failing."""
    for event in facts.recording.named("close"):
        if event.text("reason") == "error":
            yield event.t, str(Closed("error", event.text("error") or None))


SEVERAL = 2
"""So many long utterances in a row without a transcript are an outage; one may be a noise."""


def outages_in(figures: Figures) -> list[AuditFinding]:
    """The outages in a journal, each once, in the order of time."""
    events = [(reported.at, reported.event) for reported in figures.events]
    outages = [
        *_components([(at, event) for at, event in events if isinstance(event, ComponentFailed)]),
        *((at, str(event)) for at, event in events if isinstance(event, AgentEntryFailed)),
        *_unrecognised(figures),
        *(
            (turn.at, f"turn {turn.number} was dropped: {turn.why}")
            for turn, _ in figures.turn_ends
            if turn.outcome == "dropped" and " failed (" in turn.why
        ),
        *((at, str(e)) for at, e in events if isinstance(e, Closed) and e.reason == "error"),
    ]
    return [AuditFinding(at, "", "", what) for at, what in sorted(outages, key=lambda o: o[0])]


def _unrecognised(figures: Figures) -> Found:
    voices: list[VoiceUnrecognised] = []
    for value in (*figures.values, None):
        if isinstance(value, Reported) and isinstance(value.event, VoiceUnrecognised):
            voices += [value.event] if value.event.long else []
        elif value is None or isinstance(value, TurnEnd):
            if len(voices) >= SEVERAL:
                since, until = voices[0].since, voices[-1].until
                text = (
                    f"{len(voices)} utterances from {since:.2f} to {until:.2f} s have no transcript"
                )
                yield since, text
            voices = []
