"""Checks of a LiveKit conversation. Each returns the problems, if there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnfsm.runtime.testing.livekit import Outcome, Request, request_problems

__all__ = [
    "agent_states_as_heard",
    "check_of",
    "contexts_complete",
    "hears",
    "keeps_in_history",
    "logs_no_error",
    "problems_of",
    "wrong_request",
]

Check = Callable[[Outcome], list[str]]


def check_of(written: str | Mapping[str, Any]) -> Check:
    """A check as `scenarios.yaml` has it: its name, or a mapping whose first key is its name, with
    its argument, and further arguments."""
    if isinstance(written, str):
        return CHECKS[written]
    (name, argument), *more = written.items()
    return lambda outcome: CHECKS[name](outcome, argument, **dict(more))


def problems_of(checks: Iterable[Check], outcome: Outcome) -> list[str]:
    """The problems of these checks."""
    return [problem for check in checks for problem in check(outcome)]


def contexts_complete(outcome: Outcome) -> list[str]:
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


def hears(
    outcome: Outcome, text: str, by: float = float("inf"), since: float = 0.0, what: str = ""
) -> list[str]:
    """The text begins to be heard at this time at the latest; `since` is when `what` happened."""
    heard = outcome.heard_saying(text)
    if heard is None:
        return [f"{text!r} is never heard" + (f" after {what} at {since:.2f} s" if what else "")]
    if heard.start > by:
        return [
            f"{text!r} is heard at {heard.start:.2f} s, {heard.start - since:.1f} s after "
            f"{what} at {since:.2f} s"
        ]
    return []


def agent_states_as_heard(outcome: Outcome) -> list[str]:
    """The published state and the audio output agree."""
    return [
        f"{'audio is heard' if label != 'speaking' else 'nothing is heard'} from {start:.2f} "
        f"to {end:.2f} s while the agent's state is {label!r}"
        for start, end, label in outcome.wrong_agent_states()
    ]


def keeps_in_history(outcome: Outcome, *words: str) -> list[str]:
    """The session's history has what the user said."""
    lines = [
        item.text_content or ""
        for item in outcome.history.items
        if item.type == "message" and item.role == "user"
    ]
    return [
        f"what the user said ({said!r}) is in no history"
        for said in words
        if not any(said in line for line in lines)
    ]


def logs_no_error(outcome: Outcome) -> list[str]:
    """No error is logged."""
    return [f"at {at:.2f} s an error is logged: {text}" for at, text in outcome.errors]


def ignores_noise(outcome: Outcome, at: float) -> list[str]:
    """Noise at this time changes nothing: no audio of the step was heard."""
    problems = [
        f"a false interruption is reported at {when:.2f} s (resumed={resumed}), though no audio "
        "of that step was ever heard"
        for when, resumed in outcome.false_interruptions
    ]
    return problems + [
        f"noise makes the agent's state {state!r} at {when:.2f} s while the step goes on"
        for when, state in outcome.agent_states
        if state == "listening" and at < when < at + 3.0
    ]


CHECKS: Mapping[str, Callable[..., list[str]]] = {
    check.__name__: check
    for check in (
        *(agent_states_as_heard, contexts_complete, hears, ignores_noise),
        *(keeps_in_history, logs_no_error),
    )
}
