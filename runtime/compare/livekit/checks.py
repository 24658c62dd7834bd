"""Checks that several scenarios share, and where failures are reported."""

from __future__ import annotations

from turnfsm.runtime.testing.livekit import Outcome, Request, request_problems

__all__ = ["late", "wrong_contexts", "wrong_request"]


def wrong_contexts(outcome: Outcome) -> list[str]:
    """What a model would refuse, misread or not get of the last context and of the history."""
    problems = [f"in the final context {what}" for what in request_problems(outcome.chat_ctx)]
    if outcome.realtime_ctx is not None:
        held = request_problems(outcome.realtime_ctx, realtime=True)
        problems += [f"in the realtime model's conversation {what}" for what in held]
    return problems + [f"in the history {what}" for what in request_problems(outcome.history)]


def wrong_request(request: Request) -> list[str]:
    """The same of one request."""
    called = {item.call_id for item in request.chat_ctx.items if item.type == "function_call"}
    running = called - request.finished_calls
    found = request_problems(request.chat_ctx, realtime=request.realtime, running=running)
    return [f"in the request at {request.at:.2f} s {what}" for what in found]


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
