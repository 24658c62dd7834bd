"""The key `pace`: the seconds that nobody has written change in proportion."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.pace import times
from turnfsm.fsm.source import Path

from .parts import Parts
from .written import WrittenState

__all__ = ["add_pace"]

_TIMERS = ("false_interruption", "noise_limit")
"""Silences after a sound without words. Other timers limit what others do, or a caller does not
feel them."""


def add_pace(parts: Parts) -> None:
    """Seconds of shipped flows follow the pace of the file; those of its sections do so, too."""
    for name in _TIMERS:
        if name in parts.file.timers and parts.source.value(("timers", name)).page.shipped:
            parts.retime(name, parts.file.timers[name])
    states = parts.file.states
    parts.file = attrs.evolve(parts.file, states={**states, **dict(_patient(parts))})


def _patient(parts: Parts) -> Iterator[tuple[str, WrittenState]]:
    """The states that expect something, without saying how long they wait for the rest."""
    for name, state in parts.file.states.items():
        path: Path = ("states", name, "tuning", "expect")
        if (expected := state.tuning.expect) and not parts.source.written((*path, "wait")):
            wait = times(parts.file.pace, expected.wait)
            tuning = attrs.evolve(state.tuning, expect=attrs.evolve(expected, wait=wait))
            parts.paced[f"wait of {name}"] = wait
            yield name, attrs.evolve(state, tuning=tuning)
