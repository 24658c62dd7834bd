"""The caller hears the result of each call, whatever ends the reply that was to say it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import RunContext, ToolError, function_tool
from realtime_stage import Says
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

JOKE, BOOKED = "Here is a joke, and it is a long one.", "Your table is booked."


def _tell(request: Request) -> Reply:
    """It says the result if it is asked to, after 3 s if it is the reply of the call's own turn."""
    asked = [entry.text for entry in request.shown if entry.kind == "system"]
    if "greet" in asked:
        return Reply("Hello.")
    return Reply(BOOKED, ttft=0.2 if any("result of book" in text for text in asked) else 3.0)


def _book(seconds: float, policy: Any = "detach") -> Any:
    return tool("book", "booked", seconds=seconds, policy=policy)


def _joke(request: Request) -> Reply:
    """It says the result behind its answer, if it is asked to and has not said it."""
    asked = any(e.kind == "system" and "result of " in e.text for e in request.shown)
    said = any(e.kind == "assistant" and "booked" in e.text for e in request.shown)
    return Reply(f"{JOKE} {BOOKED}" if asked and not said else JOKE)


@function_tool
async def fail() -> str:
    """Book."""
    await asyncio.sleep(1.0)
    raise ToolError("no table is free")


@pytest.mark.parametrize(
    ("book", "name"), [(_book(1.0), "book"), (_book(1.0, "cancel"), "book"), (fail, "fail")]
)
def test_a_result_or_an_error_is_told_although_the_user_has_interrupted_the_words_before_it(
    book: Any, name: str
) -> None:
    """What the user has heard of the reply was the answer to something else."""
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=4.0)
    user.says("another joke", at=7.5)
    model = ScriptedLLM(
        {"book": Reply(calls=Call(name)), "joke": _joke}, {name: Reply(BOOKED, ttft=3.0)}
    )
    tts = ScriptedTTS(durations={JOKE: 3.0})
    outcome = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[book]).run(25.0)
    first, second = outcome.heard
    assert "booked" not in first.text, outcome.timeline()
    assert second.text == f"{JOKE} {BOOKED}"


def test_a_result_is_told_although_a_reply_to_something_else_was_shown_it() -> None:
    """The application asks for a joke while a call beside it holds the turn. The turn ends without
    a reply of its own: the user has said something else meanwhile."""
    pay = tool("pay", "paid", seconds=8.0, policy="hold")
    user = ScriptedUser().says("book a table", at=1.0).says("another joke", at=7.5)
    model = ScriptedLLM({"book": Reply(calls=(Call("book"), Call("pay"))), "joke": _joke})
    stage = Stage(TurnSession, user=user, llm=model, tools=[_book(1.0), pay])
    stage.at(4.0, lambda s: s.session.generate_reply(user_input="tell me a joke") and None)
    outcome = stage.run(25.0)
    assert [heard.text for heard in outcome.heard] == [JOKE, f"{JOKE} {BOOKED}"], outcome.timeline()


def test_a_pending_result_is_delivered_with_those_that_no_reply_will_tell() -> None:
    """The answer to a call that has ended is interrupted, and nobody says anything more. The result
    of the turn before comes afterwards."""
    look = tool("look", "seen")
    user = ScriptedUser().says("book a table", at=1.0).says("now look at this", at=4.0)
    answers = {"a table": Reply(calls=Call("book")), "look": Reply(JOKE, Call("look"))}
    model = ScriptedLLM(answers, {"book": BOOKED, "look": "I have looked."})
    stage = Stage(TurnSession, user=user, llm=model, tools=[_book(6.0), look])
    stage.at(6.5, lambda s: s.session.interrupt() and None)
    outcome = stage.run(25.0)
    assert [heard.text for heard in outcome.heard][1:] == [BOOKED], outcome.timeline()
    (asked,) = [e.text for e in outcome.requests[-1].shown if "result of book" in e.text]
    assert "look (" in asked


@pytest.mark.parametrize(("result", "told"), [("booked", f" {BOOKED}"), (None, "")])
def test_a_late_result_is_told_with_the_words_that_have_replaced_its_reply(
    result: str | None, told: str
) -> None:
    """The tool has called `ctx.update()`, and the user speaks before LiveKit's reply is heard. If
    the tool returns nothing, there is nothing to tell."""

    @function_tool
    async def book(ctx: RunContext[Any]) -> str | None:
        """Book."""
        await ctx.update("I am looking")
        await asyncio.sleep(5.0)
        return result

    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=8.0)
    answers = [Reply("One moment."), Reply(BOOKED, ttft=3.0)]
    model = ScriptedLLM(
        {"book": Reply(calls=Call("book")), "joke": _joke}, {"book": lambda _: answers.pop(0)}
    )
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book]).run(25.0)
    said = [heard.text for heard in outcome.heard]
    assert said == ["One moment.", f"{JOKE}{told}"], outcome.timeline()


@function_tool
async def stop(ctx: RunContext[Any]) -> str:
    """Stop."""
    await asyncio.sleep(0.5)
    ctx.session.interrupt()
    return "stopped"


def test_a_result_is_told_although_a_tool_has_interrupted_the_reply_that_was_to_tell_it() -> None:
    """It is the result of another turn. Nothing is said of the tool's own turn."""
    user = ScriptedUser().says("book a table", at=1.0).says("stop it", at=4.0)
    asked = {"a table": Reply(calls=Call("book")), "stop": Reply(JOKE, Call("stop"))}
    model = ScriptedLLM(asked, {"book": _tell, "stop": _tell})
    outcome = Stage(TurnSession, user=user, llm=model, tools=[_book(1.0), stop]).run(25.0)
    said = [heard.text for heard in outcome.heard]
    assert JOKE.startswith(said[0].rstrip(".")), outcome.timeline()
    assert said[1:] == [BOOKED]


def test_a_reply_with_other_instructions_does_not_take_the_place_of_a_pending_result() -> None:
    """The application asks for something while the result of a released call is pending."""
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=4.0)
    asked = {"a table": Reply("One moment.", Call("book")), "joke": JOKE}
    model = ScriptedLLM(asked, {"book": _tell})
    tts = ScriptedTTS(durations={"One moment.": 4.0, JOKE: 5.0})
    stage = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[_book(5.0)])
    stage.at(8.5, lambda s: s.session.generate_reply(instructions="greet"))
    outcome = stage.run(25.0)
    said = [heard.text for heard in outcome.heard]
    assert said[1:] == [JOKE, "Hello.", BOOKED], outcome.timeline()


def _next(*tools: Any) -> Says:
    return Says("Hello.", tools=[*tools])


def _tells(request: Request) -> str:
    """The result, if it is shown and asked for."""
    asked, shown = request.shown[-1].text, [entry.text for entry in request.shown]
    return BOOKED if "result of book" in asked and "booked" in shown else "One moment."


@function_tool
async def hangs() -> str:
    """Hang."""
    await asyncio.get_running_loop().create_future()
    return ""


def test_a_result_is_told_although_a_handoff_has_not_waited_for_the_call_beside_it() -> None:
    """Their turn ends before the reply to both results."""
    book = _book(1.0)
    user = ScriptedUser().says("book a table", at=1.0)
    calls = (Call("book"), Call("hangs"))
    model = ScriptedLLM({"a table": Reply(calls=calls)}, {"book": _tells})
    limits = {"drain_limit": 5.0}
    stage = Stage(TurnSession, user=user, llm=model, tools=[book, hangs], timers=limits)
    stage.at(4.0, lambda s: s.session.update_agent(_next(book, hangs)))
    outcome = stage.run(30.0)
    assert [heard.text for heard in outcome.heard] == ["Hello.", BOOKED], outcome.timeline()


def test_a_late_result_is_told_although_its_agent_was_left_before_the_reply() -> None:
    """LiveKit drops the reply of an agent that is left."""

    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book."""
        await ctx.update("I am looking")
        await asyncio.sleep(5.0)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=4.0)
    asked = {"a table": Reply(calls=Call("book")), "joke": JOKE}
    model = ScriptedLLM(asked, {"book": _tells})
    tts = ScriptedTTS(durations={JOKE: 4.0})
    stage = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[book])
    stage.at(6.0, lambda s: s.session.update_agent(_next(book)))
    outcome = stage.run(30.0)
    said = [heard.text for heard in outcome.heard]
    assert said == ["One moment.", JOKE, "Hello.", BOOKED], outcome.timeline()
