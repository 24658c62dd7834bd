"""What the instructions for a reply say about results: all that it is to tell, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import Agent, RunContext, function_tool
from realtime_stage import realtime
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

book = tool("book", "booked", seconds=4.0)


pay = tool("pay", "paid")


def test_a_step_that_is_asked_to_tell_another_turns_result_is_asked_to_tell_its_own_as_well() -> (
    None
):
    """The user interrupts `book`. Its result comes while the user hears the answer to that, which
    calls `pay`."""
    user = ScriptedUser().says("a table please", at=1.0).says("I want to pay", at=4.0)
    model = ScriptedLLM(
        {
            "table": Reply(calls=Call("book")),
            "want to pay": Reply("You can pay now, I will see to it.", calls=Call("pay")),
        },
        {"pay": "It is paid."},
    )
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book, pay]).run(25.0)
    asks = [e.text for request in outcome.requests for e in request.shown if "heard of" in e.text]
    assert asks, outcome.timeline()
    assert all("book (" in text and "pay (" in text for text in asks)


def test_what_a_model_is_to_answer_comes_last_and_what_else_it_is_to_tell_before_it() -> None:
    """Some models answer only what comes last: the words of the user, or the results of a step."""
    transfer = tool("transfer", "transferred", seconds=1.5)
    user = ScriptedUser().says("a table please", at=1.0).says("send the money", at=4.0)
    model = ScriptedLLM(
        {
            "table": Reply(calls=Call("book")),
            "money": Reply(calls=Call("transfer")),
            "thanks": "You are welcome.",
        },
        {"transfer": "It is sent."},
    )
    user = user.says("thanks", at=7.6)
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book, transfer]).run(25.0)
    asked = [[e.text for e in request.shown] for request in outcome.requests]
    asked = [texts for texts in asked if any("heard of" in text for text in texts)]
    assert {texts[-1] for texts in asked} == {"transferred", "thanks"}, outcome.timeline()


def test_a_realtime_model_is_told_of_a_result_in_the_step_that_it_came_for() -> None:
    """The application asks for a joke while `book` runs. The reply to its result calls `pay`."""
    user = ScriptedUser().says("a table please", at=1.0)
    answers: dict[str, Any] = {
        "table": Reply(calls=Call("book")),
        "result of": Reply("It is booked.", calls=Call("pay")),
        "joke": "Here is a joke.",
    }
    script = ScriptedLLM(answers, {"book": "It is booked.", "pay": "It is paid."})
    stage = realtime(user, script, book, pay, detects=False)
    stage.at(4.0, lambda s: s.session.generate_reply(user_input="tell me a joke") and None)
    outcome = stage.run(25.0)
    said = [heard.text for heard in outcome.heard]
    assert said == ["Here is a joke.", "It is booked.", "It is paid."], outcome.timeline()


def test_a_result_that_comes_before_the_words_of_its_step_have_been_heard_is_told() -> None:
    """`pay` has ended when these words are committed; `show` says something before it ends."""

    @function_tool
    async def show(context: RunContext[Any]) -> str:
        """Show the bill."""
        await asyncio.sleep(3.0)
        await context.session.say("Here is the bill.")
        return "shown"

    user = ScriptedUser().says("I want to pay", at=1.0)
    reply = Reply("I see to it.", calls=[Call("pay"), Call("show")])
    outcome = realtime(user, ScriptedLLM({"want to pay": reply}), pay, show).run(15.0)
    asked = outcome.requests[-1].shown[-1].text
    assert "pay (" in asked, outcome.timeline()
    assert "show (" in asked


def test_a_step_with_a_result_that_was_overtaken_is_asked_about_all_that_it_is_to_tell() -> None:
    """The application asks for a joke while `book` runs. Its turn also has the late result of a
    call that has used `ctx.update()`; LiveKit drops its reply to that when the agent is left."""

    @function_tool
    async def look(context: RunContext[Any]) -> str:
        """Look."""
        await context.update("I am looking")
        await asyncio.sleep(3.5)
        return "seen"

    user = ScriptedUser().says("a table please", at=1.0)
    answers = {"table": Reply(calls=(Call("book"), Call("look"))), "joke": "Here is a joke."}
    voice = ScriptedTTS(durations={"Here is a joke.": 4.0})
    script = ScriptedLLM(answers, otherwise="It is done.")
    stage = realtime(user, script, book, look, detects=False, tts=voice)
    stage.at(5.0, lambda s: s.session.generate_reply(user_input="tell me a joke") and None)
    stage.at(7.0, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    outcome = stage.run(25.0)
    asks = [e.text for request in outcome.requests for e in request.shown if "arrived" in e.text]
    assert asks, outcome.timeline()
    assert all("book (" in text and "look (" in text for text in asks), asks


def test_a_reminder_stands_next_to_the_words_although_another_call_begins_at_that_moment() -> None:
    """A call ends at 7.2 s, another one begins, and the user's words come, which are answered."""
    book = tool("book", "booked", seconds=1.5)
    look = tool("look", "seen", seconds=3.0)
    user = ScriptedUser().says("book a table", at=1.5, duration=1.2, stt_delay=1.5)
    user.says("the menu", at=4.2, duration=1.2, stt_delay=0.3)
    user.says("how are you", at=6.3, duration=0.6, stt_delay=0.3)
    model = ScriptedLLM(
        {
            "table": Reply(calls=Call("book"), ttft=1.5),
            "menu": Reply(calls=Call("look"), ttft=1.5),
            "how are": "I am well.",
        },
        {"book": "It is booked.", "look": "I see."},
    )
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book, look]).run(25.0)
    (asked,) = [r for r in outcome.requests if r.shown[-1].text == "how are you"]
    assert [entry.text for entry in asked.shown].count("booked") == 1, outcome.timeline()
    assert "heard of the result of book" in asked.shown[-2].text
