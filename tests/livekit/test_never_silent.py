"""The section `never_silent`: a user who waits hears something at least every four seconds."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent, function_tool
from outcomes import heard as said
from outcomes import run

from turnfsm.fsm import Flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

STILL, MORE, SORRY = "Still with you.", "It takes a little longer.", "Sorry, please say it again."
ANSWER = "Your table is booked."
HEAD = "flow: mine\nextends: turn\n"
SECTION = f'never_silent: {{after: 4, say: [{STILL}, {MORE}], give_up: "{SORRY}"}}\n'
LATE = 0.3
"""Seconds that the voice of the kit takes to begin, and some for the session."""


class Desk(Agent):
    """Its tool takes some seconds, each time the next ones."""

    def __init__(self, *seconds: float) -> None:
        super().__init__(instructions="Book tables.")
        self.seconds = list(seconds)

    @function_tool
    async def book(self) -> str:
        """Book a table."""
        await asyncio.sleep(self.seconds.pop(0))
        return "booked"


def flow_of(text: str = SECTION) -> Flow:
    return parsed(HEAD + text)


def play(
    model: ScriptedLLM,
    *seconds: float,
    user: ScriptedUser | None = None,
    until: float = 30.0,
    flow: Flow | None = None,
    **options: Any,
) -> Outcome:
    stage = Stage(
        partial(TurnSession, flow=flow or flow_of(), proof="off"),
        user=user or ScriptedUser().says("a table", at=1.0),
        llm=model,
        agent=lambda: Desk(*seconds),
        **options,
    )
    return run(stage, until)


def longest_silence(outcome: Outcome, start: float, end: float) -> float:
    """Seconds between what was heard of the agent."""
    heard = [one for one in outcome.heard if one.start < end]
    moments = [start, *(moment for one in heard for moment in (one.start, one.end)), end]
    return max(b - a for a, b in zip(moments[::2], moments[1::2], strict=True))


def calls(times: int, **options: Any) -> ScriptedLLM:
    """A model that makes as many calls, one after the other, and then answers."""
    results = iter([*[Reply(calls=Call("book"), **options)] * (times - 1), ANSWER])
    return ScriptedLLM(
        {"a table": Reply(calls=Call("book"), **options)},
        on_tool={"book": lambda request: next(results)},
        believes=False,
    )


def test_a_long_tool_is_bridged_again_and_again() -> None:
    outcome = play(calls(1), 17.0)
    assert said(outcome) == [STILL, MORE, STILL, ANSWER], outcome.timeline()
    assert longest_silence(outcome, 2.0, outcome.heard[-1].start) <= 4.0 + LATE


def test_several_short_tools_are_bridged_as_one_wait() -> None:
    """None of them takes four seconds."""
    outcome = play(calls(4), 2.5, 2.5, 2.5, 2.5)
    assert said(outcome)[-1] == ANSWER
    assert STILL in said(outcome), outcome.timeline()
    assert longest_silence(outcome, 2.0, outcome.heard[-1].start) <= 4.0 + LATE


@pytest.mark.parametrize("seconds", [0.5, 3.4])
def test_a_model_that_answers_in_time_is_not_given_up(seconds: float) -> None:
    model = ScriptedLLM({"a table": Reply(ANSWER, ttft=seconds)})
    assert said(play(model)) == [ANSWER]


def test_a_model_that_gives_nothing_is_given_up() -> None:
    """The user hears why, and may say it again."""
    answers = iter([Reply(ANSWER, ttft=25.0), Reply(ANSWER)])
    model = ScriptedLLM({"a table": lambda request: next(answers)})
    user = ScriptedUser().says("a table", at=1.0).says("a table please", at=12.0)
    outcome = play(model, user=user)
    assert said(outcome) == [SORRY, ANSWER], outcome.timeline()
    assert longest_silence(outcome, 2.0, outcome.heard[0].start) <= 4.0 + LATE


def test_a_slow_model_after_tools_is_given_up_in_time() -> None:
    """What the tools took counts: it is one silence for the user."""
    outcome = play(calls(3, ttft=1.0), 1.0, 1.0, 1.0)
    assert longest_silence(outcome, 2.0, outcome.heard[-1].start) <= 4.0 + LATE, outcome.timeline()


def test_a_turn_that_the_application_holds_is_bridged() -> None:
    class Slow(Desk):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            await asyncio.sleep(10.0)

    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"),
        user=ScriptedUser().says("a table", at=1.0),
        llm=ScriptedLLM({"a table": ANSWER}),
        agent=Slow,
    )
    outcome = stage.run(20.0)
    assert said(outcome) == [STILL, MORE, ANSWER], outcome.timeline()


def test_what_the_application_and_the_model_take_counts_together() -> None:
    class Slow(Desk):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            await asyncio.sleep(3.0)

    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"),
        user=ScriptedUser().says("a table", at=1.0),
        llm=ScriptedLLM({"a table": Reply(ANSWER, ttft=3.5)}),
        agent=Slow,
        turn_handling={"preemptive_generation": {"enabled": False}},
    )
    outcome = stage.run(20.0)
    assert longest_silence(outcome, 2.1, outcome.heard[0].start) <= 4.0 + LATE, outcome.timeline()


def test_nothing_is_said_while_nobody_waits() -> None:
    """The timer has run out long before the next turn, and does not count for its answer."""
    user = ScriptedUser().says("a table", at=1.0).says("another one", at=20.0)
    model = ScriptedLLM({"a table": ANSWER, "another": Reply("Another one.", ttft=3.0)})
    outcome = play(model, user=user, until=40.0)
    assert said(outcome) == [ANSWER, "Another one."], outcome.timeline()


def test_a_reply_that_the_application_asks_for_later_is_not_given_up_at_once() -> None:
    model = ScriptedLLM({"a table": ANSWER}, otherwise=Reply("By the way.", ttft=2.0))
    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"),
        user=ScriptedUser().says("a table", at=1.0),
        llm=model,
        agent=Desk,
    )
    stage.at(15.0, lambda s: s.session.generate_reply(user_input="something else") and None)
    outcome = stage.run(25.0)
    assert said(outcome) == [ANSWER, "By the way."], outcome.timeline()
