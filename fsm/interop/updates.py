"""The effect of a trigger on facts and scopes, by name, for exporters."""

from __future__ import annotations

from typing import NamedTuple

from turnfsm.fsm.flow import Names
from turnfsm.fsm.program import Program

__all__ = ["Update", "update_of"]


class Update(NamedTuple):
    """The facts that a taken trigger clears and sets, and the scopes that it begins and ends."""

    clears: Names
    sets: Names
    begins: Names
    ends: Names


def update_of(program: Program, trigger: str) -> Update:
    """The update of a trigger: facts are cleared, then set; a scope begins, then ends."""
    keep, set_ = program.updates[trigger]
    begins, ends = program.begins.get(trigger, ()), program.ends.get(trigger, ())
    return Update(program.names(~keep & ~set_), program.names(set_), begins, ends)
