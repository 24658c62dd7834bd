"""The section `monologue`: the agent stops at the end of a sentence, and lets the user in."""

from __future__ import annotations

from turnfsm.fsm.flow import Action, Fact, Names, Seconds, Transition
from turnfsm.fsm.source import Path

from .parts import Parts
from .written import HOST

__all__ = ["add_monologue"]

_LOOK = Seconds(0.1)
_NO_LATER = 5.0


def add_monologue(parts: Parts) -> None:
    """After so long in `speaking` it looks for the end of a sentence, for some seconds."""
    if (monologue := parts.file.monologue) is None:
        return
    place: Path = ("monologue",)
    between = "The agent is between two sentences of what it says."
    parts.fact(HOST, "between_sentences", Fact(is_=between), place)
    parts.fact("step", "talked_long", Fact(set_by=("monologue",)), place)
    actions: Names = ("force_interrupt",)
    if monologue.say:
        parts.action("say_monologue", Action(say=monologue.say), place)
        actions = (*actions, "say_monologue")
    begins = Transition(unless=("talked_long",))
    ends = Transition(
        dest="interrupted",
        conditions=("talked_long", "between_sentences", "interruptible"),
        actions=actions,
    )
    at_last = Transition(dest="interrupted", conditions=("interruptible",), actions=actions)
    parts.timer("speaking", "monologue", Seconds(monologue.after), begins, place)
    parts.timer("speaking", "monologue_look", _LOOK, ends, place)
    parts.timer("speaking", "monologue_limit", Seconds(monologue.after + _NO_LATER), at_last, place)
