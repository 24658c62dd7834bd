"""A reply that is asked for before the user's turn is committed."""

from __future__ import annotations

import asyncio
from typing import Any

from both import hearing_session
from livekit.agents import Agent, RunContext, function_tool
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "Once upon a time there was a lighthouse."
NOTICE = "This call is recorded for quality and for training purposes."
EARLY = {"preemptive_generation": {"enabled": True}}


def _asked(outcome: Outcome, words: str) -> list[float]:
    """When the model was asked with these words as the latest."""
    return [request.at for request in outcome.requests if request.shown[-1].text == words]


def test_it_is_asked_for_when_the_speech_that_the_user_interrupts_has_ended() -> None:
    """The transcript interrupts the paused speech. The model is asked as soon as what was heard of
    it is in the conversation."""
    user = ScriptedUser().says("tell me a story", at=1.0, duration=1.0, stt_delay=0.1)
    user.says("and the weather", at=5.0, duration=1.0, stt_delay=0.1)
    model = ScriptedLLM({"story": STORY, "weather": "It rains."})
    stage = Stage(
        TurnSession,
        user=user,
        llm=model,
        tts=ScriptedTTS(durations={STORY: 8.0}),
        turn_handling=EARLY,
    )
    outcome = stage.run(12.0)
    assert _asked(outcome, "and the weather") == [6.1], outcome.timeline()
    shown = [(entry.kind, entry.text) for entry in outcome.requests[-1].shown]
    assert shown[-2] == ("assistant", "Once upon a"), outcome.timeline()


def test_it_is_asked_for_when_no_reply_follows_a_call() -> None:
    """A tool has returned None, and the user speaks in that moment."""
    note = tool("note", seconds=0.5)
    user = ScriptedUser().says("take a note", at=1.0, duration=1.0, stt_delay=0.1)
    user.says("and the weather", at=2.6, duration=0.4, stt_delay=0.1)
    model = ScriptedLLM({"note": Reply(calls=[Call("note")]), "weather": "It rains."})
    stage = Stage(TurnSession, user=user, llm=model, tools=[note], turn_handling=EARLY)
    outcome = stage.run(8.0)
    assert _asked(outcome, "and the weather") == [3.25], outcome.timeline()  # after `handover`


def test_it_is_asked_with_the_words_that_were_kept() -> None:
    """They are committed with those that come now: otherwise the model is asked twice."""
    user = ScriptedUser().says("what about tomorrow", at=2.0)
    user.says("and on Sunday", at=5.0, duration=0.9, stt_delay=0.3)
    model = ScriptedLLM({"Sunday": "It rains and then it does not."})
    stage = Stage(
        hearing_session,
        user=user,
        llm=model,
        tts=ScriptedTTS(durations={NOTICE: 5.0}),
        turn_handling=EARLY,
    )
    stage.at(0.5, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    outcome = stage.run(15.0)
    assert _asked(outcome, "what about tomorrow and on Sunday") == [6.2], outcome.timeline()
    assert outcome.warnings == []


def test_a_reply_that_begins_before_it_does_not_wait_for_its_calls() -> None:
    """The agent asks for another reply in the moment in which the turn is answered. That reply is
    spoken first; the one that was prepared makes its call behind it."""
    note = tool("note", "noted")

    class Asks(Agent):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            self.session.generate_reply(user_input="what is new")

    user = ScriptedUser().says("take a note", at=1.0, duration=1.0, stt_delay=0.1)
    noted = Reply(calls=[Call("note")])
    model = ScriptedLLM({"new": "A lighthouse.", "note": noted}, {"note": "It is noted."})
    stage = Stage(
        TurnSession,
        user=user,
        llm=model,
        agent=lambda: Asks(instructions="Help.", tools=[note]),
        turn_handling=EARLY,
    )
    outcome = stage.run(12.0)
    assert [heard.text for heard in outcome.heard] == ["A lighthouse.", "It is noted."]


def test_it_is_not_asked_for_before_the_calls_of_the_interrupted_step_are_in_the_conversation() -> (
    None
):
    """The words of the user interrupt a reply that is not heard yet. Its tool continues in the
    background. LiveKit drops a request without that call, with a warning."""

    @function_tool
    async def note(ctx: RunContext[Any]) -> None:
        """Take a note."""
        await ctx.update("I am writing")
        await asyncio.sleep(3.0)

    user = ScriptedUser().says("take a note", at=3.0, duration=0.9, stt_delay=1.5)
    user.says("and the weather", at=5.4, duration=0.9, stt_delay=0.6)
    model = ScriptedLLM(
        {"note": Reply("I see to it.", calls=[Call("note")], ttft=0.2), "weather": "It rains."}
    )
    stage = Stage(TurnSession, user=user, llm=model, tools=[note], turn_handling=EARLY)
    outcome = stage.run(15.0)
    assert not [text for _, text in outcome.warnings if "invalidated" in text]
    assert "It rains." in [heard.text for heard in outcome.heard], outcome.timeline()


def test_it_stands_if_later_words_come_while_the_turn_is_looked_at() -> None:
    """The turn is committed at 1.9 s, and the agent's hook takes a second. The reply was asked for
    ahead; nothing is asked for ahead about words that come meanwhile."""

    class Looks(Agent):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            await asyncio.sleep(1.0)

    user = ScriptedUser().says("tell me a story", at=0.5, duration=0.9, stt_delay=0.3)
    user.says("please", at=2.1, duration=0.3, stt_delay=0.3)
    model = ScriptedLLM({"story": STORY, "please": "Yes."})
    agent = Looks(instructions="Help.")
    stage = Stage(TurnSession, user=user, llm=model, agent=agent, turn_handling=EARLY)
    outcome = stage.run(8.0)
    assert len(_asked(outcome, "tell me a story")) == 1, outcome.timeline()


def test_nothing_is_asked_for_words_that_are_too_few_to_interrupt() -> None:
    """The story is heard to its end. LiveKit keeps the word for the user's next turn."""
    user = ScriptedUser().says("tell me a story", at=1.0, duration=1.0, stt_delay=0.1)
    user.says("yes", at=3.0, duration=0.6, stt_delay=0.1)
    user.says("and the weather", at=8.0, duration=1.0, stt_delay=0.1)
    model = ScriptedLLM({"story": STORY, "weather": "It rains."})
    outcome = Stage(
        TurnSession,
        user=user,
        llm=model,
        turn_handling={**EARLY, "interruption": {"min_words": 2}},
    ).run(14.0)
    assert _asked(outcome, "yes") == [], outcome.timeline()
    assert [heard.text for heard in outcome.heard] == [STORY, "It rains."]
    assert _asked(outcome, "yes and the weather") != []
