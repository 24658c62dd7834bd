"""Ordinary conversations that are not equal yet: the lane that differs, and the finding.

Whoever mends one takes it out: a lane that is equal fails the test.
"""

from __future__ import annotations

__all__ = ["KNOWN"]

_STATES = ("fakes: a tool that has the model say something",)
"""`agent_state_changed`: finding 22."""

KNOWN: dict[str, dict[str, str]] = {}
for _name in _STATES:
    KNOWN.setdefault(_name, {})["states"] = "22"
