"""Conversations for the overrides by which a realtime model is heard, asked and told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from livekit.agents import RunContext, function_tool

from turnfsm.livekit import on_interruption
from turnfsm.runtime.livekit import TurnSession
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
    request_problems,
)

__all__ = ["EVENTS", "REALTIME", "what_nobody_heard_is_forgotten"]

Rules = dict[str, str | Reply]

BEGINS, WORDS = 3.5, "hm and one more thing for you to remember"
ENDS = BEGINS + 0.3 * len(WORDS.split())


def nothing_is_said_into_the_user() -> list[str]:
    """A result comes while the model hears the user: it is told when the user has ended."""

    @function_tool
    async def book() -> str:
        """Book a table."""
        await asyncio.sleep(3.0)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0).says(WORDS, at=BEGINS)
    tts = ScriptedTTS()
    rules = {"table": Reply(calls=Call("book")), "hm": "Yes?"}
    answers = ScriptedLLM(rules, {"book": "Your table is booked."})
    session: Any = partial(TurnSession, flow="speech_to_speech")
    outcome = Stage(
        session,
        user=user,
        llm=ScriptedRealtime(user, answers, tts, auto_tool_reply=True),
        tts=tts,
        tools=[book],
        turn_handling={"turn_detection": "realtime_llm"},
    ).run(15)
    begun = [heard.start for heard in outcome.heard]
    return [] if begun and ENDS <= begun[0] < ENDS + 1.5 else [f"heard at {begun}, not at {ENDS}"]


JOKE, BOOKED = "Here is a joke for you.", "Your table is booked."
NEW = "New results arrived"
STORY = "One two three four five six seven eight nine ten eleven twelve."


def _stage(user: ScriptedUser, rules: Rules, *tools: Any, believes: bool = True) -> Stage:
    """A model that detects turns; tools are told of by what their name says."""
    tts = ScriptedTTS()
    told = {"book": "Your table is booked.", "look": "There it is."}
    answers = ScriptedLLM(rules, told, believes=believes)
    return Stage(
        TurnSession,
        user=user,
        llm=ScriptedRealtime(user, answers, tts),
        tts=tts,
        tools=tools,
        turn_handling={"turn_detection": "realtime_llm"},
    )


def _ask_for_something_else(stage: Stage) -> None:
    stage.session.interrupt()
    stage.session.generate_reply(user_input="something else")


def a_response_that_is_cut_as_it_begins_is_forgotten() -> list[str]:
    """The interruption comes between the creation of a response and its speech."""

    @function_tool
    async def book() -> str:
        """Book a table."""
        return "booked"

    async def cut(stage: Stage) -> None:
        for _ in range(2):
            await asyncio.sleep(0)
        stage.session.interrupt()

    stage = _stage(ScriptedUser(), {"table": Reply(calls=Call("book"), duration=0.0)}, book)
    stage.at(2.0, lambda s: s.session.generate_reply(user_input="a table") and None)
    stage.at(2.2, cut).run(8)
    (model,) = stage.llm.sessions  # type: ignore[union-attr]
    return request_problems(model.chat_ctx, realtime=True)


def what_nobody_heard_is_forgotten() -> list[str]:
    """A response with a call waits behind a story when the user speaks: it was never made."""

    @function_tool
    async def book() -> str:
        """Book a table."""
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0).says("well", at=4.0)
    rules: Rules = {"table": Reply("At once.", calls=Call("book")), "well": "Yes?"}
    stage = _stage(user, rules, book, believes=False)  # it would call again, and rightly
    stage.at(2.45, lambda s: s.session.say(STORY) and None).run(10)
    (model,) = stage.llm.sessions  # type: ignore[union-attr]
    lines = [(item.type, getattr(item, "text_content", "")) for item in model.chat_ctx.items]
    unheard = [line for line in lines if line[0] != "message" or line[1] == "At once."]
    return [f"the model believes {line}" for line in unheard]


def a_result_is_told_as_it_comes() -> list[str]:
    """One of two calls has ended when the model is asked for something else."""

    @function_tool
    async def look() -> str:
        """Look."""
        return "seen"

    @function_tool
    async def book() -> str:
        """Book a table."""
        await asyncio.sleep(9.0)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0)
    rules: Rules = {"table": Reply(calls=(Call("look"), Call("book"))), "else": "What else?"}
    stage = _stage(user, rules, look, book)
    stage.at(4.0, lambda s: s.session.generate_reply(user_input="something else") and None)
    asked = next(r for r in stage.run(16).requests if "else" in r.prompt)
    late = [f"the model is asked at {asked.at:.2f} s"] if asked.at > 4.5 else []
    shown = request_problems(asked.chat_ctx, realtime=True)
    return late + [line for line in shown if "look" in line]


def words_into_a_call_that_holds_its_turn_are_no_error() -> list[str]:
    """LiveKit takes it for an error that the model hears the user in such a turn."""

    @on_interruption("hold")
    @function_tool
    async def book() -> str:
        """Book a table."""
        await asyncio.sleep(3.0)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0).says("well", at=3.0)
    rules: Rules = {"table": Reply("At once.", calls=Call("book")), "well": "Yes?"}
    return [text for _, text in _stage(user, rules, book).run(10).errors]


def _tell(request: Request) -> Reply:
    """By what it is shown last. It tells the result if it is asked to."""
    *_, last = request.shown
    words = [entry.text for entry in request.shown[-2:] if entry.kind == "user"]
    asked = last.kind == "system" and any(text in last.text for text in (NEW, "result of book"))
    if asked and not words:
        return Reply(BOOKED, ttft=1.0)
    if words and "joke" in words[-1]:
        return Reply(f"{JOKE} {BOOKED}" if asked else JOKE, ttft=0.8)
    return Reply("Yes.", Call("book") if words else (), ttft=0.2)


def _late(user: ScriptedUser, seconds: float, *, detects: bool) -> Outcome:
    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book a table."""
        await context.update("I am looking")
        await asyncio.sleep(seconds)
        return "booked"

    voice = ScriptedTTS()
    model = ScriptedRealtime(user, ScriptedLLM(otherwise=_tell), voice, turn_detection=detects)
    turns = {"turn_detection": "realtime_llm" if detects else "vad"}
    stage = Stage(TurnSession, user=user, llm=model, tts=voice, tools=[book], turn_handling=turns)
    return stage.run(20.0)


def a_result_waits_for_a_model_that_detects_turns() -> list[str]:
    """It comes in a pause of the user, or when the model is about to answer them. A request would
    be given up, and nobody would hear of the result."""
    wrong: list[str] = []
    for seconds in (2.9, 3.4):
        user = ScriptedUser().says("book a table", at=1.0)
        user.says("well", at=4.2, duration=0.3).says("tell me a joke", at=4.8, duration=0.6)
        outcome = _late(user, seconds, detects=True)
        said = [heard.text for heard in outcome.heard]
        wrong += [] if said == ["Yes.", "Yes.", JOKE, BOOKED] else [f"heard is {said}"]
        wrong += [text for _, text in outcome.errors]
    return wrong


def a_result_that_an_answer_has_told_is_not_told_again() -> list[str]:
    """LiveKit asks for a reply to a late result when nobody speaks. By then the answer to the user
    has told it."""
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=4.3)
    said = [heard.text for heard in _late(user, 3.0, detects=False).heard]
    return [] if said == ["Yes.", "Yes.", f"{JOKE} {BOOKED}"] else [f"heard is {said}"]


REALTIME: dict[str, Callable[[], list[str]]] = {
    "RealtimeActivity._realtime_reply_task": a_response_that_is_cut_as_it_begins_is_forgotten,
    "RealtimeActivity.interrupt": words_into_a_call_that_holds_its_turn_are_no_error,
    "GovernedHandle._item_added": a_result_is_told_as_it_comes,
    "RealtimeActivity.wait_for_idle": a_result_waits_for_a_model_that_detects_turns,
    "GovernedExecutor._pending_updates": a_result_that_an_answer_has_told_is_not_told_again,
}
"""Each of these overrides, and the conversation that goes wrong without it."""

EVENTS = {
    "input_speech_started": nothing_is_said_into_the_user,
    "input_speech_stopped": nothing_is_said_into_the_user,
    "generation_created": a_response_that_is_cut_as_it_begins_is_forgotten,
}
"""Likewise for each event of a model."""
