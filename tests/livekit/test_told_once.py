"""What a reply tells of a result that is heard, or will be, no other reply is asked to tell."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import RunContext, function_tool
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

ANSWER = "Yes we have wine. And your table is booked for tonight."

TOLD = "Another reply tells what has come of book ("

FIRST = "I am looking for a table for you."


@pytest.mark.parametrize("typed", [5.0, 6.5], ids=["asked for", "heard"])
def test_a_request_during_a_reply_that_tells_a_result_does_not_ask_for_it(typed: float) -> None:
    """The user speaks before the reply to the result is heard. Their own answer tells it: asked for
    at 4.4 s, heard from 5.8 s on."""
    book = tool("book", "booked", seconds=1.0)
    user = ScriptedUser().says("book a table", at=1.0)
    user.says("do you have wine", at=3.4, duration=0.9, stt_delay=0.1)
    model = ScriptedLLM(
        {
            "table": Reply(calls=Call("book")),
            "wine": Reply(ANSWER, ttft=1.2),
            "typed": "Let me see what you have typed.",
        },
        {"book": Reply("It is booked.", ttft=0.8)},
    )
    stage = Stage(
        TurnSession, user=user, llm=model, tools=[book], tts=ScriptedTTS(durations={ANSWER: 6.0})
    )
    stage.at(typed, lambda s: s.session.generate_reply(user_input="typed") and None)
    outcome = stage.run(25.0)
    asked = [r for r in outcome.requests if any(e.text == "typed" for e in r.shown)]
    told = [any("heard of the" in entry.text for entry in request.shown) for request in asked]
    assert told == [False], outcome.timeline()
    assert sum("booked" in heard.text for heard in outcome.heard) == 1, outcome.timeline()


@pytest.mark.parametrize("typed", [3.0, 6.0], ids=["before it is asked for", "asked for"])
def test_a_request_beside_the_next_step_of_a_calls_own_turn_does_not_ask_for_its_result(
    typed: float,
) -> None:
    """The tool has called `ctx.update()` and returns while the words before the call are heard.
    The next step of the turn, at 5.5 s, tells its result."""

    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book a table."""
        await ctx.update("I am looking")
        await asyncio.sleep(0.1)
        return "booked"

    model = ScriptedLLM(
        {
            "table": Reply(FIRST, calls=Call("book"), ttft=0.1),
            "typed": "Let me see what you have typed.",
        },
        {"book": Reply("It is booked.", ttft=0.8)},
    )
    user = ScriptedUser().says("book a table", at=1.0)
    tts = ScriptedTTS(durations={FIRST: 3.0, "It is booked.": 4.0})
    stage = Stage(TurnSession, user=user, llm=model, tools=[book], tts=tts)
    stage.at(typed, lambda s: s.session.generate_reply(user_input="typed") and None)
    outcome = stage.run(25.0)
    asked = [r for r in outcome.requests if any(e.text == "typed" for e in r.shown)]
    told = [any("heard of the" in entry.text for entry in request.shown) for request in asked]
    assert told[0] is False, outcome.timeline()


@pytest.mark.parametrize(
    ("seconds", "left"), [(4.9, True), (8.0, False)], ids=["asked for", "told before"]
)
def test_a_request_leaves_out_a_result_that_the_reply_before_it_is_about_to_tell(
    seconds: float, left: bool
) -> None:
    """Both turns stand when their calls end, the first one at 4.9 s. The model needs 0.8 s. It is
    heard by when the second turn asks for its last step."""

    @function_tool
    async def book() -> str:
        """Book a table."""
        await asyncio.sleep(4.9 - 1.2)
        return "booked"

    @function_tool
    async def choose() -> str:
        """Choose a wine."""
        await asyncio.sleep(seconds - 2.1)
        return "chosen"

    look = tool("look", "seen")

    def chosen(request: Request) -> Reply:
        shown = " ".join(entry.text for entry in request.shown)
        told = TOLD in shown or "It is booked." in shown
        said = "It is chosen." if told else "It is booked. It is chosen."
        return Reply(said, Call("look"), ttft=0.8)

    model = ScriptedLLM(
        {"a table": Reply(calls=Call("book")), "a wine": Reply(calls=Call("choose"))},
        {"book": Reply("It is booked.", ttft=0.8), "choose": chosen, "look": "I see."},
    )
    stage = Stage(TurnSession, user=ScriptedUser(), llm=model, tools=[book, choose, look])
    for at, typed in ((1.0, "a table"), (2.0, "a wine")):
        stage.at(at, lambda s, typed=typed: s.session.generate_reply(user_input=typed) and None)
    outcome = stage.run(25.0)
    said = " ".join(heard.text for heard in outcome.heard)
    assert said == "It is booked. It is chosen. I see.", outcome.timeline()
    told = [any(TOLD in entry.text for entry in r.shown) for r in outcome.requests[-2:]]
    assert told == [left, False]


def test_a_request_may_say_a_result_whose_own_turn_waits_for_another_call() -> None:
    """The turn tells it much later. The user may have asked for it meanwhile."""
    book = tool("book", "booked")
    choose = tool("choose", "chosen", seconds=10.0)
    model = ScriptedLLM(
        {"a table": Reply(calls=(Call("book"), Call("choose"))), "typed": "It is booked."},
        {"book": "All is done.", "choose": "All is done."},
    )
    stage = Stage(TurnSession, user=ScriptedUser(), llm=model, tools=[book, choose])
    for at, typed in ((1.0, "a table"), (4.0, "typed")):
        stage.at(at, lambda s, typed=typed: s.session.generate_reply(user_input=typed) and None)
    outcome = stage.run(25.0)
    (asked,) = [r for r in outcome.requests if r.at == pytest.approx(4.0, abs=0.1)]
    assert any(entry.text == "booked" for entry in asked.shown), outcome.timeline()
    assert not any(TOLD in entry.text for entry in asked.shown)


def test_a_result_is_told_with_the_next_answer_if_only_the_reply_that_was_to_tell_it_is_cut() -> (
    None
):
    """Two replies are asked for at once: the next step of the turn leaves the result to LiveKit's
    reply about it. A commit ends that one before it is heard."""

    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book a table."""
        await ctx.update("I am looking")
        await asyncio.sleep(1.5)
        return "booked"

    @function_tool
    async def sing(ctx: RunContext[Any]) -> str:
        """Sing."""
        await ctx.session.say("I sing a song for you.")
        return "sung"

    def answer(request: Request) -> Reply:
        asked = any("heard of the result of book" in entry.text for entry in request.shown)
        return Reply("I am well." + (" Your table is booked." if asked else ""))

    user = ScriptedUser().says("sing and book a table", at=1.0, duration=0.5, stt_delay=0.05)
    user.makes_noise(at=6.1, duration=0.3).says("how are you", at=6.8, duration=0.5, stt_delay=0.1)
    calls = [Call("sing"), Call("book")]
    model = ScriptedLLM(
        {"table": Reply("Here it comes.", calls=calls, ttft=1.0), "how are": answer},
        {"sing": Reply("That was it.", ttft=0.1)},
    )
    handling: Any = {"turn_detection": "manual"}
    voice = ScriptedTTS(durations={"Here it comes.": 1.5, "I sing a song for you.": 2.0})
    stage = Stage(
        TurnSession,
        user=user,
        llm=model,
        tts=voice,
        tools=[book, sing],
        turn_handling=handling,
    )
    for at in (2.0, 7.6):
        stage.at(at, lambda s: s.session.commit_user_turn() and None)
    outcome = stage.run(25.0)
    said = [heard.text for heard in outcome.heard]
    assert said[-2:] == ["That was it.", "I am well. Your table is booked."], outcome.timeline()


def test_a_reply_that_a_tool_asks_for_leaves_out_a_result_that_its_own_turn_is_about_to_tell() -> (
    None
):
    """The answer tells the earlier result, and then makes the call."""
    book = tool("book", "booked", seconds=2.0)

    @function_tool
    async def look(ctx: RunContext[Any]) -> str:
        """Look."""
        await ctx.session.generate_reply(instructions="say that you look")
        return "seen"

    def see(request: Request) -> Reply:
        asked = any("heard of the result of book" in entry.text for entry in request.shown)
        return Reply("It is booked. And now the menu." if asked else "I see.", Call("look"))

    def looks(request: Request) -> Reply:
        if any(entry.text == "seen" for entry in request.shown):
            return Reply("Done.")
        told = any(TOLD in entry.text for entry in request.shown)
        return Reply("I look." if told else "It is booked. I look.", ttft=0.1)

    user = ScriptedUser().says("a table", at=1.0).says("the menu", at=2.6, duration=1.4)
    model = ScriptedLLM(
        {"a table": Reply(calls=Call("book")), "menu": see, "say that you look": looks},
        {"book": Reply("It is booked.", ttft=5.0), "look": looks},
    )
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book, look]).run(25.0)
    said = " ".join(heard.text for heard in outcome.heard)
    assert said.count("It is booked.") == 1, outcome.timeline()
    assert "I look." in said


def test_a_result_that_a_noise_interrupts_is_delivered_if_the_user_goes_on_in_writing() -> None:
    """As if they had gone on by voice."""
    model = ScriptedLLM(
        {"table": Reply(calls=Call("book")), "wine": ANSWER}, {"book": "It is booked for tonight."}
    )
    stage = Stage(
        TurnSession,
        user=ScriptedUser().says("book a table", at=1.0).makes_noise(at=5.0, duration=1.0),
        llm=model,
        tools=[tool("book", "booked", seconds=0.5)],
        tts=ScriptedTTS(durations={"It is booked for tonight.": 4.0}),
        can_pause=False,
    )
    stage.at(5.6, lambda s: s.session.generate_reply(user_input="do you have wine") and None)
    outcome = stage.run(20.0)
    assert [heard.text for heard in outcome.heard] == ["It is booked", ANSWER], outcome.timeline()
