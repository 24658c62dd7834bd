"""S2: interruptions during and after tool calls: eight interleavings, three kinds of model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs
from livekit.agents import RunContext, function_tool

from turnfsm.runtime.compare.scenario import Scenario
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

from .checks import ISSUES, wrong_contexts, wrong_request

__all__ = ["CONTROL_TOOLS", "TOOLS"]

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
    can_pause: bool = True,
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
        can_pause=can_pause,
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
        problems = _twice(outcome) + wrong_contexts(outcome)
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

    title: str
    asked_at: float
    interrupted_at: float
    """When code interrupts, and then asks; 0 where the user does it by voice."""
    stage: Mapping[str, Any]
    awaited: tuple[Model, ...] = ()
    """Where code awaits the interruption; elsewhere it asks at once."""


def _by_voice(title: str, **stage: Any) -> _Interleaving:
    return _Interleaving(title, 5.2, 0.0, {"user_at": 4.0, **stage})


def _by_code(title: str, awaited: tuple[Model, ...] = MODELS, **stage: Any) -> _Interleaving:
    return _Interleaving(title, 4.0, 4.0, stage, awaited)


_INTERLEAVINGS = (
    _by_voice(
        "the user barges in on the preamble, the tool ends later", seconds=6.0, preamble=PREAMBLE
    ),
    _by_voice("the user barges in on what the tool says", says=True),
    _by_voice(
        "the user barges in on the preamble, what the tool says is queued behind it",
        says=True,
        preamble=PREAMBLE,
    ),
    _by_code("what the tool says is queued", says=True, preamble=PREAMBLE),
    _by_code("the preamble is heard", MODELS[1:], seconds=6.0, preamble=PREAMBLE),
    _by_code("the silent tool runs", MODELS[1:], seconds=4.0),
    _by_code("the tool speaks", says=True),
    _by_code("the tool waits for its preamble", waits=True, preamble=PREAMBLE),
)


def _s2(number: int, case: _Interleaving, model: Model) -> Scenario:
    def build(session_class: type[AgentSession[Any]]) -> Stage:
        stage = _stage(session_class, model=model, **case.stage)
        at = case.interrupted_at
        return _interrupting(stage, at, model in case.awaited) if at else stage

    prefix, who, links = _FAMILIES[model]
    if case.interrupted_at:
        awaited = model in case.awaited
        who += "`await interrupt()`, then" if awaited else "`interrupt()` and at once"
        who += " the next request; "
    failure, wrong = _WRONG.get((number, model), ("", ""))
    return Scenario(
        f"{prefix}.{number}",
        who + case.title,
        30.0,
        build,
        _verdict(case.asked_at),
        links if failure else (),
        failure,
        control=not failure,
        wrong=wrong,
    )


_FAMILIES: dict[Model, tuple[str, str, tuple[str, ...]]] = {
    "pipeline": ("S2", "", (ISSUES + "3702", ISSUES + "5092")),
    "realtime": ("S2r", "a realtime model: ", (ISSUES + "3702",)),
    "server": ("S2s", "a realtime model that detects turns: ", (ISSUES + "3702",)),
}
_WAITS = "The caller asks and hears nothing for {} s."
_WRONG: dict[tuple[int, Model], tuple[str, str]] = {
    (3, "pipeline"): (
        "C",
        "When the table is booked, the caller hears 'It is being booked', and nothing after that.",
    ),
    (5, "pipeline"): (
        "G",
        "The model is not shown what the caller heard. An application that awaits `interrupt()` "
        "first leaves the caller without an answer for 4.9 s.",
    ),
    (1, "realtime"): ("D", _WAITS.format("3.7")),
    (2, "realtime"): ("D", _WAITS.format("5.7")),
    (3, "realtime"): (
        "D",
        "The caller interrupts, hears it all again, and gets an answer after 4.8 s.",
    ),
    (5, "realtime"): ("D", _WAITS.format("4.9")),
    (6, "realtime"): ("D", _WAITS.format("2.8")),
    (5, "server"): ("D", _WAITS.format("4.9")),
    (6, "server"): ("D", _WAITS.format("2.8")),
}
"""What goes wrong on a stock session: the letter of its class, and what the caller gets."""


def _control(id: str, title: str, asked_at: float, build: Callable[[Any], Stage]) -> Scenario:
    return Scenario(id, title, 30.0, build, _verdict(asked_at), control=True)


_ALL = tuple(
    _s2(number, case, model)
    for model in _FAMILIES
    for number, case in enumerate(_INTERLEAVINGS, start=1)
)

TOOLS = tuple(scenario for scenario in _ALL if not scenario.control)

CONTROL_TOOLS = (
    *(scenario for scenario in _ALL if scenario.control),
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
