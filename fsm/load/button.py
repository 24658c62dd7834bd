"""The section `button`: the user holds a button while they speak."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Trigger
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path, Source

from .parts import Parts
from .written import FlowFile

__all__ = ["add_button", "check_button"]

_SECTION: Path = ("button",)
_EVENTS = {
    "button_pressed": "The user has pressed the button: they begin to speak.",
    "button_released": "The user has released the button: their turn is complete.",
    "button_cancelled": "The user takes back what they have said since they pressed the button.",
}


def check_button(file: FlowFile, source: Source) -> Iterator[Finding]:
    """A model that detects turns cannot have them from a button, too."""
    if file.button and file.turn_detection == "realtime_llm":
        yield problem(source, _SECTION, "contradiction.button")


def add_button(parts: Parts) -> None:
    """A press interrupts the agent and opens the microphone; a release commits the turn, unless
    nothing was said. While the button is held, no reply is requested. The user's silence counts
    from the release."""
    if (button := parts.file.button) is None:
        return
    if parts.file.turn_detection is None:
        parts.file = attrs.evolve(parts.file, turn_detection="manual")
    methods = (button.press, button.release, button.cancel)
    for (name, means), method in zip(_EVENTS.items(), methods, strict=True):
        parts.add("events", name, Trigger(is_=means, rpc=method))
    parts.declare("button")
    for name in parts.file.states:
        if asks := parts.rows(name).get("reply"):
            later = (attrs.evolve(row, unless=(*row.unless, "button_held")) for row in asks)
            parts.trigger(name, "reply", tuple(later))
    commits = parts.rows("listening")["turn_committed"]
    unless = (tuple(dict.fromkeys((*row.unless, "empty_transcript"))) for row in commits)
    said = (attrs.evolve(row, unless=names) for row, names in zip(commits, unless, strict=True))
    parts.trigger("listening", "turn_committed", tuple(said))
    ended = parts.rows("listening").get("user_stopped_speaking", ())
    silences = next((row.restarts for row in ended if not (row.conditions or row.unless)), ())
    for trigger in ("button_released", "button_cancelled"):
        rows = (attrs.evolve(row, restarts=silences) for row in parts.rows("listening")[trigger])
        parts.trigger("listening", trigger, tuple(rows))
