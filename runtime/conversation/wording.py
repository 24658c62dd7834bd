"""Hints and instructions for the model about the results of calls."""

from __future__ import annotations

from collections.abc import Sequence

from turnfsm.runtime.ledger import LedgerCall

__all__ = [
    "ASKING",
    "BESIDES",
    "UNLESS_DELIVERED",
    "arrived",
    "delivery_instructions",
    "hint_about",
]

PENDING = "The result of {calls} has arrived, and the user has not heard of it. Tell them now."
BESIDES = (
    "The user may not have heard of the result of {calls}. If you have not told it yet, mention it "
    "with your answer."
)
ELSEWHERE = "Another reply tells what has come of {calls}; this one need not mention it."
ARRIVED = "The result of {calls} has arrived."
UNLESS_DELIVERED = "If you have told them already, reply with nothing."
ASKING = "The user is asked whether to do it. The tool has not run yet."
CANCELLED = "{calls} was cancelled before it had ended. Tell the user in a sentence."
UNKNOWN = "It is not known whether {calls} took effect: tell the user so."

_BY_END = {"result": PENDING, "error": PENDING, "cancelled": CANCELLED, "unknown": UNKNOWN}


def delivery_instructions(calls: Sequence[LedgerCall]) -> list[str]:
    """The instructions of a reply whose only purpose is to deliver these calls."""
    named = {
        text: _names([call for call in calls if _BY_END.get(call.gave or "") == text])
        for text in (PENDING, CANCELLED, UNKNOWN)
    }
    return [text.format(calls=names) for text, names in named.items() if names]


def arrived(calls: Sequence[LedgerCall]) -> str:
    """The instructions for these results, if a realtime model has answered something else since."""
    return f"{ARRIVED.format(calls=_names(calls))} {UNLESS_DELIVERED}"


def hint_about(deliver: Sequence[LedgerCall], elsewhere: Sequence[LedgerCall]) -> str | None:
    """The hint in a request that delivers results along with something else.

    Args:
        deliver: The calls whose results the request should deliver.
        elsewhere: The calls that another reply delivers.
    """
    unknown = _names([call for call in deliver if call.gave == "unknown"])
    ended = _names([call for call in deliver if call.gave != "unknown"])
    others = _names(elsewhere)
    hints = [BESIDES.format(calls=ended)] if ended else []
    hints += [UNKNOWN.format(calls=unknown)] if unknown else []
    hints += [ELSEWHERE.format(calls=others)] if others else []
    return " ".join(hints) or None


def _names(calls: Sequence[LedgerCall]) -> str:
    return ", ".join(f"{call.name} ({call.id})" for call in calls)
