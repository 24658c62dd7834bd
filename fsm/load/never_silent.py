"""The section `never_silent`: a user who waits hears something, whatever goes on."""

from __future__ import annotations

import attrs

from turnfsm.fsm.flow import Action, Transition
from turnfsm.fsm.source import Path

from .parts import Parts, Rows
from .spoken import BUSY, end_of_filler

__all__ = ["add_never_silent"]

_TIMER = "quiet"
_AT_WORK = ("thinking", "tool_running")
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
    for state in (*_BETWEEN, *_AT_WORK):
        parts.timer(state, _TIMER, section.after, rows.get(state, (open_turn,)), place)
    parts.lasting(_TIMER)
    for state in _BETWEEN:
        for trigger, its in parts.rows(state).items():
            if (counted := _counted(trigger, its)) != its:
                parts.trigger(state, trigger, counted, place)
    released = Transition(conditions=("output_held",), restarts=(_TIMER,))
    parts.trigger("thinking", "output_released", (released,), place)
    end_of_filler(parts, place)
    if parts.file.properties.no_silence_longer_than is None:
        parts.no_silence_longer_than(section.after, (*place, "after"))


def _counted(trigger: str, rows: Rows) -> Rows:
    """The silence is counted from a committed turn; from a step or a tool only if no turn was open
    before: then the timer kept running while nobody waited."""
    counted: list[Transition] = []
    for row in rows:
        anew = attrs.evolve(row, restarts=(*row.restarts, _TIMER))
        if trigger == "turn_committed":
            counted.append(anew if row.actions else row)
        elif row.dest in _AT_WORK and "turn_open" not in (*row.conditions, *row.unless):
            counted += [attrs.evolve(row, conditions=(*row.conditions, "turn_open")), anew]
        else:
            counted.append(row)
    return tuple(counted)
