"""Expands the sections of a flow into timers, facts, actions and transitions.

This happens when a flow is loaded, so the proof, the diagram and the runtime see only the expanded
form. The file's own declarations come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, TypeVar

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import near
from turnfsm.fsm.expect import Expectation
from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.pace import times
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path, Source

from .backchannels import add_backchannels, check_backchannels
from .button import add_button, check_button
from .confirm import add_confirm, check_confirm
from .hold import add_hold
from .parts import Parts
from .spoken import FILLED, add_fillers, add_monologue, add_never_silent, add_not_heard, add_silence
from .written import LONGEST, Filler, FlowFile

__all__ = ["check_sections", "with_sections"]

_Expected = TypeVar("_Expected", bound=Expectation)


_TIMERS = ("false_interruption", "noise_limit")
"""Timers of silence after a noise. Other timers limit what others do, or are not noticed by a
caller."""


def add_pace(parts: Parts) -> None:
    """Scale the seconds of shipped flows and of the file's sections by the pace of the file."""
    for name in _TIMERS:
        if name in parts.file.timers and parts.source.value(("timers", name)).page.shipped:
            parts.retime(name, parts.file.timers[name])
    file = parts.file
    states = {
        name: attrs.evolve(
            state, tuning=_patient(parts, state.tuning, ("states", name, "tuning"), name)
        )
        for name, state in file.states.items()
    }
    tools, agents = (
        {name: _patient(parts, tuning, (*path, name), name) for name, tuning in tunings.items()}
        for path, tunings in (
            (("tools", "tuning"), file.tools.tuning),
            (("overlays",), file.overlays),
        )
    )
    tuned = attrs.evolve(file.tools, tuning=tools)
    questions = {
        name: _waiting(parts, question, ("questions", name), name)
        for name, question in file.questions.items()
    }
    parts.file = attrs.evolve(
        file, states=states, tools=tuned, overlays=agents, questions=questions
    )


def _patient(parts: Parts, tuning: Tuning, path: Path, name: str) -> Tuning:
    if (expected := tuning.expect) is None:
        return tuning
    waiting = _waiting(parts, expected, (*path, "expect"), name)
    return attrs.evolve(tuning, expect=waiting)


def _waiting(parts: Parts, expected: _Expected, path: Path, name: str) -> _Expected:
    """It waits as the pace says, if it has no `wait`."""
    if parts.source.written((*path, "wait")):
        return expected
    wait = parts.paced[f"wait of {name}"] = times(parts.file.pace, expected.wait)
    return attrs.evolve(expected, wait=wait)


_SECTIONS: Mapping[str, tuple[str, Callable[[Parts], None]]] = {
    "fillers": ("tool_running", add_fillers),
    "monologue": ("speaking", add_monologue),
    "backchannels": ("listening", add_backchannels),
    "never_silent": ("listening", add_never_silent),
    "not_heard": ("listening", add_not_heard),
    "silence": ("listening", add_silence),  # counts from what the others say
    "hold": ("listening", add_hold),
    "tools.confirm": ("tool_running", add_confirm),
    "button": ("listening", add_button),  # in each state, also those of the others
}
"""Each section, with the state that it needs and the function that expands it."""


def check_sections(file: FlowFile, source: Source) -> Iterator[Finding]:
    """The problems of the sections, besides those of their expansions."""
    for section, (state, _) in _SECTIONS.items():
        *_, name = path = tuple(section.split("."))
        if (given := attrgetter(section)(file)) and state not in file.states:
            removed = source.still_used("states", "state", state, path)
            named = {"section": name, "state": state}
            yield removed or problem(source, path, "unknown-state.of_section", **named)
        for index, part in enumerate(given if isinstance(given, tuple) else (given,)):
            place = Parts(file, source).place(name, index)
            yield from _check_seconds(part, place if isinstance(given, tuple) else path, source)
    for index, reprompt in enumerate(file.silence[:-1]):
        if reprompt.hang_up:
            where = (*Parts(file, source).place("silence", index), "hang_up")
            yield problem(source, where, "contradiction.hang_up")
    for index, filler in enumerate(file.fillers):
        yield from _check_states(filler, Parts(file, source).place("fillers", index), source)
    yield from check_backchannels(file, source)
    yield from check_confirm(file, source)
    yield from check_button(file, source)


def _check_seconds(part: Any, path: Path, source: Source) -> Iterator[Finding]:
    for field in attrs.fields(type(part)) if attrs.has(type(part)) else ():
        seconds, name = getattr(part, field.name), yaml_name(field)
        if isinstance(seconds, float) and not 0 < seconds < LONGEST:
            named = {"name": name, "seconds": seconds, "most": LONGEST}
            yield problem(source, (*path, name), "range.seconds", **named)


def _check_states(filler: Filler, place: Path, source: Source) -> Iterator[Finding]:
    for index, state in enumerate(filler.in_):
        if state not in FILLED:
            named = {"state": state, "near": near(state, FILLED)}
            yield problem(source, (*place, "in", index), "unknown-state.of_filler", **named)
    if filler.tools and (other := [state for state in filler.in_ if state in FILLED[1:]]):
        where: Path = (*place, "tools")
        yield problem(source, where, "contradiction.filler_for_tools", state=other[0])


def with_sections(file: FlowFile, source: Source) -> Parts:
    """The file with its sections expanded, and where each added part is written."""
    parts = Parts(file, source)
    add_pace(parts)
    for section, (state, add) in _SECTIONS.items():
        if attrgetter(section)(file) and state in file.states:
            parts.at = tuple(section.split("."))
            add(parts)
    return parts
