"""The section `button`: the user holds a button while they speak."""

from __future__ import annotations

import attrs

from turnfsm.fsm.flow import Action, Names, Transition, Trigger
from turnfsm.fsm.source import Path

from .parts import Parts, Rows

__all__ = ["add_button"]

_SECTION: Path = ("button",)
_STOPS = {
    "thinking": ("step_running", "interruptible"),
    "speaking": ("interruptible",),
    "paused": (),
}
"""The states in which a press interrupts the agent, with what must be true for that."""


def add_button(parts: Parts) -> None:
    """A press interrupts the agent and opens the microphone; a release commits the turn."""
    if (button := parts.file.button) is None:
        return
    if parts.file.turn_detection is None:
        parts.file = attrs.evolve(parts.file, turn_detection="manual")
    pressed = "The user has pressed the button: they begin to speak."
    parts.event("button_pressed", Trigger(is_=pressed, rpc=button.press), _SECTION)
    released = "The user has released the button: their turn is complete."
    parts.event("button_released", Trigger(is_=released, rpc=button.release), _SECTION)
    cancelled = "The user takes back what they have said since they pressed the button."
    parts.event("button_cancelled", Trigger(is_=cancelled, rpc=button.cancel), _SECTION)
    for name, means in _ACTIONS.items():
        parts.action(name, Action(is_=means), _SECTION)
    opens: Names = ("open_microphone",)
    for name, state in parts.file.states.items():
        if state.final:
            continue
        rows: Rows = (Transition(actions=opens),)
        if name in _STOPS:
            stop = Transition(
                dest="interrupted",
                conditions=_STOPS[name],
                unless=("tools_held",),
                actions=("interrupt_speech", *opens),
            )
            rows = (stop, *rows)
        parts.trigger(name, "button_pressed", rows, _SECTION)
        parts.trigger(name, "button_released", (Transition(actions=("commit_turn",)),), _SECTION)
        parts.trigger(name, "button_cancelled", (Transition(actions=("clear_turn",)),), _SECTION)


_ACTIONS = {
    "open_microphone": "Discard what was heard before, and hear the user.",
    "commit_turn": "Close the microphone, and commit what the user has said.",
    "clear_turn": "Close the microphone, and discard what the user has said.",
}
