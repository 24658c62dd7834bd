"""Converts a journal to ticks for the panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnfsm.fsm.journal import Journal

from .floor import HEARD
from .panel import TICK, Tick, spans_of

__all__ = ["LABEL", "sampled", "ticks_of"]

LABEL = "user_sound"
"""The kind of a note that labels a sound of the user: ``what`` (``backchannel``, ``vocal_tic`` or
``non_directed``), ``start``, ``end``."""

_LONGEST = 100_000.0
"""How many seconds are examined."""


def ticks_of(journal: Journal) -> list[Tick]:
    """Who speaks in each tick (0.2 s) of a conversation, judged at the middle of the tick.

    S_BC, S_VT and S_ND need labelled sounds of the user: ``session.turn.note("user_sound",
    what="backchannel", start=3.1, end=3.6)``.

    Args:
        journal: The journal.

    Returns:
        The ticks for `panel`.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.metrics import panel, ticks_of
        >>> panel([ticks_of(read_journal("journal.jsonl"))]).response_rate
        1.0
    """
    end = round(journal.records[-1].t, 6) if journal.records else 0.0
    agent = ((round(entry.t, 6), entry.verdict.dest == HEARD) for entry in journal.entries)
    speaks, heard = (sampled(spans_of(side, end), end) for side in (_user(journal), agent))
    backchannels = [False] * len(speaks)
    sounds: list[tuple[tuple[str, str], ...]] = [()] * len(speaks)
    for start, stop, kind in _labels(journal):
        for n, inside in enumerate(sampled([(start, stop)], end)):
            if inside and kind == "backchannel":
                backchannels[n] = True
            elif inside:
                sounds[n] = (*sounds[n], (kind, f"at {start:g}"))
    ticks = [*zip(speaks, heard, backchannels, sounds, strict=True)]
    equal = {tick: Tick(*tick) for tick in set(ticks)}  # few differ, and many journals are measured
    return [equal[tick] for tick in ticks]


def _user(journal: Journal) -> Iterator[tuple[float, bool]]:
    """When the user began to speak, and when they stopped."""
    for entry in journal.entries:
        if entry.verdict and entry.trigger in ("user_started_speaking", "user_stopped_speaking"):
            yield round(entry.t, 6), entry.trigger == "user_started_speaking"


def sampled(spans: Iterable[tuple[float, float]], until: float) -> list[bool]:
    """Whether each tick is in one of the spans."""
    count = int(min(until, _LONGEST) / TICK + 0.5)
    ticks = [False] * count
    for start, end in spans:
        first = max(0, int(start / TICK + 0.5))
        for n in range(first, min(count, int(end / TICK + 0.5))):
            ticks[n] = True
    return ticks


def _labels(journal: Journal) -> Iterable[tuple[float, float, str]]:
    for note in journal.notes:
        if note.kind != LABEL:
            continue
        start, end, kind = (note.data.get(key) for key in ("start", "end", "what"))
        if isinstance(start, int | float) and isinstance(end, int | float) and start >= 0:
            yield float(start), float(end), str(kind)
