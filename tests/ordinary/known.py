"""Ordinary conversations that are not equal yet: the lane that differs, and the finding.

Whoever mends one takes it out: a lane that is equal fails the test.
"""

from __future__ import annotations

__all__ = ["KNOWN"]

_STATES = (
    "fakes: a greeting and an announcement",
    "fakes: a handoff by a tool, alone",
    "fakes: a handoff by a tool, keeps",
    "fakes: a handoff by a tool, says",
    "fakes: a handoff by a tool, updates",
    "fakes: a task in a tool",
    "fakes: a task in on_enter",
    "fakes: a tool that has the model say something",
    "fakes: a tool that nobody has",
    "fakes: a tool that returns nothing",
    "fakes: a tool that says something meanwhile",
    "fakes: a tool that wants no reply",
    "fakes: aclose",
    "fakes: an eval while the agent greets",
    "fakes: drain",
    "fakes: on_enter has the model greet",
    "fakes: on_enter says",
    "fakes: say",
    "fakes: say a stream",
    "fakes: say beside the conversation",
    "fakes: say twice",
    "fakes: say without interruptions",
    "fakes: say, awaited",
    "fakes: shutdown",
    "fakes: update_agent from outside",
    "ours: a greeting and an announcement",
    "ours: a group of tasks in on_enter",
    "ours: a handoff by a tool, alone",
    "ours: a handoff by a tool, keeps",
    "ours: a handoff by a tool, says",
    "ours: a handoff by a tool, updates",
    "ours: a talk beside a tool in the background",
    "ours: a task in a tool",
    "ours: a task in on_enter",
    "ours: a tool that nobody has",
    "ours: a tool that returns nothing",
    "ours: a tool that says something meanwhile",
    "ours: a tool that wants no reply",
    "ours: aclose",
    "ours: an eval while the agent greets",
    "ours: drain",
    "ours: on_enter has the model greet",
    "ours: on_enter says",
    "ours: realtime: a handoff",
    "ours: realtime: a tool",
    "ours: realtime: a tool in the background",
    "ours: realtime: an eval",
    "ours: realtime: generate_reply",
    "ours: realtime: on_enter says",
    "ours: realtime: say",
    "ours: realtime: two tools",
    "ours: realtime: two turns",
    "ours: say",
    "ours: say a stream",
    "ours: say beside the conversation",
    "ours: say twice",
    "ours: say without interruptions",
    "ours: say, awaited",
    "ours: server: a handoff",
    "ours: server: a tool",
    "ours: server: a tool in the background",
    "ours: server: an eval",
    "ours: server: generate_reply",
    "ours: server: on_enter says",
    "ours: server: say",
    "ours: server: two tools",
    "ours: server: two turns",
    "ours: shutdown",
    "ours: update_agent from outside",
)
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
