"""Which words of the user a realtime model is shown last, and so answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import Agent, RunContext, function_tool
from realtime_stage import realtime
from scripted_tool import tool

from turnfsm.livekit import on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedUser,
)


@pytest.mark.parametrize("says_at", [1.2, 1.6, 1.85, 2.0, 2.1])
def test_words_are_answered_though_something_is_said_before_their_answer(says_at: float) -> None:
    """The application says something while the user speaks; it is heard after the user's words are
    committed. The model answers what comes last in its conversation."""
    user = ScriptedUser().says("is it open", at=1.0, duration=0.8)
    answers = ScriptedLLM({"is it open": "It is open until eight."})
    stage = realtime(user, answers, detects=False, detection="manual")
    stage.at(says_at, lambda s: s.session.say("One moment please."))
    stage.at(1.9, lambda s: s.session.commit_user_turn(transcript_timeout=0.5))
    outcome = stage.run(12.0)
    assert outcome.heard_saying("It is open until eight.") is not None, outcome.timeline()
    assert [request.shown[-1].text for request in outcome.requests] == ["is it open"]


@pytest.mark.parametrize("delay", [0.3, 1.5])
def test_words_whose_transcript_comes_after_their_answer_are_not_answered_again(
    delay: float,
) -> None:
    """A call of the turn before ends then, and the model is asked to tell its result. What the
    model has stays in its order, whatever the order in the agent's conversation."""

    @on_interruption("finish")
    @function_tool
    async def search(context: RunContext[Any]) -> str:
        """Search."""
        await context.update("searching")
        await asyncio.sleep(6.0)
        return "found"

    note = tool("note", "noted")
    user = ScriptedUser()
    user.says("find it", at=1.0, stt_delay=0.3).says("note it", at=2.8, stt_delay=delay)
    answers = ScriptedLLM(
        {
            "find it": Reply("I am looking for it now.", Call("search")),
            "note it": Reply("I note it.", Call("note")),
        },
        {"search": "I have it.", "note": "It is noted, and I will think of it tomorrow morning."},
        otherwise=Reply("Here is what I found."),
    )
    stage = realtime(user, answers, search, note, detects=False, detection="manual")
    stage.at(2.0, lambda s: s.session.commit_user_turn())
    stage.at(3.7, lambda s: s.session.commit_user_turn())
    outcome = stage.run(20.0)
    shown = next(r.shown for r in outcome.requests if any(e.text == "found" for e in r.shown))
    texts = [entry.text for entry in shown if entry.kind != "system"]
    assert texts[-1] == "found"
    assert texts.index("note it") < texts.index("I note it.")


def test_a_call_with_manual_turns_does_not_make_the_reply_begin_over_the_user() -> None:
    """The model answers while the user speaks on. Its call is made, and its reply is heard, when
    the voice has ended; what the user has said then is answered as well."""
    book = tool("book", "booked", seconds=0.05, policy="hold")
    user = ScriptedUser().says("book a table", at=1.0, duration=0.9)
    user.says("and call a taxi for us", at=2.5, duration=1.2)
    answers = ScriptedLLM(
        {
            "taxi": "A taxi comes.",
            "table": Reply("I book it.", calls=[Call("book")], ttft=0.6),
            "booked": "It is booked.",
        }
    )
    stage = realtime(user, answers, book, detects=False, detection="manual")
    for at in (2.0, 4.1):
        stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=0.5))
    outcome = stage.run(15.0)
    assert outcome.heard_saying("A taxi comes.") is not None, outcome.timeline()
    assert outcome.heard[0].start >= 3.7, outcome.timeline()


@pytest.mark.parametrize("ttft", [0.2, 0.4, 0.8])
def test_words_committed_while_a_reply_is_generated_are_answered(ttft: float) -> None:
    """The message of that reply comes into the model's conversation after the words, and the model
    answers what comes last."""
    user = ScriptedUser().says("is it open", at=1.0, duration=0.6)
    answers = ScriptedLLM(
        {"is it open": "It is open until eight.", "greet": Reply("Welcome.", ttft=ttft)}
    )
    stage = realtime(user, answers, detects=False, detection="manual")
    stage.at(1.9, lambda s: s.session.generate_reply(instructions="greet") and None)
    stage.at(2.05, lambda s: s.session.commit_user_turn(transcript_timeout=0.5))
    outcome = stage.run(12.0)
    assert outcome.heard_saying("It is open until eight.") is not None, outcome.timeline()
    assert [entry.text for entry in outcome.requests[-1].shown] == ["Welcome.", "is it open"]


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_a_call_that_holds_its_turn_for_a_moment_does_not_make_a_reply_heard_and_cut(
    seconds: float,
) -> None:
    """It is made when the voice has ended, and ends before it is decided that the user's turn has:
    that turn would cut the reply."""
    book = tool("book", "booked", seconds=seconds, policy="hold")
    user = ScriptedUser().says("book a table", at=1.0, duration=0.9)
    user.says("and call a taxi for us", at=2.5, duration=1.2)
    answers = ScriptedLLM(
        {
            "result of book": "It is booked, and a taxi comes.",
            "table": Reply("I book it for you now.", calls=[Call("book")], ttft=0.6),
        }
    )
    outcome = realtime(user, answers, book, detects=False).run(15.0)
    assert [heard.text for heard in outcome.heard] == ["It is booked, and a taxi comes."]


def test_a_reply_to_committed_audio_waits_no_longer_than_the_voice() -> None:
    """The user speaks while the model thinks. No words and no commit will interrupt the reply: it
    is heard as soon as the voice has ended, as on LiveKit."""
    user = ScriptedUser().says("is it open", at=1.0, duration=0.6)
    user.says("hm let me see", at=2.3, duration=0.9)
    answers = ScriptedLLM({"is it open": Reply("It is open until eight.", ttft=0.6)})
    stage = realtime(user, answers, detects=False, detection="manual")
    stage.at(2.0, lambda s: s.session.commit_user_turn(transcript_timeout=0.5))
    outcome = stage.run(12.0)
    voice_ends = max(at for at, state in outcome.user_states if state == "listening")
    assert outcome.heard[0].start == pytest.approx(voice_ends, abs=0.06), outcome.timeline()


def test_a_reply_with_instructions_does_not_answer_the_user() -> None:
    """The application asks for it while the agent's hook runs. The user is answered after it."""

    class Slow(Agent):
        async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
            await asyncio.sleep(1.5)

    user = ScriptedUser().says("is it open", at=1.0)
    answers = ScriptedLLM({"is it open": "It is open until eight.", "greet": "Welcome."})
    stage = realtime(user, answers, detects=False, agent=lambda: Slow(instructions="Help."))
    stage.at(3.0, lambda s: s.session.generate_reply(instructions="greet") and None)
    outcome = stage.run(12.0)
    heard = [said.text for said in outcome.heard]
    assert heard == ["Welcome.", "It is open until eight."], outcome.timeline()


def test_a_turn_that_is_kept_is_not_cleared() -> None:
    """It is in the audio that the model has heard, until the call has ended."""
    book = tool("book", "booked", seconds=5.0, policy="hold")
    user = ScriptedUser().says("reserve a table", at=1.0).says("is it open", at=4.0)
    answers = ScriptedLLM(
        {"reserve": Reply(calls=Call("book")), "is it open": "It is open until eight."}
    )
    stage = realtime(user, answers, book, detects=False)
    outcome = stage.at(6.0, lambda s: s.session.clear_user_turn()).run(15.0)
    said = [m.text_content for m in outcome.history.messages() if m.role == "user"]
    assert said == ["reserve a table", "is it open"], outcome.timeline()
