"""The section `button`: the user holds a button while they speak."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Action, Names, Transition, Trigger
from turnfsm.fsm.source import Path, Source

from .parts import Parts, Rows
from .written import FlowFile

__all__ = ["add_button", "check_button"]

_SECTION: Path = ("button",)
_STOPS = {
    "thinking": ("step_running", "interruptible"),
    "speaking": ("interruptible",),
    "paused": (),
}
"""The states in which a press interrupts the agent, with what must be true for that."""


def check_button(file: FlowFile, source: Source) -> Iterator[Finding]:
    """A model that detects turns cannot have them from a button, too."""
    if file.button and file.turn_detection == "realtime_llm":
        message = "a button begins and ends turns, and here a realtime model does that"
        remedy = "write 'turn_detection: manual', or remove 'button'"
        yield source.at_key(_SECTION, message, remedy, code="contradiction")


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
