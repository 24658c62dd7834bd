"""Converts a journal to ticks for the panel."""

from __future__ import annotations

from collections.abc import Iterable

from turnfsm.fsm.journal import Entry, Journal

from .floor import HEARD
from .panel import TICK, Tick

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
    user, agent, end = _spans(journal)
    speaks, heard = sampled(user, end), sampled(agent, end)
    backchannels = [False] * len(speaks)
    sounds: list[tuple[tuple[str, str], ...]] = [()] * len(speaks)
    for start, stop, kind in _labels(journal):
        for n, inside in enumerate(sampled([(start, stop)], end)):
            if inside and kind == "backchannel":
                backchannels[n] = True
            elif inside:
                sounds[n] = (*sounds[n], (kind, f"at {start:g}"))
    return [Tick(*tick) for tick in zip(speaks, heard, backchannels, sounds, strict=True)]


def _spans(
    journal: Journal,
) -> tuple[list[tuple[float, float]], list[tuple[float, float]], float]:
    user: list[tuple[float, float]] = []
    agent: list[tuple[float, float]] = []
    user_since: float | None = None
    agent_since: float | None = None
    end = 0.0
    for record in journal.records:
        end = t = round(record.t, 6)
        if not isinstance(record, Entry):
            continue
        verdict = record.verdict
        if verdict and record.trigger == "user_started_speaking" and user_since is None:
            user_since = t
        elif verdict and record.trigger == "user_stopped_speaking" and user_since is not None:
            user.append((user_since, t))
            user_since = None
        if verdict.dest == HEARD and agent_since is None:
            agent_since = t
        elif verdict.dest != HEARD and agent_since is not None:
            agent.append((agent_since, t))
            agent_since = None
    user += [(user_since, end)] if user_since is not None else []
    agent += [(agent_since, end)] if agent_since is not None else []
    return user, agent, end


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
