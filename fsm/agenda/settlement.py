"""The agenda table of a flow: how a reply's claims settle when the reply ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast, get_args

import attrs

from turnfsm.fsm.fields import doc

__all__ = ["COLUMNS", "FATES", "ROWS", "Column", "Ending", "Fate", "Kind", "Row", "Rules", "row_of"]

Kind = Literal["utterance", "result"]
"""What the agent must deliver: an answer to an utterance, or the result of a tool call."""

Ending = Literal[
    "finished",
    "user",
    "application",
    "tool",
    "result",
    "limit",
    "failure",
    "agent_left",
    "dropped",
    "crash",
]
"""How a reply has ended: by itself, by an interruption and whose, by a result that its request
lacked, by a limit of the flow, an error, a handoff or a close, as an unused speculation, or by the
death of its worker."""

Row = Literal[
    "heard",
    "interrupted_by_user",
    "interrupted_by_user_unheard",
    "interrupted_by_application",
    "interrupted_by_application_unheard",
    "interrupted_by_tool",
    "interrupted_by_tool_unheard",
    "superseded_by_result",
    "limit_reached",
    "failed",
    "agent_left",
    "speculation_dropped",
    "worker_died",
]

Column = Literal[
    "utterance",
    "result",
    "sole_result",
    "pending_result",
    "cancelled_result",
    "background_result",
    "own_result",
]

Fate = Literal[
    "open", "with_next", "with_turn", "delivered_with_turn", "retry", "delivered", "dropped"
]
"""How a claim settles. open: it starts a reply when the floor is free. with_next: the next reply
delivers it, and none is started for it. with_turn: it depends on what has interrupted the reply.
If that is answered, with_next; if not, as it was a noise or a request to wait, open.
delivered_with_turn: likewise, delivered or open. retry: open after the first failure, with_next
after the second. delivered, dropped: it leaves the agenda."""

ROWS: tuple[Row, ...] = get_args(Row)
COLUMNS: tuple[Column, ...] = get_args(Column)
FATES: tuple[Fate, ...] = get_args(Fate)

_INTERRUPTED = ("user", "application", "tool")
_ROW_OF: Mapping[Ending, Row] = {
    "finished": "heard",
    "result": "superseded_by_result",
    "limit": "limit_reached",
    "failure": "failed",
    "agent_left": "agent_left",
    "dropped": "speculation_dropped",
    "crash": "worker_died",
}


def row_of(ending: Ending, *, heard: bool) -> Row:
    """The row of the table for the end of a reply.

    Args:
        ending: What has ended it.
        heard: The user has heard a part of it since its last request.

    Example:
        >>> row_of("user", heard=False)
        'interrupted_by_user_unheard'
    """
    if ending in _INTERRUPTED:
        row = f"interrupted_by_{ending}" + ("" if heard else "_unheard")
        return cast(Row, row)
    if ending == "finished" and heard:  # it broke off, for example in the TTS
        return "failed"
    return _ROW_OF[ending]


@attrs.frozen
class Rules:
    """What the agent must deliver, and how claims on it settle when a reply ends."""

    settle: Mapping[str, Mapping[str, Fate]] = doc(
        "For each way in which a reply ends: how each kind of claim settles. open: the obligation "
        "starts a reply when the floor is free. with_next: the next reply delivers it; it starts "
        "none itself. with_turn: it depends on what has interrupted the reply. If that is "
        "answered, with_next; if not, as it was a noise or a request to wait, open. "
        "delivered_with_turn: likewise, delivered or open. retry: open after the first failure, "
        "with_next after the second. delivered, dropped: it leaves the agenda.",
        factory=dict,
    )
