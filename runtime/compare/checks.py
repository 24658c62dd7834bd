"""Checks that several scenarios share."""

from __future__ import annotations

from livekit.agents import llm

from turnfsm.runtime.testing.livekit import Outcome

__all__ = ["apart", "late", "not_adjacent"]


def apart(chat_ctx: llm.ChatContext) -> list[str]:
    """Calls of a context that have no output, several, or one with a message in between."""
    items = list(chat_ctx.items)
    found = []
    for i, item in enumerate(items):
        if item.type != "function_call":
            continue
        outputs = [
            k
            for k, other in enumerate(items)
            if other.type == "function_call_output" and other.call_id == item.call_id
        ]
        if len(outputs) != 1:
            found.append(f"the call {item.name} has {len(outputs) or 'no'} output(s)")
        elif any(between.type == "message" for between in items[i : outputs[0]]):
            found.append(f"the call {item.name} and its output are split by a message")
    return found


def not_adjacent(outcome: Outcome) -> list[str]:
    """What is wrong with calls and outputs in the last context, and in the session's history."""
    problems = [f"in the final context {problem}" for problem in apart(outcome.chat_ctx)]
    return problems + [f"in the history {problem}" for problem in apart(outcome.history)]


def late(outcome: Outcome, text: str, by: float, since: float, what: str) -> list[str]:
    """Whether `text` begins to be heard later than `by`; `since` is when `what` happened."""
    heard = outcome.heard_saying(text)
    if heard is None:
        return [f"{text!r} is never heard after {what} at {since:.2f} s"]
    if heard.start > by:
        return [
            f"{text!r} is heard at {heard.start:.2f} s, {heard.start - since:.1f} s after "
            f"{what} at {since:.2f} s"
        ]
    return []
