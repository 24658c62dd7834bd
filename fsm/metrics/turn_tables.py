"""The tables of a report about single turns and about failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from turnfsm.fsm.journal import (
    AgentEntryFailed,
    AudioStopped,
    Closed,
    ComponentFailed,
    ComponentSwitched,
    VoiceUnrecognised,
)

from .figures import Figures

__all__ = ["outages", "turn_rows"]

_NONE = "-"


def turn_rows(figures: Figures) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """One row for each turn of a conversation: its outcome, and the response by part.

    Returns:
        The head, and the rows.
    """
    parts = tuple(figures.response_parts)
    rows = []
    for turn, response in figures.turn_ends:
        spent = dict(response.parts) if response is not None else {}
        total = _NONE if response is None else f"{response.seconds:.2f}"
        cells = (f"{spent[part]:.2f}" if part in spent else _NONE for part in parts)
        rows.append((str(turn.number), turn.outcome, total, *cells, turn.why))
    if any(turn.why for turn, _ in figures.turn_ends):
        return ("turn", "outcome", "response", *parts, "why"), rows
    return ("turn", "outcome", "response", *parts), [row[:-1] for row in rows]


def outages(figures: Figures) -> Iterator[tuple[str, str]]:
    """Failures and missing inputs with their counts, and how the sessions closed."""
    count: Counter[str] = Counter()
    closed: Counter[str] = Counter()
    for reported in figures.events:
        match reported.event:
            case ComponentFailed() as failure:
                how = "tried again" if failure.recoverable else "given up"
                count[f"{failure}, {how}"] += 1
            case AgentEntryFailed() as failure:
                count[str(failure)] += 1
            case ComponentSwitched(available=False, component=component):
                count[f"{component} was replaced by another one"] += 1
            case VoiceUnrecognised() as voice if voice.long:
                count["speech of at least 1 s has no transcript"] += 1
            case AudioStopped():
                count["no audio of the user for at least 5 s"] += 1
            case Closed() as close:
                closed[str(close)] += 1
    yield from ((what, str(times)) for what, times in count.items())
    if count or any(" error" in how for how in closed):
        yield from ((how, str(times)) for how, times in closed.items())
