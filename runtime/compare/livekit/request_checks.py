"""Checks of the conversation and of the requests to the model."""

from __future__ import annotations

from turnfsm.runtime.testing.livekit import Outcome, Request, ToolRun, request_problems

__all__ = [
    "asks_once",
    "contexts_complete",
    "keeps_in_history",
    "keeps_what_was_heard",
    "no_speculation",
    "requests_complete",
    "shows",
]


def contexts_complete(outcome: Outcome) -> list[str]:
    """What a model would refuse, misread or not get of the last context and of the history."""
    problems = [f"in the final context {what}" for what in request_problems(outcome.chat_ctx)]
    if outcome.realtime_ctx is not None:
        held = request_problems(outcome.realtime_ctx, realtime=True)
        problems += [f"in the realtime model's conversation {what}" for what in held]
    return problems + [f"in the history {what}" for what in request_problems(outcome.history)]


def keeps_in_history(outcome: Outcome, words: str) -> list[str]:
    """The session's history has what the user said."""
    lines = [
        item.text_content or ""
        for item in outcome.history.items
        if item.type == "message" and item.role == "user"
    ]
    said = any(words in line for line in lines)
    return [] if said else [f"what the user said ({words!r}) is in no history"]


def keeps_what_was_heard(outcome: Outcome) -> list[str]:
    """The context has what was heard of the first speech, which was interrupted."""
    heard = outcome.heard[0].text if outcome.heard else ""
    if f"assistant: {heard} (interrupted)" in outcome.context:
        return []
    return [f"the user heard {heard!r}, the conversation holds {outcome.context}"]


def no_speculation(outcome: Outcome, text: str, before: float) -> list[str]:
    """The model is not asked about this text before this time while a tool runs."""
    return [
        f"the model is asked about {text!r} at {request.at:.2f} s, before that turn is "
        f"committed, while {tool.name} runs"
        for request in outcome.requests
        for tool in outcome.tools
        if text in request.prompt
        and request.at < before
        and tool.start < request.at < (tool.end or float("inf"))
    ]


def asks_once(outcome: Outcome, text: str) -> list[str]:
    """The model is asked about this text at most once."""
    asked = sum(text in request.prompt for request in outcome.requests)
    return [f"the model is asked {asked} times about {text!r}"] if asked > 1 else []


def shows(outcome: Outcome, result: str, of: str, ended: float, about: str) -> list[str]:
    """The last request about this text shows the result of a tool that had ended."""
    asked = [request for request in outcome.requests if about in request.prompt]
    return [
        f"`{of}` had ended at {ended:.1f} s, and the request at {request.at:.2f} s does not show "
        "its result"
        for request in asked[-1:]
        if not any(result in line for line in request.context)
    ]


def requests_complete(outcome: Outcome) -> list[str]:
    """Each request shows all calls, results and speech until then, as its model needs it."""
    return [
        problem
        for request in outcome.requests
        for problem in (
            *_unseen(outcome, request),
            *_unheard(outcome, request),
            *_misread(request),
        )
    ]


def _unseen(outcome: Outcome, request: Request) -> list[str]:
    """Calls begun when the model was asked, and its context hides them or their result."""
    begun = [(tool, _hidden(tool, request)) for tool in outcome.tools if tool.start < request.at]
    return [
        f"the model is asked at {request.at:.2f} s and its context does not show {what} "
        f"{tool.name}, which {_how(tool, request)}"
        for tool, what in begun
        if what
    ]


def _how(tool: ToolRun, request: Request) -> str:
    return "had ended" if tool.call_id in request.finished_calls else "was running"


def _hidden(tool: ToolRun, request: Request) -> str:
    # LiveKit puts what comes after an update under an id of its own.
    ids = (f" {tool.call_id} ", f" {tool.call_id}_final ")
    lines = [line for line in request.context if any(id in line for id in ids)]
    result = any(f"= {tool.message}" in line for line in lines)
    if not lines:
        return "the call"
    return "" if result or tool.call_id not in request.finished_calls else "the result of"


def _unheard(outcome: Outcome, request: Request) -> list[str]:
    """What the user had heard when the model was asked, and its context does not show."""
    shown = " ".join(request.context)
    return [
        f"the model is asked at {request.at:.2f} s and its context does not show what the user "
        f"heard until then, {heard.text!r}"
        for heard in outcome.heard
        if heard.text and heard.end <= request.at + 1e-6 and heard.text not in shown
    ]


def _misread(request: Request) -> list[str]:
    called = {item.call_id for item in request.chat_ctx.items if item.type == "function_call"}
    running = called - request.finished_calls
    found = request_problems(request.chat_ctx, realtime=request.realtime, running=running)
    return [f"in the request at {request.at:.2f} s {what}" for what in found]
