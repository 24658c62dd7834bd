"""The delays that a caller notices, and that `bounds` of a flow can limit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["AT_LEAST", "BOUNDS"]

BOUNDS: Mapping[str, str] = MappingProxyType(
    {
        "after_a_short_sound": "silence after a sound that was too short to interrupt",
        "after_a_long_sound": "silence after a sound that could have been an interruption",
        "after_noise": "silence between sounds without a transcript, however many come",
        "after_an_interruption": "until the floor is free again",
        "after_a_tool": "until the floor is free if no reply follows a tool call",
        "for_a_model": "a model that gives nothing is waited for",
        "for_a_tool": "a tool call that blocks its turn is waited for",
        "for_an_answer": "a turn that was committed waits for its reply",
    }
)
"""The meaning of each name. For the names in `AT_LEAST` a shorter delay is worse, for the others a
longer one."""

AT_LEAST = frozenset({"for_a_model", "for_a_tool", "for_an_answer"})
"""Waits that should not end early: the caller would lose an answer."""
