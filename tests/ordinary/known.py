"""Ordinary conversations that are not equal yet: the lane that differs, and the finding.

Whoever mends one takes it out: a lane that is equal fails the test.
"""

from __future__ import annotations

__all__ = ["KNOWN"]

_STATES = ("fakes: a tool that has the model say something",)
"""`agent_state_changed`: finding 22."""

_LANES = {
    "ours: realtime: a tool in the background": ["requests"],
    "ours: server: a tool in the background": ["requests"],
}
"""O6: the final call stands between a call and its report, as a realtime model has them."""

KNOWN: dict[str, dict[str, str]] = {}
for _name in _STATES:
    KNOWN.setdefault(_name, {})["states"] = "22"
for _name, _lanes in _LANES.items():
    KNOWN.setdefault(_name, {}).update(dict.fromkeys(_lanes, "O6"))
