"""What the user says around a handoff is heard, whatever the handoff waits for."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from both import conversation
from livekit.agents import Agent, AgentTask, function_tool
from livekit.agents.llm import Toolset
from realtime_stage import Says, realtime
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)
from turnfsm.runtime.testing.livekit.tasks import complete

ANSWERS = {
    "reserve": Reply("", calls=Call("book")),
    "how long": "An hour.",
    "answered by the next reply": "It is booked.",
}
TOLD = {"book": "It is booked."}


def _stage(user: ScriptedUser, tool: Any, kind: str) -> Stage:
    """A conversation; at 3 s another agent takes over."""
    model = ScriptedLLM(ANSWERS, TOLD)

    def agent(**given: Any) -> Agent:
        return Agent(instructions="Help.", tools=[tool], **given)

    if kind == "pipeline":
        turns: Any = {"turn_detection": "vad"}
        stage = Stage(TurnSession, user=user, llm=model, turn_handling=turns, agent=agent)
    else:
        stage = realtime(user, model, detects=kind == "server", agent=agent)
    stage.at(3.0, lambda s: s.session.update_agent(agent(**conversation(s.session))))
    return stage


def _said(outcome: Outcome) -> list[str | None]:
    return [m.text_content for m in outcome.history.messages() if m.role == "user"]


def _booking(policy: Any, seconds: float) -> Any:
    return tool("book", "booked", seconds=seconds, policy=policy)


@pytest.mark.parametrize("policy", ["hold", "finish"])
def test_the_next_agent_answers_what_was_said_into_a_call_that_holds_its_turn(policy: Any) -> None:
    """The words are in the realtime model's input audio, which LiveKit clears at a handoff."""
    user = ScriptedUser().says("reserve a table", at=0.5).says("how long", at=2.0)
    outcome = _stage(user, _booking(policy, 4.0), "client").run(20.0)
    assert _said(outcome) == ["reserve a table", "how long"], outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["server", "client", "pipeline"])
@pytest.mark.parametrize("at", [2.0, 2.2, 2.7])
def test_a_sentence_that_a_handoff_cuts_into_is_heard_as_a_whole(kind: str, at: float) -> None:
    """The handoff comes before the end of the user's turn."""
    user = ScriptedUser().says("and please tell me how long", at=at)
    outcome = _stage(user, _booking("detach", 1.0), kind).run(15.0)
    assert _said(outcome) == ["and please tell me how long"], outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None


@pytest.mark.parametrize("kind", ["server", "client", "pipeline"])
def test_what_is_said_while_a_handoff_waits_for_a_released_call_is_heard(kind: str) -> None:
    """The application has interrupted the turn of the call; the agent closes when it has ended."""

    async def interrupt(stage: Stage) -> None:
        await stage.session.interrupt()

    user = ScriptedUser().says("reserve a table", at=0.5).says("how long", at=4.0)
    stage = _stage(user, _booking("detach", 5.0), kind)
    stage.at(2.5, interrupt)
    outcome = stage.run(25.0)
    assert _said(outcome) == ["reserve a table", "how long"], outcome.timeline()


@pytest.mark.parametrize("takes_over", ["the same model", "another model", "a pipeline"])
@pytest.mark.parametrize("greets", [False, True])
def test_the_next_agent_answers_what_a_model_was_about_to_answer_by_itself(
    takes_over: str, greets: bool
) -> None:
    """A handoff waits for a call, and LiveKit plays no reply that the model begins meanwhile."""
    user = ScriptedUser().says("reserve a table", at=0.5).says("how long", at=4.0)
    answers, voice = ScriptedLLM(ANSWERS, TOLD), ScriptedTTS()
    realtime = {"turn_detection": "realtime_llm"}
    first: Any = ScriptedRealtime(user, answers, voice)
    other: Any = ScriptedRealtime(user, answers, voice)
    next_llm = {"the same model": first, "another model": other, "a pipeline": answers}[takes_over]

    class Next(Agent):
        async def on_enter(self) -> None:
            if greets:
                await self.session.say("I go on.")

    def hand_over(stage: Stage) -> None:
        told = conversation(stage.session)
        agent = Next(instructions="Go on.", tools=[book], llm=next_llm, **told)
        stage.session.update_agent(agent)

    book = _booking("finish", 4.0)
    stage = Stage(
        *(TurnSession,),
        **{"user": user, "llm": first, "tts": voice, "turn_handling": realtime},
        agent=lambda: Agent(instructions="Help.", tools=[book]),
    )
    outcome = stage.at(3.0, hand_over).run(20.0)
    answer = outcome.heard_saying("An hour.")
    assert answer is not None, outcome.timeline()
    assert [heard.text for heard in outcome.heard].count("An hour.") == 1
    assert _said(outcome) == ["reserve a table", "how long"]
    if greets:
        greeting = outcome.heard_saying("I go on.")
        assert greeting is not None
        assert greeting.end <= answer.start


def test_words_that_were_not_recognised_are_lost_with_the_model_that_heard_them() -> None:
    """The next agent has another model, and there is no transcript: it answers nothing else."""
    user = ScriptedUser().says("reserve a table", at=0.5)
    user.says("how long", at=4.0, stt_delay=9.0)
    answers, voice = ScriptedLLM(ANSWERS, TOLD), ScriptedTTS()
    other: Any = ScriptedRealtime(user, answers, voice)
    stage = realtime(user, answers, _booking("finish", 4.0), tts=voice)
    stage.at(3.0, lambda s: s.session.update_agent(Agent(instructions="Go on.", llm=other)))
    outcome = stage.run(20.0)
    assert len(outcome.requests) == 3, [request.prompt for request in outcome.requests]
    assert any("took over before" in str(event) for event in outcome.events), outcome.timeline()


def test_a_turn_that_is_committed_during_a_handoff_is_answered_by_the_next_agent() -> None:
    """A realtime model has the words; LiveKit refuses the reply with a RuntimeError."""
    user = ScriptedUser().says("reserve a table", at=0.5).says("how long", at=4.0)
    book = _booking("finish", 4.0)
    stage = realtime(user, ScriptedLLM(ANSWERS, TOLD), book, detects=False, detection="manual")
    stage.at(3.0, lambda s: s.session.update_agent(Agent(instructions="Go on.", tools=[book])))
    for at in (2.0, 5.0):
        stage.at(at, lambda s: s.session.commit_user_turn() and None)
    outcome = stage.run(20.0)
    assert _said(outcome) == ["reserve a table", "how long"], outcome.timeline()
    assert [heard.text for heard in outcome.heard].count("An hour.") == 1


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", ["server", "client", "pipeline"])
@pytest.mark.parametrize("at", [1.75, 1.85, 2.2, 2.3, 2.4])
def test_a_sentence_that_has_just_ended_at_a_handoff_is_answered(kind: str, at: float) -> None:
    """The VAD has not noticed its end, and the next agent's hears only silence; or a model that
    detects turns was about to answer, and LiveKit interrupts it."""
    user = ScriptedUser().says("how long", at=at)
    outcome = _stage(user, _booking("detach", 1.0), kind).run(10.0)
    assert _said(outcome) == ["how long"], outcome.timeline()
    assert [heard.text for heard in outcome.heard] == ["An hour."]


class _Leaving(Agent):
    """Says something as it enters, and as it leaves."""

    async def on_enter(self) -> None:
        self.session.say("Welcome.")

    async def on_exit(self) -> None:
        await self.session.say("Goodbye for now.")


@pytest.mark.parametrize("can_pause", [True, False])
def test_what_an_agent_says_as_it_leaves_does_not_wait_for_words_that_have_come(
    can_pause: bool,
) -> None:
    """Two handoffs begin while the user speaks, and the words are for the last agent. They have cut
    the welcome. The user speaks again at 3.6 s, and would cut what still waits."""
    user = ScriptedUser().says("how long", at=1.0, duration=0.75, stt_delay=0.05)
    user.says("how long again", at=3.6, duration=0.6)

    def hand_over(stage: Stage) -> None:
        for following in (_Leaving(instructions="Help."), Agent(instructions="Go on.")):
            stage.session.update_agent(following)

    model, voice = ScriptedLLM(ANSWERS, TOLD), ScriptedTTS()
    stage = Stage(TurnSession, user=user, llm=model, tts=voice, can_pause=can_pause)
    outcome = stage.at(1.2, hand_over).run(20.0)
    goodbye = outcome.heard_saying("Goodbye for now.")
    assert goodbye is not None, outcome.timeline()
    assert goodbye.start < 3.0, outcome.timeline()


@pytest.mark.parametrize("can_pause", [True, False])
def test_what_an_agent_says_as_it_leaves_does_not_begin_before_words_that_cut_it(
    can_pause: bool,
) -> None:
    """The user goes on at 1.8 s. At 2.9 s what they have said before is kept for the next agent, at
    3.1 s the STT has recognised the rest (281736)."""
    user = ScriptedUser().says("how long", at=1.0, duration=0.4, stt_delay=0.2)
    user.says("how long again", at=1.8, duration=0.6, stt_delay=0.7)

    def hand_over(stage: Stage) -> None:
        stage.session.update_agent(Agent(instructions="Go on."))

    model, voice = ScriptedLLM(ANSWERS, TOLD), ScriptedTTS()
    leaving = partial(_Leaving, instructions="Help.")
    stage = Stage(TurnSession, user=user, llm=model, tts=voice, can_pause=can_pause, agent=leaving)
    outcome = stage.at(1.9, hand_over).run(20.0)
    assert [heard.text for heard in outcome.heard][1:] == ["An hour."], outcome.timeline()


def test_what_an_agent_says_as_it_leaves_waits_for_no_words_of_a_realtime_model() -> None:
    """The user speaks until 3.2 s. Their turn is kept, and the model gets it with the commit only:
    no words come before (290899)."""
    user = (
        ScriptedUser().says("how long", at=1.0, duration=0.9).says("please", at=2.3, duration=0.9)
    )
    leaving = partial(_Leaving, instructions="Help.")
    stage = realtime(user, ScriptedLLM(ANSWERS, TOLD), detects=False, agent=leaving)
    stage.at(1.5, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    outcome = stage.run(20.0)
    goodbye = outcome.heard_saying("Goodbye for now.")
    assert goodbye is not None, outcome.timeline()
    assert goodbye.start < 4.0, outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None


def test_the_next_agent_greets_when_no_words_can_come_any_more() -> None:
    """They are recognised at 2.9 s, after it has taken over, and would cut its greeting."""

    user = ScriptedUser().says("hello", at=1.0, duration=0.9, stt_delay=1.0)
    stage = Stage(TurnSession, user=user)
    stage.at(2.6, lambda s: s.session.update_agent(Says("I go on.")))
    assert stage.run(8.0).heard[0].start > 2.9


def test_an_agent_that_takes_its_time_to_enter_answers_what_is_due() -> None:
    """Its `on_enter` says nothing. The agent before has heard the user, and did not answer."""

    class Next(Agent):
        async def on_enter(self) -> None:
            await asyncio.sleep(2.0)

    user = ScriptedUser().says("reserve a table", at=0.5).says("how long", at=4.0)
    book = _booking("finish", 4.0)
    stage = realtime(user, ScriptedLLM(ANSWERS, TOLD), book)
    stage.at(3.0, lambda s: s.session.update_agent(Next(instructions="Go on.", tools=[book])))
    outcome = stage.run(20.0)
    assert outcome.heard_saying("An hour.") is not None, outcome.timeline()


class SlowTools(Toolset):
    """Tools that take a second to open, and another one to close."""

    def __init__(self) -> None:
        super().__init__(id="slow", tools=[])

    async def setup(self) -> SlowTools:
        """Connect."""
        await asyncio.sleep(1.0)
        return self

    async def aclose(self) -> None:
        """Disconnect."""
        await asyncio.sleep(1.0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["server", "client", "pipeline"])
@pytest.mark.parametrize("at", [3.3, 4.2, 4.7])
def test_what_is_said_while_no_agent_hears_is_answered_by_the_next_one(
    kind: str, at: float
) -> None:
    """From 3 to 5 s the tools of one agent are closed, and those of the next one are opened."""
    user = ScriptedUser().says("how long", at=at)
    model = ScriptedLLM(ANSWERS)

    def agent(**given: Any) -> Agent:
        return Agent(instructions="Help.", tools=[SlowTools()], **given)

    if kind == "pipeline":
        turns: Any = {"turn_detection": "vad"}
        stage = Stage(TurnSession, user=user, llm=model, turn_handling=turns, agent=agent)
    else:
        stage = realtime(user, model, detects=kind == "server", agent=agent)
    stage.at(3.0, lambda s: s.session.update_agent(agent(**conversation(s.session))))
    outcome = stage.run(15.0)
    assert _said(outcome) == ["how long"], outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None


class Slow(AgentTask[str]):
    """A task with such tools."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the name.", tools=[SlowTools()])

    async def on_enter(self) -> Any:
        await self.session.say("One moment.")
        return complete(self, "Ann")


@pytest.mark.parametrize("at", [1.8, 2.4, 4.2])
def test_what_is_said_as_a_task_begins_or_ends_is_heard(at: float) -> None:
    """The tools of the task are opened from 1.6 to 2.6 s, and closed from 3.6 to 4.6 s."""

    async def book() -> str:
        return f"booked for {await Slow()}"

    user = ScriptedUser().says("reserve", at=0.5).says("how long", at=at)
    model = ScriptedLLM({"reserve": Reply("", calls=Call("book")), "how long": "An hour."}, TOLD)
    turns: Any = {"turn_detection": "vad"}
    stage = Stage(
        TurnSession, user=user, llm=model, turn_handling=turns, tools=[function_tool(book)]
    )
    outcome = stage.run(15.0)
    assert _said(outcome) == ["reserve", "how long"], outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None


@pytest.mark.parametrize("at", [1.8, 2.1, 2.4, 2.8])
def test_an_agent_with_another_stt_hears_what_was_not_transcribed_and_nothing_twice(
    at: float,
) -> None:
    """LiveKit closes the STT's stream at the handoff, at 3 s, and drops what comes of it."""
    user = ScriptedUser().says("reserve", at=0.5).says("and how long is it", at=at)

    def agent() -> Agent:
        return Agent(instructions="Help.", stt=ScriptedSTT(user))

    turns: Any = {"turn_detection": "vad"}
    model = ScriptedLLM({"how long": "An hour."})
    stage = Stage(TurnSession, user=user, llm=model, turn_handling=turns, agent=agent)
    stage.at(3.0, lambda s: s.session.update_agent(agent()))
    outcome = stage.run(15.0)
    assert _said(outcome) == ["reserve", "and how long is it"], outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None
