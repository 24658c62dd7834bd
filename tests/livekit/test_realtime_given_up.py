"""A model that detects turns gives up its answer to the user if it is asked for something else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from livekit.agents import Agent, RunContext, function_tool
from realtime_stage import Says, realtime
from scripted_tool import tool

from turnfsm.livekit import on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

STORY = "One two three four five six seven eight nine ten."
WAIT, BOOKED, JOKE = "It takes some time.", "Your table is booked.", "Here is a joke for you."


@on_interruption("hold")
@function_tool
async def book(context: RunContext[Any]) -> str:
    """Book a table."""
    await context.session.generate_reply(instructions="say that it takes time")
    return "booked"


def _answer(request: Request) -> Reply:
    """What it is asked for, or the words that the user has said last."""
    last = request.shown[-1]
    words = next(e.text for e in reversed(request.shown) if e.kind == "user")
    asks = "result of book" in last.text
    if "takes time" in last.text:
        return Reply(WAIT, Call("look") if "menu" in words else (), ttft=0.2)
    if last.kind == "result" or (asks and "with your answer" not in last.text):
        return Reply(BOOKED, ttft=0.2)
    if "menu" in words:
        return Reply("I look.", Call("look"), ttft=0.8)
    if "list" in words:
        return Reply("I list them.", Call("list_all"), ttft=0.8)
    if "joke" in words:
        return Reply(f"{JOKE} {BOOKED}" if asks else JOKE, ttft=0.8)
    return Reply(STORY, Call("book"), ttft=0.2)


def _played(
    user: ScriptedUser,
    types: Callable[[Stage], None] | None = None,
    *tools: Any,
    book: Any = book,
) -> Outcome:
    stage = realtime(user, ScriptedLLM(otherwise=_answer), book, *tools)
    if types is not None:
        stage.at(6.5, types)
    return stage.run(25.0)


@pytest.mark.parametrize("at", [3.4, 3.6, 3.8])
def test_the_user_is_answered_although_a_tool_has_asked_for_a_reply(at: float) -> None:
    """The story ends at 5.65 s, as the model thinks about the joke. The tool's reply is next."""
    user = ScriptedUser().says("a table please", at=1.0).says("tell me a joke", at=at)
    outcome = _played(user)
    assert [h.text for h in outcome.heard] == [STORY, WAIT, f"{JOKE} {BOOKED}"], outcome.timeline()


def test_words_that_are_answered_with_typed_ones_are_not_answered_again() -> None:
    """They are typed at 6.5 s, before the floor is free: the model gets both to answer."""
    user = ScriptedUser().says("a table please", at=1.0).says("tell me a joke", at=3.6)
    outcome = _played(user, lambda s: s.session.generate_reply(user_input="just a joke") and None)
    jokes = sum(JOKE in heard.text for heard in outcome.heard)
    assert (jokes, outcome.heard[-1].text) == (1, BOOKED), outcome.timeline()


def test_a_reply_with_calls_has_taken_the_users_words_up() -> None:
    """Asked about the words again, the model would make their call a second time."""
    looked: list[str] = []
    look = tool("look", "seen", ran=looked)
    user = ScriptedUser().says("a table please", at=1.0).says("look at the menu", at=3.6)
    outcome = _played(user, None, look)
    assert looked == ["look"], outcome.timeline()


def test_a_commit_does_not_ask_again_about_words_that_a_reply_with_calls_has_taken_up() -> None:
    """The application asks for a reply while the model thinks about the words, and commits then. If
    the words stood behind the call, the model would make it again."""
    looked: list[str] = []
    look = tool("look", "seen", seconds=4.0, ran=looked)

    def answer(request: Request) -> Reply:
        last = request.shown[-1]
        asked = last.kind == "user" or "takes time" in last.text
        return Reply(WAIT, Call("look") if asked else (), ttft=1.0 if last.kind == "user" else 0.2)

    user = ScriptedUser().says("look at the menu", at=1.0)
    stage = realtime(user, ScriptedLLM(otherwise=answer), look)
    stage.at(2.8, lambda s: s.session.generate_reply(instructions="say it takes time") and None)
    stage.at(4.0, lambda s: s.session.commit_user_turn() and None)
    outcome = stage.run(25.0)
    assert looked == ["look"], outcome.timeline()


def test_a_call_is_not_taken_for_talked_over_when_a_commit_has_ended_the_models_own_answer() -> (
    None
):
    """The model is asked again at 2 s, and will not answer by itself. The call ends at once."""
    user = ScriptedUser().says("look at the menu", at=1.0, duration=0.4)
    look = tool("look", "seen", policy="finish")
    answers = ScriptedLLM({"menu": Reply("", Call("look"), ttft=0.6)}, {"look": JOKE})
    stage = realtime(user, answers, look)
    stage.at(2.0, lambda s: s.session.commit_user_turn() and None)
    outcome = stage.run(25.0)
    heard = outcome.heard_saying(JOKE)
    assert heard is not None
    assert heard.start < 3.2, outcome.timeline()


def test_words_that_another_reply_has_passed_over_make_their_call_once() -> None:
    """The tool's own reply stands behind the words as the call ends (243946). The reply that tells
    the result answers them."""
    listed: list[str] = []

    @function_tool
    async def list_all() -> str:
        """List the tables."""
        listed.append("list")
        return "listed"

    user = ScriptedUser().says("a table please", at=1.0).says("list all tables", at=3.6)
    outcome = _played(user, None, list_all)
    assert listed == ["list"], outcome.timeline()
    assert outcome.heard[-1].text == BOOKED, outcome.timeline()


def test_words_that_a_tools_reply_has_passed_over_are_answered_as_soon_as_their_turn_is_over() -> (
    None
):
    """The model will not answer them by itself. The tool ends 0.5 s into its reply, at 6.15 s."""

    @on_interruption("finish")
    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book a table."""
        await context.wait_for_playout()
        context.session.generate_reply(instructions="say that it takes time")
        await asyncio.sleep(0.5)
        return "booked"

    user = ScriptedUser().says("a table please", at=1.0).says("tell me a joke", at=3.6)
    outcome = _played(user, book=book)
    heard = outcome.heard_saying(JOKE)
    assert heard is not None
    assert heard.start < 8.0, outcome.timeline()


@pytest.mark.parametrize("passed_over", [False, True])
def test_the_step_before_a_handoff_leaves_the_users_words_to_the_next_agent(
    passed_over: bool,
) -> None:
    """The model is about to answer them when the call ends that hands over, at 5.65 s, or has given
    the answer up for the tool's own reply. Asked for the result, it would make no call for them."""
    looked: list[str] = []
    look = tool("look", "seen", ran=looked)

    @on_interruption("finish")
    @function_tool
    async def book(context: RunContext[Any]) -> tuple[Agent, str]:
        """Book a table."""
        await context.wait_for_playout()
        if passed_over:
            await context.session.generate_reply(instructions="say that it takes time")
        return Says("Hello.", tools=[look]), "booked"

    user = ScriptedUser().says("a table please", at=1.0).says("look at the menu", at=3.6)
    outcome = _played(user, None, look, book=book)
    (about,) = [r.shown[-1].text for r in outcome.requests if "result of book" in r.shown[-1].text]
    assert "answered by the next reply" in about, outcome.timeline()
    said = [heard.text for heard in outcome.heard if heard.text != WAIT]
    assert said[:4] == [STORY, BOOKED, "Hello.", "I look."], outcome.timeline()
    assert looked == ["look"], outcome.timeline()
