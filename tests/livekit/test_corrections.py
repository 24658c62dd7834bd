"""`tools: corrects`: a newer call replaces one that has had no effect, and was not delivered."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import function_tool, llm

from turnfsm.fsm import Flow, FlowError
from turnfsm.fsm.metrics.why import explain
from turnfsm.livekit import TurnContext, TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedDuplex,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

ASK, CORRECT = "a table for tuesday", "no for thursday"
OTHER = "and one for my brother on thursday"
TUESDAY, THURSDAY = ({"guest": "Kim", "day": day} for day in ("Tue", "Thu"))
CORRECTS = "corrects: {book: {same: guest}}"
DUPLEX = "realtime_llm"


def flow_of(corrects: str = CORRECTS, base: str = "turn", more: str = "") -> Flow:
    return parsed(f"flow: inn\nextends: {base}\n{more}tools: {{{corrects}}}\n")


class Inn:
    """A tool that has its effect when it ends, after a commit point if it asks for one."""

    def __init__(self, *, asks: bool = True, asks_after: float = 4.0, takes: float = 4.0) -> None:
        self.booked: list[str] = []
        self.cancelled: list[str] = []
        self._asks, self._asks_after, self._takes = asks, asks_after, takes

    def tool(self) -> Any:
        @function_tool
        async def book(ctx: TurnContext, guest: str, day: str) -> str:
            """Book a table."""
            try:
                await asyncio.sleep(self._asks_after)
                if self._asks:
                    await ctx.commit_point()
                await asyncio.sleep(self._takes - self._asks_after)
            except asyncio.CancelledError:
                self.cancelled.append(day)
                raise
            self.booked.append(f"{guest} {day}")
            return f"booked {day}"

        return book


def staged(flow: Flow, user: ScriptedUser, inn: Inn, **options: Any) -> Stage:
    model = ScriptedLLM(
        {
            ASK: Reply(calls=Call("book", TUESDAY)),
            CORRECT: Reply(calls=Call("book", THURSDAY)),
            OTHER: Reply(calls=Call("book", {"guest": "Lee", "day": "Thu"})),
            "both": Reply(calls=(Call("book", TUESDAY), Call("book", THURSDAY))),
            "again": Reply(calls=Call("book", TUESDAY)),
        },
        on_tool={"book": _tells},
        otherwise=_tells,
    )
    voice = ScriptedTTS()
    if flow.turn_detection == DUPLEX:
        options |= {"llm": ScriptedDuplex(user, model, voice), "turn_handling": DUPLEX_HANDLING}
    session = partial(TurnSession, flow=flow, proof="off")
    options = {"llm": model, "tts": voice, "tools": [inn.tool()]} | options
    return Stage(session, user=user, **options)


def _tells(asked: Request) -> str:
    last = [item for item in asked.chat_ctx.items if item.type == "function_call_output"][-1]
    return f"So: {last.output}"


DUPLEX_HANDLING = {"turn_detection": DUPLEX}


def replaced(stage: Stage) -> list[tuple[str, str]]:
    journal: Any = stage.session.turn.journal  # type: ignore[attr-defined]
    notes = [note.data for note in journal.notes("tool_correction")]
    return [(data["call"], data["by"]) for data in notes]


def dropped(stage: Stage) -> list[str]:
    """The calls whose results need not be delivered, as newer calls have replaced them."""
    journal: Any = stage.session.turn.journal  # type: ignore[attr-defined]
    dropped = [note.data for note in journal.notes("result_dropped")]
    return [data["call"] for data in dropped if "has replaced this one" in data["reason"]]


def outputs(stage: Stage) -> list[str]:
    items = stage.session.history.items
    return [item.output for item in items if item.type == "function_call_output"]


def said(outcome: Outcome) -> list[str]:
    return [heard.text for heard in outcome.heard if heard.text]


def test_a_correction_leaves_one_effect_and_one_result() -> None:
    inn = Inn()
    stage = staged(flow_of(), ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.5), inn)
    outcome = stage.run(20.0)
    assert inn.booked == ["Kim Thu"], outcome.timeline()
    assert replaced(stage) == [("call_1", "call_2")]
    assert "call_1" in dropped(stage)
    assert outputs(stage) == [
        "the newer call call_2 has replaced this one: nothing was done",
        "booked Thu",
    ]
    assert said(outcome) == ["So: booked Thu"]


def test_why_names_the_call_that_replaces_what_runs_in_the_background() -> None:
    @function_tool
    async def book(guest: str, day: str) -> str:
        """Book a table."""
        await asyncio.sleep(12.0 if day == "Tue" else 0.5)
        return f"booked {day}"

    user = ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.5)
    stage = staged(flow_of(), user, Inn(), tools=[book])
    stage.run(12.0)
    journal: Any = stage.session.turn.journal  # type: ignore[attr-defined]
    told = explain(journal.read())
    assert "in the background: book, which call_2 has replaced" in str(told[-1])


def test_without_the_key_both_run_and_both_are_told() -> None:
    inn = Inn(asks=False)
    flow = parsed("flow: inn\nextends: turn\n")
    stage = staged(flow, ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.5), inn)
    outcome = stage.run(20.0)
    assert inn.booked == ["Kim Tue", "Kim Thu"]
    assert (replaced(stage), dropped(stage)) == ([], [])
    assert outputs(stage) == ["booked Tue", "booked Thu"], outcome.timeline()


def test_what_was_done_is_told_although_it_is_corrected() -> None:
    inn = Inn(asks_after=1.0)
    stage = staged(flow_of(), ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.5), inn)
    outcome = stage.run(20.0)
    assert inn.booked == ["Kim Tue", "Kim Thu"]
    assert (replaced(stage), dropped(stage)) == ([], []), outcome.timeline()


@pytest.mark.parametrize("other", [OTHER, "again please"])
def test_a_call_about_something_else_corrects_nothing(other: str) -> None:
    inn = Inn(asks=False)
    stage = staged(flow_of(), ScriptedUser().says(ASK, at=0.5).says(other, at=3.5), inn)
    outcome = stage.run(24.0)
    assert len(inn.booked) == 2, outcome.timeline()
    assert replaced(stage) == []


def test_calls_of_one_reply_do_not_correct_each_other() -> None:
    inn = Inn()
    stage = staged(flow_of(), ScriptedUser().says("both", at=0.5), inn)
    stage.run(20.0)
    assert sorted(inn.booked) == ["Kim Thu", "Kim Tue"]
    assert replaced(stage) == []


def test_a_result_that_was_not_heard_is_out_of_date() -> None:
    """The user corrects the call while its result is about to be said."""
    inn = Inn(asks=False, asks_after=1.0, takes=1.0)
    stage = staged(flow_of(), ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=2.5), inn)
    outcome = stage.run(20.0)
    assert dropped(stage) == ["call_1"]
    assert replaced(stage) == [("call_1", "call_2")]
    assert outputs(stage)[0] == "booked Tue"
    assert said(outcome)[-1] == "So: booked Thu"


@pytest.mark.parametrize("base", ["turn", "duplex"])
def test_the_result_of_a_call_that_was_updated_is_not_said_either(base: str) -> None:
    @function_tool
    async def book(ctx: TurnContext, guest: str, day: str) -> str:
        """Book a table."""
        await asyncio.sleep(0.5)
        await ctx.update("I am on it.")
        await asyncio.sleep(6.0)
        return f"booked {day}"

    user = ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=5.0)
    stage = staged(flow_of(base=base), user, Inn(), tools=[book])
    outcome = stage.run(30.0)
    assert replaced(stage) == [("call_1", "call_2")]
    told = " ".join(said(outcome))
    assert told.count("booked Thu") == 1, outcome.timeline()
    assert told.count("booked Tue") == told.count("This is out of date") == (base == "duplex")


@pytest.mark.parametrize(
    ("policy", "output", "cancelled"),
    [
        ("cancel", "cancelled: the newer call call_2 has replaced this one", ["Tue"]),
        ("detach", "the newer call call_2 has replaced this one: nothing was done", []),
        ("hold", "the newer call call_2 has replaced this one: nothing was done", []),
        ("finish", "the newer call call_2 has replaced this one: nothing was done", []),
    ],
)
def test_a_model_that_owns_its_turns_replaces_its_delegation(
    policy: str, output: str, cancelled: list[str]
) -> None:
    """Nothing interrupts it, so only the correction ends the work."""
    inn = Inn()
    flow = flow_of(f"interrupted: {policy}, {CORRECTS}", base="duplex")
    stage = staged(flow, ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.0), inn)
    outcome = stage.run(20.0)
    assert (inn.booked, inn.cancelled) == (["Kim Thu"], cancelled), outcome.timeline()
    assert replaced(stage) == [("call_1", "call_2")]
    assert outputs(stage) == [output, "booked Thu"]


@pytest.mark.parametrize("policy", ["detach", "hold", "finish"])
def test_no_turn_waits_for_a_call_that_was_replaced(policy: str) -> None:
    @function_tool
    async def book(ctx: TurnContext, guest: str, day: str) -> str:
        """Book a table."""
        await asyncio.sleep(14.0 if day == "Tue" else 0.5)
        await ctx.commit_point()
        return f"booked {day}"

    user = ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.5)
    fillers = "fillers: {after: 2.0, say: One moment.}\n"
    flow = flow_of(f"interrupted: {policy}, {CORRECTS}", base="duplex", more=fillers)
    stage = staged(flow, user, Inn(), tools=[book])
    outcome = stage.at(9.0, lambda s: s.note(s.session.agent_state)).run(13.0)
    assert "So: booked Thu" in said(outcome), outcome.timeline()
    assert outcome.marks == {"listening": 9.0}
    assert [text for text in said(outcome) if text == "One moment."] == []


def test_the_model_reads_that_a_result_is_out_of_date() -> None:
    inn = Inn(asks=False)
    flow = flow_of(base="duplex")
    stage = staged(flow, ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.0), inn)
    stage.run(20.0)
    assert inn.booked == ["Kim Tue", "Kim Thu"]
    first, second = outputs(stage)
    assert first.startswith("booked Tue\nThis is out of date")
    assert second == "booked Thu"


def test_a_question_about_a_call_that_is_replaced_is_dropped() -> None:
    """The model replaces the call before the user has answered."""
    inn = Inn()
    flow = flow_of(f'confirm: {{book: {{say: "For {{day}}?"}}}}, {CORRECTS}', base="duplex")
    stage = staged(flow, ScriptedUser().says(ASK, at=0.5).says("yes", at=8.0), inn)

    def replace(_: Stage) -> None:
        model: Any = stage.llm
        session = model.sessions[-1]
        arguments = json.dumps(THURSDAY)
        session.emit("function_call", session.last.model_copy(
            update={"id": "newer", "call_id": "call_9", "arguments": arguments}))  # fmt: skip

    outcome = stage.at(4.5, replace).run(24.0)
    assert inn.booked == ["Kim Thu"], outcome.timeline()
    assert replaced(stage) == [("call_1", "call_9")]
    assert "nothing was done: the newer call call_9 has replaced this one" in outputs(stage)[0]
    assert [text for text in said(outcome) if text.endswith("?")] == ["For Tue?", "For Thu?"]


def test_a_call_that_livekit_replaces_is_not_told_as_cancelled() -> None:
    """`on_duplicate="replace"` cancels the call as the newer one begins."""

    @function_tool(on_duplicate="replace", flags=llm.ToolFlag.CANCELLABLE)
    async def book(guest: str, day: str) -> str:
        """Book a table."""
        await asyncio.sleep(4.0)
        return f"booked {day}"

    user = ScriptedUser().says(ASK, at=0.5).says(CORRECT, at=3.5)
    stage = staged(parsed("flow: inn\nextends: turn\n"), user, Inn(), tools=[book])
    outcome = stage.run(20.0)
    assert said(outcome) == ["So: booked Thu"], outcome.timeline()
    assert replaced(stage) == [("call_1", "call_2")]
    assert outputs(stage)[0] == "cancelled: the newer call call_2 has replaced this one"


def test_an_argument_that_the_tool_lacks_is_an_error() -> None:
    flow = flow_of("corrects: {book: {same: [guest, dai]}}")
    with pytest.raises(FlowError, match="book has no parameter 'dai'") as found:
        staged(flow, ScriptedUser(), Inn()).run(1.0)
    assert [one.code for one in found.value.findings] == ["unknown-parameter"]
