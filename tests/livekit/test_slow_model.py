"""Fillers while the model is slow: the reply lets them go first, and comes no later."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent, APIConnectionError, function_tool, llm

from turnfsm.fsm import Flow
from turnfsm.fsm.journal import replay
from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

WAIT = "One moment, please."
ANSWER = "Your table is booked."
ASKED = 2.1
"""When the model is asked, if the user says "a table" at 1.0."""


def flow_of(fillers: str, extends: str = "turn") -> Flow:
    return parsed(f"flow: mine\nextends: {extends}\nfillers: {fillers}\n")


SLOW = flow_of(f'{{after: 1.5, say: "{WAIT}", in: thinking}}')


def play(
    flow: Any,
    seconds: float,
    user: ScriptedUser | None = None,
    lasts: float = 1.2,
    until: float = 20.0,
    model: ScriptedLLM | None = None,
    tools: Sequence[Any] = (),
    **options: Any,
) -> tuple[Outcome, Stage]:
    answers = {"a table": Reply(ANSWER, ttft=seconds), "never mind": "As you like."}
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=user or ScriptedUser().says("a table", at=1.0),
        llm=model or ScriptedLLM(answers),
        tts=ScriptedTTS(durations={WAIT: lasts}),
        agent=lambda: Agent(instructions="Book tables.", tools=list(tools)),
        **options,
    )
    outcome = stage.run(until)
    assert outcome.orphans == ()
    session: Any = stage.session
    assert replay(session.turn.journal.read(), session.turn.flow) is None
    return outcome, stage


def said(outcome: Outcome, text: str) -> list[tuple[float, float]]:
    return [(round(h.start, 2), round(h.end, 2)) for h in outcome.heard if h.text == text]


def test_a_slow_model_is_bridged_after_a_second_and_a_half() -> None:
    outcome, stage = play(SLOW, 5.0)
    ((start, end),) = said(outcome, WAIT)
    assert start == pytest.approx(ASKED + 1.5 + 0.1, abs=0.05), outcome.timeline()
    assert [one.start > end for one in outcome.heard if one.text == ANSWER] == [True]
    assert outcome.errors == []
    context = [line for line in outcome.context if line.startswith("assistant: ")]
    assert context == [f"assistant: {WAIT}", f"assistant: {ANSWER}"]
    assert stage.session.user_turns["replied"] == 1


def test_a_quick_model_is_not_bridged() -> None:
    outcome, _ = play(SLOW, 1.2)
    assert said(outcome, WAIT) == []
    assert said(outcome, ANSWER) == said(play("turn", 1.2)[0], ANSWER)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seconds", [1.45, 1.5, 1.55, 1.65, 1.8, 2.0, 2.3, 2.6, 3.0, 4.5, 6.0])
@pytest.mark.parametrize("lasts", [0.6, 3.0])
def test_an_answer_comes_at_most_three_tenths_later(seconds: float, lasts: float) -> None:
    """Whenever the model begins: before the filler is heard, while it plays, and after it."""
    ((before, _),) = said(play("turn", seconds)[0], ANSWER)
    outcome, stage = play(SLOW, seconds, lasts=lasts)
    ((start, _),) = said(outcome, ANSWER)
    assert start <= before + 0.301, outcome.timeline()
    assert outcome.errors == []
    assert stage.session.user_turns["replied"] == 1


def test_the_filler_is_dropped_if_the_answer_begins_before_it_is_heard() -> None:
    """Its voice takes 0.1 s to begin."""
    outcome, _ = play(SLOW, 1.55)
    assert [one.text for one in outcome.heard] == [ANSWER]
    assert WAIT not in " ".join(outcome.context)


def test_it_is_said_once_a_turn() -> None:
    user = ScriptedUser().says("a table", at=1.0).says("a table", at=14.0)
    outcome, _ = play(SLOW, 8.0, user=user, until=30.0)
    assert [start > 14.0 for start, _ in said(outcome, WAIT)] == [False, True], outcome.timeline()
    assert len(said(outcome, ANSWER)) == 2


def test_a_second_filler_counts_from_the_first() -> None:
    longer = "It takes a little longer."
    flow = flow_of(
        f'[{{after: 1.5, say: "{WAIT}", in: thinking}}, {{after: 4, say: {longer}, in: thinking}}]'
    )
    outcome, _ = play(flow, 12.0)
    ((_, end),) = said(outcome, WAIT)
    ((start, _),) = said(outcome, longer)
    assert start == pytest.approx(end + 4.0 + 0.1, abs=0.1), outcome.timeline()
    assert len(said(outcome, ANSWER)) == 1


def test_a_user_who_interrupts_the_filler_is_answered_once() -> None:
    """The reply that waits behind the filler is replaced, as if it had the floor."""
    user = ScriptedUser().says("a table", at=1.0).says("never mind that then", at=4.0)
    outcome, stage = play(SLOW, 9.0, user=user, lasts=3.0, until=25.0)
    (cut,) = [one for one in outcome.heard if one.start < 4.0]
    assert cut.end < 5.0, outcome.timeline()
    assert [one.text for one in outcome.heard[1:]] == ["As you like."], outcome.timeline()
    assert stage.session.user_turns["superseded"] == 1


def test_after_a_cough_over_the_filler_the_answer_comes() -> None:
    user = ScriptedUser().says("a table", at=1.0).makes_noise(at=4.0, duration=0.8)
    outcome, _ = play(SLOW, 4.0, user=user, lasts=3.0)
    assert len(said(outcome, ANSWER)) == 1, outcome.timeline()


def test_a_model_that_fails_while_the_filler_is_heard_ends_the_turn() -> None:
    model = ScriptedLLM(
        {"a table": Reply(error=APIConnectionError("gone", retryable=False), ttft=2.2)}
    )
    outcome, stage = play(SLOW, 0, model=model, lasts=2.0)
    assert [one.text for one in outcome.heard] == [WAIT], outcome.timeline()
    assert stage.session.user_turns["dropped"] == 1
    assert stage.session.turn.state == "listening"


def test_an_application_that_interrupts_stops_the_filler_and_the_reply() -> None:
    model = ScriptedLLM({"a table": Reply(ANSWER, ttft=6.0)})
    stage = Stage(
        partial(TurnSession, flow=SLOW, proof="off"),
        user=ScriptedUser().says("a table", at=1.0),
        llm=model,
        tts=ScriptedTTS(durations={WAIT: 2.0}),
    ).at(4.5, lambda stage: stage.session.interrupt())
    outcome = stage.run(15.0)
    assert [one.text for one in outcome.heard if one.text == ANSWER] == [], outcome.timeline()
    assert outcome.orphans == ()


class Desk(Agent):
    """Its tool takes some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(instructions="Book tables.")
        self.seconds = seconds

    @function_tool
    async def book(self) -> str:
        """Book a table."""
        await asyncio.sleep(self.seconds)
        return "booked"


BOTH = flow_of(f'{{after: 1.5, say: "{WAIT}", in: [thinking, tool_running]}}')


def booked(
    flow: Any, call: float, tool: float, answer: float, lasts: float = 1.2, **options: Any
) -> Outcome:
    """A call of the model after some seconds, a tool, and the model's answer."""
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off", **options),
        user=ScriptedUser().says("a table", at=1.0),
        llm=ScriptedLLM(
            {"a table": Reply(calls=Call("book"), ttft=call)},
            on_tool={"book": Reply(ANSWER, ttft=answer)},
        ),
        tts=ScriptedTTS(durations={WAIT: lasts}),
        agent=lambda: Desk(tool),
    )
    outcome = stage.run(25.0)
    assert outcome.errors == [], outcome.timeline()
    assert outcome.orphans == ()
    assert len(said(outcome, ANSWER)) == 1, outcome.timeline()
    session: Any = stage.session
    assert replay(session.turn.journal.read(), session.turn.flow) is None
    return outcome


@pytest.mark.parametrize(
    ("call", "tool", "answer"), [(1.0, 3.0, 0.3), (0.3, 1.0, 4.0), (0.9, 0.3, 3.0)]
)
def test_the_seconds_of_model_and_tool_count_together(
    call: float, tool: float, answer: float
) -> None:
    outcome = booked(BOTH, call, tool, answer)
    ((start, _),) = [(h.start, h.end) for h in outcome.heard if h.text != ANSWER]
    assert start == pytest.approx(ASKED + 1.5 + 0.1, abs=0.05), outcome.timeline()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("call", [1.4, 1.55, 1.7, 2.0, 2.5, 3.0])
@pytest.mark.parametrize("answer", [0.3, 1.6, 2.5])
def test_a_call_and_its_answer_come_at_most_three_tenths_later(call: float, answer: float) -> None:
    before = said(booked("turn", call, 1.0, answer), ANSWER)[0][0]
    outcome = booked(BOTH, call, 1.0, answer)
    assert said(outcome, ANSWER)[0][0] <= before + 0.301, outcome.timeline()
    assert len(outcome.heard) <= 2, outcome.timeline()


@pytest.mark.parametrize("call", [1.65, 1.8, 2.3, 2.6])
def test_a_call_does_not_end_the_filler(call: float) -> None:
    """It has nothing to say. The tool runs beside the filler."""
    outcome = booked(BOTH, call, 3.0, 0.3)
    ((start, end),) = said(outcome, WAIT)
    assert end - start == pytest.approx(1.2, abs=0.05), outcome.timeline()
    assert said(outcome, ANSWER) == said(booked("turn", call, 3.0, 0.3), ANSWER)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tool", [0.05, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("call", [1.65, 2.3])
def test_an_answer_ends_the_filler_beside_which_its_tool_ran(call: float, tool: float) -> None:
    ((before, _),) = said(booked("turn", call, tool, 0.3), ANSWER)
    outcome = booked(BOTH, call, tool, 0.3, lasts=4.0)
    assert said(outcome, ANSWER)[0][0] <= before + 0.301, outcome.timeline()


def test_a_call_and_then_text_wait_for_the_floor() -> None:
    """The text is not heard over the filler."""
    model = ScriptedLLM({"a table": "I look."}, on_tool={"book": ANSWER}, otherwise="As you like.")

    class Calls(Desk):
        async def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> Any:
            own = Agent.default.llm_node(self, chat_ctx, tools, model_settings)
            if chat_ctx.items[-1].type == "function_call_output":
                async for chunk in own:
                    yield chunk
                return
            await asyncio.sleep(2.0)
            call = llm.FunctionToolCall(name="book", arguments="{}", call_id="one")
            yield llm.ChatChunk(id="1", delta=llm.ChoiceDelta(role="assistant", tool_calls=[call]))
            await asyncio.sleep(0.2)
            async for chunk in own:
                yield chunk

    stage = Stage(
        partial(TurnSession, flow=BOTH, proof="off"),
        user=ScriptedUser().says("a table", at=1.0),
        llm=model,
        tts=ScriptedTTS(durations={WAIT: 3.0}),
        agent=lambda: Calls(1.0),
    )
    outcome = stage.run(20.0)
    assert [one.text for one in outcome.heard][1:] == ["I look.", ANSWER], outcome.timeline()
    assert outcome.heard[0].end <= outcome.heard[1].start, outcome.timeline()
    assert outcome.errors == []
    assert outcome.orphans == ()


@pytest.mark.parametrize("interrupts", ["user", "application"])
def test_an_interruption_of_the_filler_is_one_of_a_turn_with_a_tool(interrupts: str) -> None:
    """As if the tool had begun before the filler: what the user says is answered."""
    user = ScriptedUser().says("a table", at=1.0)
    if interrupts == "user":
        user.says("never mind that then", at=5.0)
    stage = Stage(
        partial(TurnSession, flow=BOTH, proof="off"),
        user=user,
        llm=ScriptedLLM(
            {"a table": Reply(calls=Call("book"), ttft=2.3), "never mind": "As you like."},
            on_tool={"book": ANSWER},
        ),
        tts=ScriptedTTS(durations={WAIT: 4.0}),
        agent=lambda: Desk(6.0),
    )
    if interrupts == "application":
        stage.at(5.5, lambda stage: stage.session.interrupt())
    outcome = stage.run(25.0)
    told = ["As you like."] if interrupts == "user" else []
    assert [one.text for one in outcome.heard][1:2] == told, outcome.timeline()
    assert outcome.heard[0].end < 6.5, outcome.timeline()
    assert outcome.errors == []
    assert outcome.orphans == ()
    assert stage.session.turn.state == "listening"


@pytest.mark.parametrize("extends", ["turn", "overlap", "half_duplex", "uninterruptible"])
def test_it_works_with_other_flows(extends: str) -> None:
    outcome, _ = play(flow_of(f'{{after: 1.5, say: "{WAIT}", in: thinking}}', extends), 5.0)
    assert [one.text for one in outcome.heard] == [WAIT, ANSWER], outcome.timeline()


def test_it_works_with_a_preemptive_reply() -> None:
    handling = {"preemptive_generation": {"enabled": True}}
    user = ScriptedUser().says("a table", at=1.0, stt_delay=0.05)
    outcome, _ = play(SLOW, 5.0, user=user, turn_handling=handling)
    assert outcome.requests[0].at < 1.7
    assert [one.text for one in outcome.heard] == [WAIT, ANSWER], outcome.timeline()


def test_a_reply_that_no_user_waits_for_is_not_bridged() -> None:
    """A greeting that the application has instructions for."""
    stage = Stage(
        partial(TurnSession, flow=SLOW, proof="off"),
        user=ScriptedUser(),
        llm=ScriptedLLM(otherwise=Reply(ANSWER, ttft=5.0)),
        tts=ScriptedTTS(),
    ).at(0.5, lambda stage: stage.session.generate_reply(instructions="Greet."))
    assert [one.text for one in stage.run(12.0).heard] == [ANSWER]


class Holds(Agent):
    """It holds each turn for so many seconds before the model is asked."""

    def __init__(self, seconds: float) -> None:
        super().__init__(instructions="Book tables.")
        self.seconds = seconds

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await asyncio.sleep(self.seconds)


@pytest.mark.parametrize(
    ("holds", "model", "said"), [(4.0, 0.1, True), (1.0, 2.0, True), (1.0, 0.2, False)]
)
def test_a_turn_that_the_application_holds_is_bridged(
    holds: float, model: float, said: bool
) -> None:
    """Its seconds and those of the model count together."""
    flow = flow_of(f'{{after: 1.5, say: "{WAIT}", in: [listening, thinking]}}')
    handling = {"preemptive_generation": {"enabled": False}}
    user = ScriptedUser().says("a table", at=1.0).says("a table", at=14.0)
    outcomes = []
    for its in (flow, "turn"):
        stage = Stage(
            partial(TurnSession, flow=its, proof="off"),
            user=user,
            llm=ScriptedLLM({"a table": Reply(ANSWER, ttft=model)}),
            tts=ScriptedTTS(durations={WAIT: 1.2}),
            agent=lambda: Holds(holds),
            turn_handling=handling,
        )
        outcomes.append(stage.run(28.0))
    filled, alone = ([one.text for one in outcome.heard] for outcome in outcomes)
    assert alone == [ANSWER, ANSWER], outcomes[1].timeline()
    assert filled == ([WAIT, ANSWER] * 2 if said else alone), outcomes[0].timeline()
    start = next(one.start for one in outcomes[0].heard if one.text == ANSWER)
    assert start <= outcomes[1].heard[0].start + 0.3


def test_a_filler_that_is_due_when_the_reply_gets_the_floor_goes_first() -> None:
    """The user waits for a tool; a turn is deferred until it has ended. Before, nobody was heard
    any more."""

    @on_interruption("hold")
    @function_tool
    async def book() -> str:
        """Book."""
        await asyncio.sleep(4.0)
        return "booked"

    user = ScriptedUser().says("a table", at=1.0).says("never mind", at=4.5)
    answers = {"a table": Reply(calls=Call("book")), "never mind": Reply(ANSWER, ttft=1.5)}
    flow = flow_of(f'{{after: 1.5, say: "{WAIT}", in: [thinking, tool_running]}}')
    outcome, _ = play(flow, 0.0, user, 0.6, model=ScriptedLLM(answers), tools=[book])
    assert outcome.errors == []
    ((_, end), *_) = reversed(said(outcome, WAIT))
    assert [heard.start >= end for heard in outcome.heard if heard.text == ANSWER] == [True]
