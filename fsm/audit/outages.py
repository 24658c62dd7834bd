"""Outages in a journal: components that were given up, lost turns, voices without a transcript."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.journal import Closed, ComponentFailed, VoiceUnrecognised
from turnfsm.fsm.metrics import Figures, Reported, TurnEnd

from .rules import AuditFinding

__all__ = ["outages_in"]

SEVERAL = 2
"""Long voices in a row without a transcript: one may be a noise."""


def outages_in(figures: Figures) -> tuple[AuditFinding, ...]:
    """What has failed in a conversation, each outage once, in the order of time."""
    found = [*_given_up(figures), *_unrecognised(figures), *_lost_turns(figures), *_closed(figures)]
    return tuple(sorted(found, key=lambda finding: finding.at))


def _finding(at: float, what: str) -> AuditFinding:
    return AuditFinding(at, "", "", what)


def _given_up(figures: Figures) -> Iterator[AuditFinding]:
    failed: dict[str, list[float]] = {}
    for reported in figures.events:
        if isinstance(reported.event, ComponentFailed) and not reported.event.recoverable:
            failed.setdefault(str(reported.event), []).append(reported.at)
    for what, times in failed.items():
        often = f", {len(times)} times until {times[-1]:.2f} s" if len(times) > 1 else ""
        yield _finding(times[0], f"{what} and was given up{often}")


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
