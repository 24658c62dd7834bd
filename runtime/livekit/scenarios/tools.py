"""S2: interruptions during and after tool calls, in eight interleavings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit.agents import AgentSession, RunContext, function_tool

from runtime.livekit.testing import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

from .checks import apart, late, not_adjacent
from .scenario import ISSUES, Scenario

__all__ = ["CONTROL_TOOLS", "TOOLS"]

ASK, AGAIN = "book the table", "is the table booked"
PREAMBLE = "I am booking the table for you right now one moment please."
ANSWER = "Your table is booked for tonight at eight o'clock under your name."
CONFIRMED = "Yes it is booked."
EFFECT = "side effect: a table is booked"


def _forgetful(request: Request) -> Reply:
    """What a model does: it calls the tool again when its context shows no such call."""
    if any(line.startswith("call") for line in request.context):
        return Reply(CONFIRMED)
    return Reply(calls=Call("book"))


def _stage(
    session_class: type[AgentSession[Any]],
    *,
    seconds: float = 0.0,
    preamble: str = "",
    says: bool = False,
    waits: bool = False,
    user_at: float = 0.0,
    answer_ttft: float = 0.2,
    can_pause: bool = True,
) -> Stage:
    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book the table."""
        if says:
            await context.session.say(PREAMBLE)
        if waits:
            await context.wait_for_playout()
        await asyncio.sleep(seconds)
        stage.note(EFFECT)
        return "booked"

    model = ScriptedLLM(
        {AGAIN: _forgetful, ASK: Reply(preamble, calls=Call("book"))},
        {"book": Reply(ANSWER, ttft=answer_ttft)},
    )
    user = ScriptedUser().says(ASK, at=1.0)
    if user_at:
        user.says(AGAIN, at=user_at)
    tts = ScriptedTTS(durations={PREAMBLE: 4.0, ANSWER: 4.0})
    stage = Stage(session_class, user=user, llm=model, tts=tts, tools=[book], can_pause=can_pause)
    return stage


def _interrupting(stage: Stage, at: float) -> Stage:
    def interrupt(stage: Stage) -> None:
        stage.session.interrupt()
        stage.session.generate_reply(user_input=AGAIN)

    return stage.at(at, interrupt)


def _verdict(asked_at: float) -> Callable[[Outcome], list[str]]:
    def verdict(outcome: Outcome) -> list[str]:
        problems = _twice(outcome) + not_adjacent(outcome)
        for request in outcome.requests:
            problems += (
                _unseen(outcome, request)
                + _unheard(outcome, request)
                + [
                    f"in the request at {request.at:.2f} s {problem}"
                    for problem in apart(request.chat_ctx)
                ]
            )
        return problems + late(outcome, CONFIRMED, asked_at + 1.5, asked_at, "the question")

    return verdict


def _unheard(outcome: Outcome, request: Request) -> list[str]:
    """What the user had heard when the model was asked, and its context does not show."""
    said = [h for h in outcome.heard if h.text and h.end <= request.at + 1e-6]
    shown = " ".join(request.context)
    return [
        f"the model is asked at {request.at:.2f} s and its context does not show what the user "
        f"heard until then, {heard.text!r}"
        for heard in said
        if heard.text not in shown
    ]


def _twice(outcome: Outcome) -> list[str]:
    times = [f"{at:.2f} s" for at, what in outcome.notes if what == EFFECT]
    return [f"the table is booked {len(times)} times: {', '.join(times)}"] if len(times) > 1 else []


def _unseen(outcome: Outcome, request: Request) -> list[str]:
    """Calls begun when the model was asked, and its context hides them or their result."""
    problems = []
    for tool in outcome.tools:
        if tool.start >= request.at:
            continue
        lines = [line for line in request.context if f" {tool.call_id} " in line]
        done = tool.call_id in request.finished_calls
        result = any(f"= {tool.message}" in line for line in lines)
        what = "the call" if not lines else "the result of" if done and not result else ""
        if what:
            problems.append(
                f"the model is asked at {request.at:.2f} s and its context does not show {what} "
                f"{tool.name}, which {'had ended' if done else 'was running'}"
            )
    return problems


def _s2(number: int, title: str, asked_at: float, build: Callable[[Any], Stage]) -> Scenario:
    links = (ISSUES + "3702", ISSUES + "5092")
    failure = "G" if number in (4, 5, 7, 8) else "C"  # the record lacks what was heard, or the call
    return Scenario(f"S2.{number}", title, 30.0, build, _verdict(asked_at), links, failure)


def _control(id: str, title: str, asked_at: float, build: Callable[[Any], Stage]) -> Scenario:
    return Scenario(id, title, 30.0, build, _verdict(asked_at), control=True)


TOOLS = (
    _s2(
        1,
        "the user barges in on the preamble, the tool ends later",
        5.2,
        lambda session: _stage(session, seconds=6.0, preamble=PREAMBLE, user_at=4.0),
    ),
    _s2(
        2,
        "the user barges in on what the tool says",
        5.2,
        lambda session: _stage(session, says=True, user_at=4.0),
    ),
    _s2(
        3,
        "the user barges in on the preamble, what the tool says is queued behind it",
        5.2,
        lambda session: _stage(session, says=True, preamble=PREAMBLE, user_at=4.0),
    ),
    _s2(
        4,
        "`interrupt()` and the next request in one breath, what the tool says is queued",
        4.0,
        lambda session: _interrupting(_stage(session, says=True, preamble=PREAMBLE), 4.0),
    ),
    _s2(
        5,
        "`interrupt()` and the next request in one breath, the preamble is heard",
        4.0,
        lambda session: _interrupting(_stage(session, seconds=6.0, preamble=PREAMBLE), 4.0),
    ),
    _s2(
        6,
        "`interrupt()` and the next request in one breath, the silent tool runs",
        4.0,
        lambda session: _interrupting(_stage(session, seconds=4.0), 4.0),
    ),
    _s2(
        7,
        "`interrupt()` and the next request in one breath, the tool speaks",
        4.0,
        lambda session: _interrupting(_stage(session, says=True), 4.0),
    ),
    _s2(
        8,
        "`interrupt()` and the next request in one breath, the tool waits for its preamble",
        4.0,
        lambda session: _interrupting(_stage(session, waits=True, preamble=PREAMBLE), 4.0),
    ),
)

CONTROL_TOOLS = (
    _control(
        "C6",
        "a barge-in on the preamble, the tool has ended",
        5.2,
        lambda session: _stage(session, seconds=0.5, preamble=PREAMBLE, user_at=4.0),
    ),
    _control(
        "C7",
        "the user speaks while the model thinks about a result",
        5.2,
        lambda session: _stage(session, seconds=0.5, user_at=4.0, answer_ttft=4.0),
    ),
    _control(
        "C8",
        "a barge-in on the answer that a tool led to",
        6.2,
        lambda session: _stage(session, seconds=0.5, user_at=5.0),
    ),
)
