"""Models that own their turns: who speaks is only observed, the work is ours."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from livekit.agents import Agent, AgentSession, function_tool, llm

from turnfsm.fsm import load_flow, parse_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedDuplex,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

BOOKED = "Your table is booked."
LONG = "Once upon a time there was a very small dragon who did not like to fly at all."
_CONFIRM = """
flow: bank
extends: duplex
tools: {confirm: {book: {say: "Shall I book it?"}}}
"""


class Work:
    """A tool that takes two seconds, and counts."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.ended = 0

    def tool(self) -> Any:
        @function_tool
        async def book(guests: int = 2) -> str:
            """Book a table."""
            self.begun.append(asyncio.get_running_loop().time())
            await asyncio.sleep(2.0)
            self.ended += 1
            return "booked"

        return book


def staged(
    user: ScriptedUser,
    *,
    session: Any = None,
    flow: Any = "duplex",
    yields_after: float = 0.3,
    **parts: Any,
) -> tuple[Stage, Work, ScriptedDuplex]:
    work, voice = Work(), ScriptedTTS()
    answers = ScriptedLLM(
        {"table": Reply(calls=Call("book")), "story": LONG, "mhm": "", "yes": "", "no": "I see."},
        {"book": lambda asked: Reply(BOOKED if "booked" in str(asked.context) else "I could not.")},
        otherwise="As you like.",
    )
    model = ScriptedDuplex(user, answers, voice, yields_after=yields_after)
    make = session or partial(TurnSession, flow=flow, proof="off")
    handling = {"turn_detection": "realtime_llm"}
    parts = parts or {"tools": [work.tool()]}
    stage = Stage(make, user=user, llm=model, tts=voice, turn_handling=handling, **parts)
    return stage, work, model


def told(model: ScriptedDuplex) -> list[str]:
    """The results that the model was given."""
    items = model.sessions[-1].chat_ctx.items
    return [item.output for item in items if item.type == "function_call_output"]


def said(outcome: Outcome) -> list[str]:
    return [heard.text for heard in outcome.heard if heard.text]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("again", [1.85, 3.0, 6.0], ids=["at once", "while it runs", "afterwards"])
@pytest.mark.parametrize("renamed", [False, True], ids=["same item", "another item"])
def test_a_call_that_is_reported_twice_runs_once_and_is_delivered_once(
    again: float, renamed: bool
) -> None:
    stage, work, model = staged(ScriptedUser().says("a table please", at=0.5))

    def repeat(_: Stage) -> None:
        session = model.sessions[-1]
        call = session.last
        event = call.model_copy(update={"id": "again"}) if renamed else call
        session.emit("function_call", event)

    outcome = stage.at(again + 0.5, repeat).run(12.0)
    assert len(work.begun) == 1, outcome.timeline()
    assert told(model) == ["booked"]
    assert said(outcome) == [BOOKED]
    journal: Any = stage.session.turn.journal  # type: ignore[attr-defined]
    assert [note.data["call"] for note in journal.notes("call_repeated")] == ["call_1"]
    assert outcome.errors == []
    assert outcome.orphans == ()


@pytest.mark.parametrize("kind", [AgentSession, None], ids=["stock", "turn"])
def test_an_id_that_comes_again_with_other_arguments_is_another_call(kind: Any) -> None:
    """As on AgentSession: only a report of the same call is left out."""
    stage, work, model = staged(ScriptedUser().says("a table please", at=0.5), session=kind)

    def another(_: Stage) -> None:
        session = model.sessions[-1]
        other = {"id": "again", "arguments": '{"guests": 8}'}
        session.emit("function_call", session.last.model_copy(update=other))

    outcome = stage.at(6.0, another).run(14.0)
    assert len(work.begun) == 2, outcome.timeline()


def test_without_the_flow_a_call_that_is_reported_twice_is_told_as_a_failure() -> None:
    user = ScriptedUser().says("a table please", at=0.5)
    stage, _, model = staged(user, session=AgentSession)
    stage.at(3.0, lambda _: model.repeat()).run(12.0)
    assert told(model) == ["An internal error occurred", "booked"]


def test_the_model_decides_whether_the_user_interrupts_it() -> None:
    """It stops for a sentence, and goes on over a short sound; nothing is held or paused."""
    heard = {}
    for words, seconds in (("mhm", 0.2), ("no stop it please", 1.2)):
        user = ScriptedUser().says("tell me a story", at=0.5)
        stage, _, _ = staged(user.says(words, at=4.0, duration=seconds))
        outcome = stage.run(14.0)
        heard[words] = said(outcome)
        session: Any = stage.session
        actions = {action for entry in session.turn.journal for action in entry.verdict.actions}
        assert actions.isdisjoint({"interrupt_speech", "pause_output", "hold_output"})
    assert heard["mhm"] == [LONG]
    assert heard["no stop it please"][0] != LONG
    assert heard["no stop it please"][1:] == ["I see."]


def test_a_user_who_talks_while_a_tool_runs_neither_stops_it_nor_loses_its_result() -> None:
    user = ScriptedUser().says("a table please", at=0.5).says("tell me a joke", at=2.8)
    stage, work, model = staged(user)
    outcome = stage.run(14.0)
    assert (len(work.begun), work.ended, told(model)) == (1, 1, ["booked"])
    assert sorted(said(outcome)) == sorted([BOOKED, "As you like."]), outcome.timeline()
    assert not [entry for entry in outcome.timeline().splitlines() if "append-only" in entry]


@pytest.mark.parametrize(
    ("answer", "runs", "ends"),
    [("yes", 1, BOOKED), ("no leave it", 0, "I could not."), (None, 0, "I could not.")],
)
def test_a_tool_that_needs_a_yes_has_no_effect_before_it(
    answer: str | None, runs: int, ends: str
) -> None:
    flow, findings = parse_flow(_CONFIRM)
    assert findings == []
    user = ScriptedUser().says("a table please", at=0.5)
    if answer is not None:
        user.says(answer, at=6.0)
    stage, work, model = staged(user, flow=flow)
    outcome = stage.run(30.0)
    assert said(outcome)[0] == "Shall I book it?", outcome.timeline()
    assert len(work.begun) == runs
    assert all(at > 6.0 for at in work.begun)
    assert said(outcome)[-1] == ends
    session: Any = stage.session
    posted = [entry.trigger for entry in session.turn.journal]
    assert "user_typed" not in posted
    assert posted.count("other_answer") == 1 + (answer == "no leave it")  # the first one asked
    if not runs:
        assert "did not run" in told(model)[0]


def test_a_yes_before_the_question_was_heard_is_none() -> None:
    flow, _ = parse_flow(_CONFIRM)
    stage, work, _ = staged(ScriptedUser().says("a table please", at=0.5).says("yes", at=2.4),
                            flow=flow, yields_after=9.0)  # fmt: skip
    outcome = stage.run(30.0)
    assert work.begun == [], outcome.timeline()


def test_the_flow_needs_a_model_that_ends_turns() -> None:
    flow = load_flow("duplex")
    assert flow.turn_detection == "realtime_llm"
    assert "paused" not in flow.states


def test_an_agent_reaches_the_session_of_its_model() -> None:
    reached: list[llm.DuplexSession[Any]] = []

    class Clerk(Agent):
        async def on_enter(self) -> None:
            reached.append(self.duplex_session)

    stage, _, model = staged(ScriptedUser(), agent=Clerk(instructions="Help."))
    stage.run(1.0)
    assert reached == model.sessions
