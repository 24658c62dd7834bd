"""The section `monologue`: the agent stops at the end of a sentence, and lets the user speak."""

from __future__ import annotations

from turnfsm.fsm.flow import Action, Fact, Names, Transition
from turnfsm.fsm.source import Path

from .parts import Parts
from .written import HOST

__all__ = ["add_monologue"]

_AFTER = 20.0
_LOOK = 0.1
_NO_LATER = 5.0


def add_monologue(parts: Parts) -> None:
    """After the limit in `speaking`, wait some seconds for the end of a sentence."""
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
    parts.paced_timer("speaking", "monologue", monologue.after, _AFTER, begins, place)
    limit = parts.file.timers["monologue"] + _NO_LATER
    parts.timer("speaking", "monologue_look", _LOOK, ends, place)
    parts.timer("speaking", "monologue_limit", limit, at_last, place)
