"""The section `backchannels`: what the agent says at a pause of a user who talks on."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import near
from turnfsm.fsm.flow import Action, Transition, Tuning
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path, Source

from .parts import Parts
from .spoken import also_restarting
from .written import FlowFile

__all__ = ["add_backchannels", "check_backchannels"]

_SECTION: Path = ("backchannels",)
_STATES = ("listening", "tool_running")
"""The states in which no step holds the floor, and the user may have it."""
_AFTER, _LOOK = 4.0, 0.05
_BEGINS = "user_started_speaking"


def check_backchannels(file: FlowFile, source: Source) -> Iterator[Finding]:
    """The problems of the section, besides those of its expansion."""
    if (its := file.backchannels) is None:
        return
    for index, state in enumerate(its.in_):
        if state not in _STATES:
            listed: Path = (*_SECTION, "in", index)
            where = listed if source.written(listed) else (*_SECTION, "in")
            named = {"state": state, "near": near(state, _STATES)}
            yield problem(source, where, "unknown-state.of_backchannel", **named)


def add_backchannels(parts: Parts) -> None:
    """After some seconds of speech, the next pause in it gets a backchannel."""
    if (its := parts.file.backchannels) is None:
        return
    parts.declare("backchannels")
    parts.action("say_backchannel", Action(say=its.say, audio=its.audio, backchannel=True))
    spoken = Transition(conditions=("user_speaking",), unless=("backchannel_due",))
    said = Transition(
        conditions=("backchannel_due", "backchannel_ready", "user_speaking", "user_silent"),
        unless=("turn_open",),
        actions=("say_backchannel",),
        restarts=("backchannel_after", "backchannel_look"),
    )
    for state in (state for state in its.in_ if state in _STATES):
        parts.paced_timer(state, "backchannel_after", its.after, _AFTER, spoken)
        parts.timer(state, "backchannel_look", _LOOK, said)
        rows = parts.rows(state).get(_BEGINS, ())
        begun = also_restarting(rows, ("backchannel_after",), ("prepare_backchannel",))
        parts.trigger(state, _BEGINS, begun)
        parts.tuned(state, Tuning(min_silence=its.pause), {"min_silence": (*_SECTION, "pause")})
    if heard := parts.rows("thinking").get("playout_started"):
        stops = tuple(attrs.evolve(r, actions=(*r.actions, "stop_backchannel")) for r in heard)
        parts.trigger("thinking", "playout_started", stops)
