"""The key `pace`: scales the default seconds."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.pace import times
from turnfsm.fsm.source import Path

from .parts import Parts
from .written import WrittenState

__all__ = ["add_pace"]

_TIMERS = ("false_interruption", "noise_limit")
"""Timers of silence after a noise. Other timers limit what others do, or are not noticed by a
caller."""


def add_pace(parts: Parts) -> None:
    """Scale the seconds of shipped flows and of the file's sections by the pace of the file."""
    for name in _TIMERS:
        if name in parts.file.timers and parts.source.value(("timers", name)).page.shipped:
            parts.retime(name, parts.file.timers[name])
    states = parts.file.states
    parts.file = attrs.evolve(parts.file, states={**states, **dict(_patient(parts))})


def _patient(parts: Parts) -> Iterator[tuple[str, WrittenState]]:
    """The states with an expectation that has no `wait`."""
    for name, state in parts.file.states.items():
        path: Path = ("states", name, "tuning", "expect")
        if (expected := state.tuning.expect) and not parts.source.written((*path, "wait")):
            wait = times(parts.file.pace, expected.wait)
            tuning = attrs.evolve(state.tuning, expect=attrs.evolve(expected, wait=wait))
            parts.paced[f"wait of {name}"] = wait
            yield name, attrs.evolve(state, tuning=tuning)
