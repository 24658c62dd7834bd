"""Conversations that go wrong without one of the overrides, and that no other test plays."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent, AgentTask, RunContext, function_tool
from realtime_stage import realtime
from scripted_tool import tool

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
    request_problems,
)
from turnfsm.runtime.testing.livekit.tasks import complete

STORY = "Once upon a time there was a king who had three daughters and no sons."
JOKE, BOOKED = "Here is a joke for you.", "Your table is booked."


def test_a_state_whose_tuning_forbids_speculation_asks_the_model_when_the_turn_is_committed() -> (
    None
):
    """Also if the agent allows it."""
    tuned = "states: {listening: {tuning: {preemptive_generation: false}}}\n"
    flow = parsed(f"flow: tuned\nextends: turn\n{tuned}")
    handling: Any = {"preemptive_generation": {"enabled": True}}
    agent = partial(Agent, instructions="Help.", turn_handling=handling)
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    session: Any = partial(TurnSession, flow=flow)
    outcome = Stage(session, user=user, agent=agent).run(5)
    assert outcome.requests[0].at > 1.7, outcome.timeline()


def test_a_vad_that_fails_is_in_the_journal() -> None:
    """LiveKit only logs it."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, vad=ScriptedVAD(fails_at=2.0))
    stage.run(5)
    notes = stage.session.turn.journal.notes("component_failed")  # type: ignore[attr-defined]
    assert [note.data["part"] for note in notes] == ["vad"]


def test_speech_goes_on_when_a_call_disallows_interruptions_while_it_is_paused() -> None:
    """It goes on at once, and not when the noise is over."""

    @function_tool
    async def book(ctx: RunContext) -> str:
        """Book."""
        await asyncio.sleep(2.0)
        ctx.disallow_interruptions()
        return "booked"

    user = ScriptedUser().says("tell me a story", at=1.0).makes_noise(at=3.4, duration=2.5)
    model = ScriptedLLM({"story": Reply(STORY, calls=Call("book"))}, {"book": "It is booked."})
    tts = ScriptedTTS(durations={STORY: 6.0})
    outcome = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[book]).run(15)
    assert next(h.start for h in outcome.heard if h.start > 3.5) < 5.0, outcome.timeline()


@pytest.mark.parametrize(
    ("at", "speaking"),
    [((0.9, 1.2), (False, True)), ((1.2, 3.0), (True, False))],
    ids=["starts", "stops"],
)
def test_without_a_vad_the_stt_says_when_the_user_starts_and_stops(
    at: tuple[float, float], speaking: tuple[bool, bool]
) -> None:
    """The fact `user_speaking` follows it."""
    user, found = ScriptedUser().says("hello", at=1.0, duration=1.0), []
    ears = ScriptedSTT(user, ends_turns=True)
    stage = Stage(TurnSession, user=user, stt=ears, turn_handling={"turn_detection": "stt"})
    stage.vad = None  # type: ignore[assignment]
    for moment in at:
        stage.at(moment, lambda s: found.append(s.session.turn.holds("user_speaking")))
    stage.run(5)
    assert tuple(found) == speaking


def test_a_run_that_is_requested_while_a_task_ends_begins_when_the_agent_is_back() -> None:
    """The task belongs to a tool of the agent."""

    class Confirm(AgentTask[str]):
        def __init__(self) -> None:
            super().__init__(instructions="Confirm.")

        async def on_enter(self) -> Any:
            await asyncio.sleep(3.0)
            return complete(self, "yes")

    @function_tool
    async def book() -> str:
        """Book."""
        return await Confirm()

    async def run(stage: Stage) -> None:
        await stage.session.run(user_input="hello")
        stage.note("the run ends")

    model = ScriptedLLM({"book": Reply(calls=Call("book"))}, {"book": "It is booked."})
    stage = Stage(
        TurnSession, user=ScriptedUser().says("book", at=1.0), llm=model, tools=[book]
    ).at(3.0, run)
    assert stage.run(30).marks["the run ends"] <= 9.0


def test_a_request_about_words_that_are_cleared_stops() -> None:
    """The model was asked before the turn was committed."""
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    model = ScriptedLLM({"hello": Reply("Hi.", ttft=2.0)})
    ahead = {"preemptive_generation": {"enabled": True}}
    stage = Stage(TurnSession, user=user, llm=model, turn_handling=ahead)
    stage.at(1.45, lambda s: s.session.clear_user_turn())
    assert [request.outcome for request in stage.run(6.0).requests] == ["cancelled"]


def test_words_end_a_paused_speech_before_their_turn_ends() -> None:
    """It does not go on."""
    user = ScriptedUser().says("tell me a story", at=1.0).says("wait", at=6.0, duration=1.0)
    patient = {"endpointing": {"min_delay": 3.0, "max_delay": 3.0}}
    model, tts = ScriptedLLM({"story": STORY}), ScriptedTTS(durations={STORY: 6.0})
    stage = Stage(TurnSession, user=user, llm=model, tts=tts, turn_handling=patient)
    ended = next(speech.done for speech in stage.run(15).speeches if speech.interrupted)
    assert ended is not None
    assert ended < 7.5


class _Forgetful(Agent):
    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        turn_ctx.items[:] = [item for item in turn_ctx.items if item.type == "message"]


def test_what_the_agents_hook_takes_out_of_a_request_stays_out() -> None:
    """It takes an earlier call out."""
    user = ScriptedUser().says("have a look", at=1.0).says("how are you", at=5.0)
    model = ScriptedLLM({"look": Reply(calls=Call("look")), "how": "Fine."}, {"look": "There."})
    agent = lambda: _Forgetful(instructions="Help.", tools=[tool("look", "seen")])  # noqa: E731
    asked_once: Any = {"preemptive_generation": {"enabled": False}}
    stage = Stage(TurnSession, user=user, llm=model, agent=agent, turn_handling=asked_once)
    asked = next(r for r in stage.run(9.0).requests if r.prompt == "user: how are you")
    assert [item.type for item in asked.chat_ctx.items if item.type != "message"] == []


@pytest.mark.parametrize("of", ["say", "pipeline", "realtime"])
def test_the_journal_says_when_the_audio_of_a_speech_has_come(of: str) -> None:
    """Of whatever kind it is."""
    user, voice = ScriptedUser(), ScriptedTTS()
    model: Any = ScriptedLLM({"hello": STORY})
    if of != "say":
        user.says("hello", at=1.0)
    if of == "realtime":
        model = ScriptedRealtime(user, model, voice)
    stage = Stage(TurnSession, user=user, llm=model, tts=voice)
    if of == "say":
        stage.at(1.0, lambda s: s.session.say(STORY) and None)
    outcome = stage.run(12.0)
    noted = [*stage.session.turn.journal.notes("reply_audio")]  # type: ignore[attr-defined]
    assert len(noted) == len(outcome.heard) == 1


def test_the_answer_of_a_slow_model_stands_after_the_filler() -> None:
    """In the conversation, as it was heard."""
    flow = parsed("flow: f\nextends: turn\nfillers: {after: 1, say: Wait., in: thinking}\n")
    session: Any = partial(TurnSession, flow=flow, proof="off")
    model = ScriptedLLM({"hello": Reply(STORY, ttft=4.0)})
    stage = Stage(session, user=ScriptedUser().says("hello", at=1.0), llm=model)
    said = [text for text in stage.run(20.0).context if text.startswith("assistant: ")]
    assert said == ["assistant: Wait.", f"assistant: {STORY}"]


class _Errand(AgentTask[str]):
    """A task that is done at once."""

    def __init__(self) -> None:
        super().__init__(instructions="Do it.")

    async def on_enter(self) -> Any:
        return complete(self, "done")


@on_interruption("hold")
@function_tool
async def collect() -> str:
    """Have it collected."""
    return await _Errand()


def test_a_call_in_a_reply_that_a_handoff_skips_has_an_output() -> None:
    """A realtime model replies by itself while a task takes over; LiveKit skips the reply."""
    user = ScriptedUser().says("collect it", at=0.5).says("reserve a table", at=2.5)
    answers = {
        "collect": Reply("I have it collected for you at once.", calls=Call("collect")),
        "reserve": Reply(calls=Call("reserve")),
    }
    model = ScriptedLLM(answers, {"reserve": "It is reserved.", "collect": "It is done."})
    items = realtime(user, model, collect, tool("reserve", "reserved")).run(15.0).realtime_ctx.items
    made = {item.call_id for item in items if item.type == "function_call"}
    assert made <= {item.call_id for item in items if item.type == "function_call_output"}


def test_a_response_that_is_cut_as_it_begins_is_forgotten() -> None:
    """The interruption comes between the creation of a response and its speech."""

    async def cut(stage: Stage) -> None:
        for _ in range(2):
            await asyncio.sleep(0)
        stage.session.interrupt()

    answers = ScriptedLLM({"table": Reply(calls=Call("book"), duration=0.0)})
    stage = realtime(ScriptedUser(), answers, tool("book", "booked"))
    stage.at(2.0, lambda s: s.session.generate_reply(user_input="a table") and None)
    stage.at(2.2, cut).run(8)
    (model,) = stage.llm.sessions  # type: ignore[union-attr]
    assert request_problems(model.chat_ctx, realtime=True) == []


def test_a_response_with_a_call_that_nobody_heard_is_forgotten() -> None:
    """It waits behind a story when the user speaks: the call was never made."""
    user = ScriptedUser().says("book a table", at=1.0).says("well", at=4.0)
    rules: Any = {"table": Reply("At once.", calls=Call("book")), "well": "Yes?"}
    answers = ScriptedLLM(rules, believes=False)  # it would call again, and rightly
    stage = realtime(user, answers, tool("book", "booked"))
    stage.at(2.45, lambda s: s.session.say(STORY) and None).run(10)
    (model,) = stage.llm.sessions  # type: ignore[union-attr]
    lines = [(item.type, getattr(item, "text_content", "")) for item in model.chat_ctx.items]
    assert [line for line in lines if line[0] != "message" or line[1] == "At once."] == []


def test_a_model_that_is_asked_for_something_else_is_shown_a_result_that_has_come() -> None:
    """The call beside it still runs."""
    look, book = tool("look", "seen"), tool("book", "booked", seconds=9.0)
    rules: Any = {"table": Reply(calls=(Call("look"), Call("book"))), "else": "What else?"}
    stage = realtime(ScriptedUser().says("book a table", at=1.0), ScriptedLLM(rules), look, book)
    stage.at(4.0, lambda s: s.session.generate_reply(user_input="something else") and None)
    asked = next(r for r in stage.run(16).requests if "else" in r.prompt)
    assert asked.at <= 4.5
    shown = request_problems(asked.chat_ctx, realtime=True)
    assert [line for line in shown if "look" in line] == []


def _tell(request: Request) -> Reply:
    """By what it is shown last. It tells the result if it is asked to."""
    *_, last = request.shown
    words = [entry.text for entry in request.shown[-2:] if entry.kind == "user"]
    asks = ("New results arrived", "result of book")
    asked = last.kind == "system" and any(text in last.text for text in asks)
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

    return realtime(user, ScriptedLLM(otherwise=_tell), book, detects=detects).run(20.0)


@pytest.mark.parametrize("seconds", [2.9, 3.4], ids=["in a pause", "before the answer"])
def test_a_late_result_waits_for_a_model_that_detects_turns(seconds: float) -> None:
    """A request would be given up when the model answers the user, and nobody would hear of the
    result."""
    user = ScriptedUser().says("book a table", at=1.0)
    user.says("well", at=4.2, duration=0.3).says("tell me a joke", at=4.8, duration=0.6)
    outcome = _late(user, seconds, detects=True)
    assert [heard.text for heard in outcome.heard] == ["Yes.", "Yes.", JOKE, BOOKED]
    assert outcome.errors == []


def test_a_late_result_that_an_answer_has_told_is_not_told_again() -> None:
    """LiveKit asks for a reply to it when nobody speaks."""
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=4.3)
    outcome = _late(user, 3.0, detects=False)
    assert [heard.text for heard in outcome.heard] == ["Yes.", "Yes.", f"{JOKE} {BOOKED}"]
