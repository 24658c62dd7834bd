"""S2: interruptions during and after tool calls: eight interleavings, three kinds of model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import attrs
from livekit.agents import RunContext, function_tool

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

from .checks import contexts_complete, wrong_request

__all__ = ["TOOLS"]

Model = Literal["pipeline", "realtime", "server"]
MODELS: tuple[Model, ...] = ("pipeline", "realtime", "server")

ASK, AGAIN = "book the table", "is the table booked"
PREAMBLE = "I am booking the table for you right now one moment please."
ANSWER = "Your table is booked for tonight at eight o'clock under your name."
CONFIRMED, PENDING, FAILED = "Yes it is booked.", "It is being booked.", "It was not booked."
BOOKED = "booked"
EFFECT = "side effect: a table is booked"


def _as_shown(request: Request) -> Reply:
    """What a model knows of the call; without one it makes it."""
    results = [entry.text for entry in request.shown if entry.kind == "result"]
    if BOOKED in results:
        return Reply(CONFIRMED)
    if any("interrupted" in text for text in results):
        return Reply(FAILED)
    if any(entry.kind == "call" for entry in request.shown):
        return Reply(PENDING)
    return Reply(calls=Call("book"))


def _unless_confirmed(request: Request) -> Reply:
    """It does as it is asked: what it has told already, it does not tell again."""
    confirmed = any(CONFIRMED in item for item in request.context)
    return Reply("" if confirmed and "already" in request.prompt else ANSWER)


def _stage(
    session_class: type[AgentSession[Any]],
    *,
    seconds: float = 0.0,
    preamble: str = "",
    says: bool = False,
    waits: bool = False,
    user_at: float = 0.0,
    answer_ttft: float = 0.2,
    model: Model = "pipeline",
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
        return BOOKED

    answers = ScriptedLLM(
        {
            "result of": _unless_confirmed,  # what a realtime model is asked to tell
            AGAIN: _as_shown,
            ASK: Reply(preamble, calls=Call("book")),
        },
        {"book": Reply(ANSWER, ttft=answer_ttft)},
    )
    user = ScriptedUser().says(ASK, at=1.0)
    if user_at:
        user.says(AGAIN, at=user_at)
    tts = ScriptedTTS(durations={PREAMBLE: 4.0, ANSWER: 4.0})
    server = model == "server"
    voiced = ScriptedRealtime(user, answers, tts, turn_detection=server)
    stage = Stage(
        session_class,
        user=user,
        llm=answers if model == "pipeline" else voiced,
        tts=tts,
        tools=[book],
        turn_handling={"turn_detection": "realtime_llm" if server else "vad"},
    )
    return stage


def _interrupting(stage: Stage, at: float, awaited: bool) -> Stage:
    async def interrupt(stage: Stage) -> None:
        interruption = stage.session.interrupt()
        if awaited:
            await interruption
        stage.session.generate_reply(user_input=AGAIN)

    return stage.at(at, interrupt)


def _verdict(asked_at: float) -> Callable[[Outcome], list[str]]:
    def verdict(outcome: Outcome) -> list[str]:
        problems = _twice(outcome) + contexts_complete(outcome)
        for request in outcome.requests:
            problems += (
                _unseen(outcome, request) + _unheard(outcome, request) + wrong_request(request)
            )
        return problems + _answered(outcome, asked_at)

    return verdict


def _answered(outcome: Outcome, asked_at: float) -> list[str]:
    """Whether the caller is told in time how the booking stands, and how it stands."""
    answers = (CONFIRMED, PENDING, FAILED, ANSWER)
    heard = next((h for h in outcome.heard_after(asked_at) if h.text.startswith(answers)), None)
    if heard is None:
        return [f"the question at {asked_at:.2f} s is never answered"]
    problems = []
    if heard.start > asked_at + 1.5:
        problems.append(
            f"the question at {asked_at:.2f} s is answered at {heard.start:.2f} s, "
            f"{heard.start - asked_at:.1f} s later"
        )
    booked = outcome.marks.get(EFFECT)
    asked = max(r.at for r in outcome.requests if r.at <= heard.start)
    if heard.text in (PENDING, FAILED) and booked is not None and booked <= asked:
        problems.append(
            f"{heard.text!r} is heard at {heard.start:.2f} s, the table was booked at "
            f"{booked:.2f} s"
        )
    return problems


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
        # LiveKit puts what comes after an update under an id of its own.
        ids = (f" {tool.call_id} ", f" {tool.call_id}_final ")
        lines = [line for line in request.context if any(id in line for id in ids)]
        done = tool.call_id in request.finished_calls
        result = any(f"= {tool.message}" in line for line in lines)
        what = "the call" if not lines else "the result of" if done and not result else ""
        if what:
            problems.append(
                f"the model is asked at {request.at:.2f} s and its context does not show {what} "
                f"{tool.name}, which {'had ended' if done else 'was running'}"
            )
    return problems


@attrs.frozen
class _Interleaving:
    """One of the eight ways in which a request can meet the call of the turn before."""

    asked_at: float
    stage: Mapping[str, Any]
    interrupted_at: float = 0.0
    """When code interrupts, and then asks; 0 where the user does it by voice."""
    awaited: tuple[Model, ...] = MODELS
    """Where code awaits the interruption; elsewhere it asks at once."""

    def build(self, session_class: type[AgentSession[Any]], model: Model) -> Stage:
        stage = _stage(session_class, model=model, **self.stage)
        at = self.interrupted_at
        return _interrupting(stage, at, model in self.awaited) if at else stage


def _by_voice(**stage: Any) -> _Interleaving:
    return _Interleaving(5.2, {"user_at": 4.0, **stage})


def _by_code(awaited: tuple[Model, ...] = MODELS, **stage: Any) -> _Interleaving:
    return _Interleaving(4.0, stage, 4.0, awaited)


_INTERLEAVINGS = (
    _by_voice(seconds=6.0, preamble=PREAMBLE),
    _by_voice(says=True),
    _by_voice(says=True, preamble=PREAMBLE),
    _by_code(says=True, preamble=PREAMBLE),
    _by_code(MODELS[1:], seconds=6.0, preamble=PREAMBLE),
    _by_code(MODELS[1:], seconds=4.0),
    _by_code(says=True),
    _by_code(waits=True, preamble=PREAMBLE),
)

TOOLS: Conversations = {
    **{
        f"{prefix}.{number}": (partial(case.build, model=model), _verdict(case.asked_at))
        for prefix, model in zip(("S2", "S2r", "S2s"), MODELS, strict=True)
        for number, case in enumerate(_INTERLEAVINGS, start=1)
    },
    "C6": (partial(_stage, seconds=0.5, preamble=PREAMBLE, user_at=4.0), _verdict(5.2)),
    "C7": (partial(_stage, seconds=0.5, user_at=4.0, answer_ttft=4.0), _verdict(5.2)),
    "C8": (partial(_stage, seconds=0.5, user_at=5.0), _verdict(6.2)),
}
