"""When a realtime model is asked about results, and about which."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import Agent, RunContext, function_tool, llm
from realtime_stage import Says, realtime
from scripted_tool import tool

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

JOKE, BOOKED = "Here is a joke for you.", "Your table is booked."
STORY = "One two three four five six seven eight nine ten."


def _late(seconds: float) -> Any:
    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book a table."""
        await context.update("I am looking")
        await asyncio.sleep(seconds)
        return "booked"

    return book


def _answer(request: Request) -> Reply:
    """By what it is shown last. It says a result that it has not said if it is asked about results,
    whatever else it says."""
    *_, last = request.shown
    said = any(BOOKED in entry.text for entry in request.shown if entry.kind == "assistant")
    news = "" if said or not any(e.text == "booked" for e in request.shown) else BOOKED
    if last.kind == "result":
        return Reply(news or "One moment.", ttft=0.2)
    asked = last.kind == "system" and "book (" in last.text
    later = "answered by the next reply" in last.text
    words = [e.text for e in request.shown[-2:] if e.kind == "user" and not later]
    if words and "joke" in words[-1]:
        return Reply(f"{JOKE} {news if asked else ''}".strip(), ttft=0.8)
    if words and "else" in words[-1]:
        return Reply("", Call("transfer"), ttft=1.5)
    if words and "look" in words[-1]:
        return Reply("I look.", Call("look"), ttft=0.2)
    if words and "table" in words[-1]:
        return Reply("Yes.", Call("book"), ttft=0.2)
    if words and "person" in words[-1]:
        return Reply(STORY, (Call("book"), Call("transfer")), ttft=0.2)
    return Reply(news if asked else "What else?", ttft=1.0)


def _stage(
    user: ScriptedUser, *tools: Any, answer: Any = _answer, detects: bool = False, **how: Any
) -> Stage:
    return realtime(user, ScriptedLLM(otherwise=answer), *tools, detects=detects, **how)


def test_a_step_says_the_late_results_of_its_speech_before_the_handoff() -> None:
    """LiveKit drops its own reply to them when the agent is left. The reply to what was typed was
    shown them, and was not asked to say them."""

    @function_tool
    async def transfer() -> tuple[Agent, str]:
        """Transfer."""
        return Says("Hello."), "transferred"

    user = ScriptedUser().says("a person please", at=1.0)
    stage = _stage(user, _late(1.0), transfer)
    stage.at(4.5, lambda s: s.session.generate_reply(user_input="typed") and None)
    outcome = stage.run(25.0)
    assert [h.text for h in outcome.heard] == [STORY, "What else?", BOOKED, "Hello."], (
        outcome.timeline()
    )


def test_a_close_does_not_wait_for_a_reply_to_a_result_that_has_not_begun() -> None:
    """It waits until what the application says was heard. LiveKit does not interrupt it."""
    book = tool("book", "booked", seconds=0.5)
    user = ScriptedUser().says("book a table", at=1.0)
    stage = _stage(user, book)
    stage.at(2.6, lambda s: s.session.say(STORY) and None)
    stage.at(5.0, lambda s: s.session.aclose())
    outcome = stage.run(25.0)
    assert len(outcome.requests) == 1, outcome.timeline()
    assert outcome.heard[-1].end == pytest.approx(5.0, abs=0.1)


def test_words_of_the_user_are_answered_by_a_reply_that_may_call_tools() -> None:
    """A step that has only a report of a call behind it may not call tools. It is asked for when
    the user has spoken, and there is nothing to say about results."""
    called: list[str] = []
    look = tool("look", "seen", ran=called)
    user = ScriptedUser().says("book a table", at=1.0)
    user.says("now look at this please", at=4.0)
    stage = _stage(user, _late(30.0), look)
    stage.at(2.6, lambda s: s.session.say(STORY) and None)
    outcome = stage.run(15.0)
    assert called == ["look"], outcome.timeline()
    assert sum(heard.text == "I look." for heard in outcome.heard) == 1


@pytest.mark.parametrize("told", [True, False], ids=["told", "cut"])
def test_words_that_the_next_agent_answers_are_not_answered_before(told: bool) -> None:
    """They are committed during a handoff. Behind it a step of the turn before is asked for, whose
    result was told; or the application has interrupted that."""
    book = tool("book", "booked", seconds=4.0)

    @function_tool
    async def transfer() -> tuple[Agent, str]:
        """Transfer."""
        return Says("Hello."), "transferred"

    user = ScriptedUser().says("book a table", at=1.0).says("somebody else", at=4.0)
    user.says("tell me a joke", at=6.8, duration=0.8)
    stage = _stage(user, book, transfer, detection="manual")
    for at in (2.2, 5.2, 7.9):
        stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=0.5) and None)
    if not told:
        stage.at(8.3, lambda s: s.session.interrupt() and None)
    outcome = stage.run(20.0)
    said = [heard.text for heard in outcome.heard]
    cut = [] if told else ["Your table"]
    assert said == ["Yes.", *cut, BOOKED, "Hello.", JOKE], outcome.timeline()


@pytest.mark.parametrize("by_voice", [True, False], ids=["realtime", "pipeline"])
def test_the_next_agent_is_shown_a_result_that_it_is_to_tell(by_voice: bool) -> None:
    """It begins with an empty conversation, and lacks the tool. With a realtime model the user
    speaks as it takes over, and commits before it is asked: their words are answered afterwards,
    and their call is made once (243908)."""
    looked: list[str] = []
    look = tool("look", "seen", ran=looked)
    book = tool("book", "booked", seconds=4.0)

    @function_tool
    async def transfer(context: RunContext[Any]) -> tuple[Agent, str]:
        """Transfer."""
        await asyncio.sleep(1.0)
        context.session.interrupt()
        return Says("Hello.", tools=[look]), "transferred"

    user = ScriptedUser().says("book a table", at=1.0).says("somebody else", at=3.0)
    tools = [book, transfer]
    if by_voice:
        user.says("look it up", at=6.6, duration=0.4)
        stage = _stage(user, *tools, detection="manual")
        for at in (2.2, 4.2, 7.4):
            stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=0.5) and None)
    else:
        stage = Stage(TurnSession, user=user, llm=ScriptedLLM(otherwise=_answer), tools=tools)
    stage.at(2.8, lambda s: s.session.interrupt() and None)
    outcome = stage.run(20.0)
    said = [heard.text for heard in outcome.heard if "Yes" not in heard.text]
    then = ["I look.", "One moment."] if by_voice else []
    assert said == ["Hello.", BOOKED, *then], outcome.timeline()
    assert looked == ["look"] * by_voice, outcome.timeline()
    (asked,) = [r for r in outcome.requests if "result of book" in r.shown[-1].text]
    assert "booked" in [entry.text for entry in asked.shown if entry.kind == "result"]


def test_a_late_result_whose_reply_was_cut_is_told_with_the_result_of_the_call_beside_it() -> None:
    """Its reply is held as the user speaks, and they have more to say. The model tells the results
    that it is asked for, and is asked for the other one at the same time (223534)."""

    @function_tool
    async def look(context: RunContext[Any]) -> str:
        """Look."""
        await asyncio.sleep(0.5)
        await context.session.generate_reply(instructions="say that it takes time")
        return "seen"

    def answer(request: Request) -> Reply:
        last = request.shown[-1].text
        words = [e.text for e in request.shown if e.kind == "user"]
        if "takes time" in last:
            return Reply("It takes some time.", ttft=0.2)
        if "joke" in words[-1] and request.shown[-1].kind == "user":
            return Reply(JOKE, ttft=0.2)
        if "New results" in last:
            return Reply(BOOKED, ttft=0.2)
        if "result of" in last:
            both = (("look (", "The room is free."), ("book (", BOOKED))
            return Reply(" ".join(says for call, says in both if call in last), ttft=0.2)
        return Reply("", (Call("look"), Call("book")), ttft=0.2)

    user = ScriptedUser().says("look and book", at=1.0, duration=0.6)
    user.makes_noise(at=4.3, duration=0.3).says("tell me a joke", at=5.0, duration=0.9)
    outcome = _stage(user, look, _late(1.5), answer=answer).run(20.0)
    said = [heard.text for heard in outcome.heard]
    both = f"The room is free. {BOOKED}"
    assert said == ["It takes some time.", both, JOKE], outcome.timeline()


def test_words_that_an_agent_answers_before_it_goes_are_not_answered_by_the_next_one() -> None:
    """Their answer waits behind a story when the application commits again, during the handoff."""
    user = ScriptedUser().says("tell me a joke", at=1.5, duration=0.6)
    stage = _stage(user, detection="manual")
    stage.at(1.0, lambda s: s.session.say(STORY) and None)
    stage.at(2.7, lambda s: s.session.update_agent(Says("Hello.")))
    for at in (2.5, 3.0):
        stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=0.5) and None)
    outcome = stage.run(20.0)
    said = [heard.text for heard in outcome.heard]
    assert said == [STORY, JOKE, "Hello."], outcome.timeline()


def test_a_pending_result_is_delivered_by_an_agent_whose_copy_lacks_the_words() -> None:
    """The conversation was copied before the user spoke. Their answer waits behind a story; its
    call takes longer than the handoff waits."""
    called: list[str] = []
    book = tool("book", "booked", seconds=6.0, ran=called)

    class Next(Says):
        def __init__(self, chat_ctx: llm.ChatContext) -> None:
            super().__init__("Hello.", chat_ctx=chat_ctx, tools=[book])

    agents: list[Agent] = []
    user = ScriptedUser().says("book a table", at=1.5, duration=0.6)
    limits = {"drain_limit": 5.0}
    answers = ScriptedLLM(otherwise=_answer)
    stage = realtime(user, answers, book, detection="manual", timers=limits, detects=False)
    stage.at(1.0, lambda s: s.session.say(STORY) and None)
    stage.at(1.2, lambda s: agents.append(Next(s.session.current_agent.chat_ctx.copy())))
    stage.at(2.7, lambda s: s.session.update_agent(agents[0]))
    for at in (2.5, 3.0):
        stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=0.5) and None)
    outcome = stage.run(25.0)
    assert called == ["book"], outcome.timeline()
    assert [heard.text for heard in outcome.heard][-1] == BOOKED, outcome.timeline()
    result = [entry.text for entry in outcome.requests[-1].shown if entry.kind == "result"]
    assert result[-1:] == ["booked"]


@pytest.mark.parametrize(
    "stopped", [None, False, True], ids=["nothing else", "something else", "given up"]
)
def test_a_result_is_told_again_if_a_noise_has_cut_the_answer_that_was_to_tell_it(
    stopped: bool | None,
) -> None:
    """The model detects turns: it hears the noise first, and has no words to answer. Perhaps the
    application then asks for a reply with instructions of its own, which says nothing of the
    result."""
    book = tool("book", "booked", seconds=2.5)
    user = ScriptedUser().says("book a table", at=1.0).makes_noise(at=3.4, duration=0.3)
    user.makes_noise(at=8.2, duration=0.3)
    stage = _stage(user, book, detects=True)
    stage.at(5.0, lambda s: s.session.generate_reply(user_input="a joke") and None)

    async def ask(stage: Stage) -> None:
        handle = stage.session.generate_reply(instructions="Say that it takes long.")
        if stopped:
            handle.interrupt()

    if stopped is not None:
        stage.at(9.0, ask)
    outcome = stage.run(25.0)
    assert outcome.heard[-1].text == BOOKED, outcome.timeline()


def test_a_call_that_ends_its_turn_does_not_end_the_models_answer_to_the_user() -> None:
    """It holds its turn, and ends when the model has begun to think about what the user has said
    meanwhile, at 5.5 s. The model detects turns."""
    book = tool("book", "booked", seconds=3.3, policy="hold")
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=4.0, duration=1.0)
    outcome = _stage(user, book, detects=True).run(20.0)
    assert [heard.text for heard in outcome.heard] == ["Yes.", JOKE, BOOKED], outcome.timeline()
    assert outcome.heard[1].start < 6.5


def test_a_result_that_is_told_first_does_not_count_as_the_answer_to_the_user() -> None:
    """The step that tells it belongs to a speech whose first step answered earlier words. The reply
    to what the user has said since comes behind it."""

    @on_interruption("hold")
    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book a table."""
        await asyncio.sleep(1.5)
        await context.session.say(STORY)
        return "booked"

    async def typed(stage: Stage) -> None:
        await stage.session.interrupt()
        stage.session.generate_reply(user_input="typed")

    class Slow(Agent):
        async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
            await asyncio.sleep(0.05)

    agent = lambda: Slow(instructions="Help.", tools=[book])  # noqa: E731
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=4.5, duration=1.2)
    stage = _stage(user, agent=agent).at(5.6, typed)
    outcome = stage.run(20.0)
    assert [heard.text for heard in outcome.heard][-2:] == [BOOKED, JOKE], outcome.timeline()
    assert outcome.requests[-1].shown[-1].text == "tell me a joke"


def test_a_turn_that_the_application_commits_is_answered_behind_what_is_said_first() -> None:
    """The model detects turns, and has not found the end of this one. What the application says
    waits for a quiet user."""
    user = ScriptedUser().says("tell me a joke", at=1.0, duration=2.0)
    stage = _stage(user, detects=True)
    stage.at(2.0, lambda s: s.session.say(STORY) and None)
    stage.at(3.45, lambda s: s.session.commit_user_turn(transcript_timeout=0.5) and None)
    outcome = stage.run(15.0)
    assert [heard.text for heard in outcome.heard] == [STORY, JOKE], outcome.timeline()
    assert outcome.requests[-1].shown[-1].text == "tell me a joke"


def test_a_model_that_has_told_a_result_in_another_step_may_reply_with_nothing() -> None:
    """The step of the second turn is shown both results, and says both."""
    look = tool("look", "seen", seconds=0.5)
    book = tool("book", "booked", seconds=4.0)

    def answer(request: Request) -> Reply:
        last = request.shown[-1]
        if last.kind == "user" and "look" in last.text:
            return Reply(STORY, Call("look"), ttft=0.2)
        if last.text.endswith("If you have told them already, reply with nothing."):
            return Reply("")
        return _answer(request)

    user = ScriptedUser().says("book a table", at=1.0).says("now look at this", at=4.0)
    stage = _stage(user, look, book, detection="manual", answer=answer)
    for at in (2.2, 5.2):
        stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=0.5) and None)
    outcome = stage.run(20.0)
    asked = [e.text for r in outcome.requests for e in r.shown if "book (" in e.text]
    assert len(asked) == 1, outcome.timeline()
    assert [heard.text for heard in outcome.heard] == ["Yes.", STORY, BOOKED]


def test_a_result_is_told_although_the_user_has_interrupted_the_words_before_it() -> None:
    """A model that detects turns answers the user first, whom nobody had answered."""
    book = tool("book", "booked", seconds=4.0)
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=3.5)
    user.says("thank you", at=8.5)
    stage = _stage(user, book, detects=True)
    stage.at(5.3, lambda s: s.session.interrupt() and None)
    outcome = stage.run(20.0)
    assert outcome.heard_saying(BOOKED) is not None, outcome.timeline()
