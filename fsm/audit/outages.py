"""Finds outages in a journal: components that failed for good, lost turns, missing transcripts."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.journal import AgentEntryFailed, Closed, ComponentFailed, VoiceUnrecognised
from turnfsm.fsm.metrics.figures import Figures
from turnfsm.fsm.metrics.values import Reported, TurnEnd

from .rules import AuditFinding
from .rules.outages import given_up

__all__ = ["outages_in"]

SEVERAL = 2
"""How many long utterances in a row without a transcript are an outage; a single one may be a
noise."""


def outages_in(figures: Figures) -> tuple[AuditFinding, ...]:
    """The outages of a conversation, each once, in the order of time."""
    kinds = (_given_up, _entries, _unrecognised, _lost_turns, _closed)
    found = [finding for kind in kinds for finding in kind(figures)]
    return tuple(sorted(found, key=lambda finding: finding.at))


def _finding(at: float, what: str) -> AuditFinding:
    return AuditFinding(at, "", "", what)


def _given_up(figures: Figures) -> Iterator[AuditFinding]:
    events = ((reported.at, reported.event) for reported in figures.events)
    failures = [(at, event) for at, event in events if isinstance(event, ComponentFailed)]
    for at, what in given_up(failures):
        yield _finding(at, what)


def _entries(figures: Figures) -> Iterator[AuditFinding]:
    for reported in figures.events:
        if isinstance(reported.event, AgentEntryFailed):
            yield _finding(reported.at, str(reported.event))


def _unrecognised(figures: Figures) -> Iterator[AuditFinding]:
    voices: list[VoiceUnrecognised] = []
    for value in (*figures.values, None):
        if isinstance(value, Reported) and isinstance(value.event, VoiceUnrecognised):
            voices += [value.event] if value.event.long else []
        elif value is None or isinstance(value, TurnEnd):
            if len(voices) >= SEVERAL:
                since, until = voices[0].since, voices[-1].until
                said = f"{len(voices)} voices from {since:.2f} to {until:.2f} s have no transcript"
                yield _finding(since, said)
            voices = []


def _lost_turns(figures: Figures) -> Iterator[AuditFinding]:
    for turn, _ in figures.turn_ends:
        if turn.outcome == "dropped" and " failed (" in turn.why:
            yield _finding(turn.at, f"turn {turn.number} was dropped: {turn.why}")


def _closed(figures: Figures) -> Iterator[AuditFinding]:
    for reported in figures.events:
        if isinstance(reported.event, Closed) and reported.event.reason == "error":
            yield _finding(reported.at, str(reported.event))
