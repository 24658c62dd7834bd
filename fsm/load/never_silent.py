"""The section `never_silent`: a user who waits hears something, whatever goes on."""

from __future__ import annotations

import attrs

from turnfsm.fsm.flow import Action, Transition
from turnfsm.fsm.source import Path

from .parts import Parts
from .spoken import AT_WORK, BUSY, count_turn, end_of_filler

__all__ = ["add_never_silent"]

_TIMER = "quiet"
_BETWEEN = ("listening", "interrupted")
"""States in which the user waits only while their turn is open."""


def add_never_silent(parts: Parts) -> None:
    """One timer counts through all states in which the user waits."""
    if (section := parts.file.never_silent) is None:
        return
    place: Path = ("never_silent",)
    parts.can_say(place)
    parts.action("say_quiet", Action(say=section.say), place)
    parts.action("say_give_up", Action(say=section.give_up), place)
    says = Transition(conditions=("can_say",), unless=BUSY, actions=("say_quiet",))
    gives_up = Transition(
        dest="interrupted",
        conditions=("can_say", "step_running"),
        unless=(*BUSY, "output_held"),
        actions=("report_limit", "force_interrupt", "say_give_up"),
    )
    before = attrs.evolve(says, unless=(*BUSY, "step_running"))
    rows = {"thinking": (gives_up, before), "tool_running": (says,)}
    open_turn = attrs.evolve(says, conditions=("turn_open", "can_say"))
    still = Transition(conditions=("reply_awaited",), unless=("turn_open",), restarts=(_TIMER,))
    for state in (*_BETWEEN, *AT_WORK):
        parts.timer(state, _TIMER, section.after, rows.get(state, (open_turn, still)), place)
    parts.lasting(_TIMER)
    for state in _BETWEEN:
        count_turn(parts, state, _TIMER, AT_WORK, place)
    released = Transition(conditions=("output_held",), restarts=(_TIMER,))
    parts.trigger("thinking", "output_released", (released,), place)
    end_of_filler(parts, place)
    if parts.file.properties.no_silence_longer_than is None:
        parts.no_silence_longer_than(section.after, (*place, "after"))
