"""The private names of livekit-agents that turnfsm uses.

Each belongs to a feature, which is lost if the name disappears. `docs/livekit.md` lists them. A
test checks that the list is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

from .table import TABLE

__all__ = ["ORDERS", "PRIVATE_NAMES", "Order", "PrivateName"]

Kind = Literal["method", "property", "attribute", "global", "call", "task"]


class PrivateName(NamedTuple):
    """One name: where it is, of what kind, what it is used for, and the feature that needs it.

    `takes` are the parameters of a method or function, in order; an ellipsis at the end allows
    more. A `call` is a function of LiveKit's that the owner, itself a function, calls. A `task` is
    the name that a method of the owner gives to a task. `instead` is the owner and the name in
    livekit-agents 2.0, if they differ.
    """

    owner: str
    name: str
    kind: Kind
    why: str
    feature: str
    takes: str = ""
    instead: tuple[str, str] | None = None


class Order(NamedTuple):
    """A method whose code has `first` before `then`."""

    owner: str
    name: str
    first: tuple[str, ...]
    then: tuple[str, ...]
    why: str
    feature: str


def _rows(table: str) -> Iterator[PrivateName]:
    feature = owner = kind = ""
    for line in filter(None, table.splitlines()):
        if line.startswith("["):
            feature = line.strip("[]")
        elif not line.startswith(" "):
            owner, kind = line.rstrip(":").rsplit(" ", 1)
        else:
            left, _, why = line.partition("|")
            left, _, later = left.partition(" -> ")
            place, _, renamed = later.strip().rpartition(".")
            name, _, takes = left.strip().partition("(")
            one = PrivateName(owner, name, cast(Kind, kind), why.strip(), feature)
            instead = (place or owner, renamed) if renamed else None
            yield one._replace(takes=takes[:-1], instead=instead)


PRIVATE_NAMES = tuple(_rows(TABLE))

_ACTIVITY = "voice.agent_activity:AgentActivity"

ORDERS = (
    Order(
        _ACTIVITY,
        "_interrupt_by_audio_activity",
        ("_aec_warmup_timer", "_rt_turn_detection_enabled", "min_words", "allow_interruptions"),
        ("_pause_enabled", "pause", "interrupt"),
        "LiveKit must check a barge-in, and do nothing else, before the flow is asked",
        "barge_in",
    ),
    Order(
        _ACTIVITY,
        "_pipeline_reply_task_impl",
        ("function_tools_executed",),
        ("_tool_items_added",),
        "the event about tool calls must come before their results are in the conversation",
        "calls",
    ),
    Order(
        "voice.agent_session:AgentSession",
        "_update_activity",
        ("_next_activity",),
        ("aclose", "cleanup"),
        "the class of an activity must be replaced before the activity is used",
        "turns",
    ),
)
