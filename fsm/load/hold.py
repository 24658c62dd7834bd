"""The section `hold`: the user may ask the agent to wait."""

from __future__ import annotations

import attrs

from turnfsm.fsm.flow import Action, Fact, Names, Never, Phrases, Transition

from .parts import Parts
from .written import HOST

__all__ = ["add_hold"]

_WITHOUT_WEIGHT = ("hold", "acknowledgement", "backchannel")
"""The phrase lists that a turn may contain while still only asking the agent to wait."""
_HEARD_OUT = ("tools_held", "empty_transcript")
"""The facts with which the agent's speech is not interrupted."""
_STOPS: tuple[tuple[str, Transition], ...] = (
    ("interrupted", Transition()),
    ("thinking", Transition("interrupted", ("step_running", "interruptible"))),
    ("speaking", Transition("interrupted", ("interruptible",))),
    ("paused", Transition("interrupted")),
    ("tool_running", Transition()),
)
"""The states besides `listening`, with the transition that stops the agent there."""


def add_hold(parts: Parts) -> None:
    """A turn that only asks the agent to wait sets `on_hold`. Then the agent starts nothing."""
    if (hold := parts.file.hold) is None:
        return
    parts.declare("hold")
    weightless = Phrases(lists=_WITHOUT_WEIGHT, also=hold.also)
    asked = Phrases(lists=("hold",), also=hold.also, anywhere=True)
    parts.add("phrases", "hold_asked", asked)
    parts.add("phrases", "only_asked", weightless)
    if hold.until:
        back = Fact(is_="The user has said that they are back.")
        parts.fact(HOST, "user_back", back)
        heard = Phrases(also=hold.until, anywhere=True)
        parts.add("phrases", "user_back", heard)
        if ("phrases", "user_back") in parts.places:
            parts.places["phrases", "user_back", "also"] = (*parts.at, "until")
    timers = _quiet(parts)
    actions: Names = ("leave_turn",)
    if hold.say:
        parts.action("say_hold", Action(say=hold.say))
        actions = (*actions, "say_hold")
    waits = Transition(
        conditions=("hold_asked", "only_asked"), actions=actions, restarts=("hold", *timers)
    )
    room = Transition(
        conditions=("on_hold",), unless=("user_back", "manual_turns"), actions=("leave_turn",)
    )
    ignored = (room,) if hold.until else ()
    parts.trigger("listening", "hold_turn", (waits, *ignored))
    talked_through = tuple({"backchannel"} & {*parts.file.facts.get(HOST, ())})
    for state, row in _STOPS:
        stops = ("interrupt_speech",) if row.dest else ()
        stop = attrs.evolve(
            row,
            conditions=(*waits.conditions, *row.conditions),
            unless=(*_HEARD_OUT, *talked_through) if stops else (),
            actions=(*stops, *actions),
        )
        parts.trigger(state, "hold_turn", (stop, *ignored))
    parts.action("say_hold_limit", Action(say=hold.then))
    over = Transition(
        conditions=("on_hold", "can_say"),
        unless=("user_speaking", "user_may_continue"),  # while one is true, the timer stays due
        actions=("say_hold_limit",),
        restarts=timers,
    )
    parts.timer("listening", "hold", hold.limit, over)
    if ("timers", "hold") in parts.places:
        parts.places["timers", "hold"] = (*parts.at, "limit")


def _quiet(parts: Parts) -> Names:
    """The agent starts nothing by itself while the user is away.

    Returns:
        The timers that count the silence of the user.
    """
    sections = {path[1] for path in parts.places if path[0] == "actions"}
    begins = sections | {"start_preemptive_generation", "request_next_reply"}
    for state in ("listening", "tool_running"):
        parts.guard(state, "on_hold", begins)
    for action in ("start_preemptive_generation", "request_next_reply"):
        if action in parts.file.actions:
            quiet = Never(action=action, when=("on_hold",), because="The user is away.")
            parts.never(f"no_{action}_on_hold", quiet)
    timers = parts.file.states["listening"].after
    return tuple(name for name in timers if ("states", "listening", "after", name) in parts.places)
