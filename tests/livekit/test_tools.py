"""Tool calls in a `TurnSession`: policies, commit points, and ill-behaved tools."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, function_tool
from realtime_stage import Says
from scripted_tool import tool

from turnfsm.fsm import TurnfsmError
from turnfsm.livekit import TurnContext, TurnSession, on_interruption
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

BOOK, JOKE = "book a table", "no stop tell me a joke"


def _play(
    tool: Any,
    seconds: float = 25.0,
    session: Any = TurnSession,
    timers: Any = None,
    **reply: Any,
) -> Stage:
    """The user asks for a booking at 1 s and, at 5 s, for something else."""
    user = ScriptedUser().says(BOOK, at=1.0).says(JOKE, at=5.0)
    model = ScriptedLLM(
        {"book": Reply(calls=Call("book"), **reply), "joke": "Here is a joke."},
        {"book": "Your table is booked."},
    )
    stage = Stage(session, user=user, llm=model, tools=[tool], timers=timers)
    stage.outcome = stage.run(seconds)  # type: ignore[attr-defined]
    return stage


def _outcome(stage: Stage) -> Outcome:
    return stage.outcome  # type: ignore[attr-defined, no-any-return]


def _outputs(stage: Stage) -> list[str]:
    items = _outcome(stage).history.items
    return [item.output for item in items if item.type == "function_call_output"]


def _slow(seconds: float = 8.0) -> Any:
    return tool("book", "booked", seconds=seconds)


def test_a_detached_tool_goes_on_and_its_result_is_spoken() -> None:
    """Default: the user is answered at once, and hears the result when it comes."""
    stage = _play(_slow())
    outcome = _outcome(stage)
    joke, booked = outcome.heard_saying("Here is a joke."), outcome.heard_saying("table is booked")
    assert joke is not None
    assert booked is not None
    assert joke.start < 7.8 < booked.start < 12.0
    assert _outputs(stage) == ["booked"]
    assert [call.end for call in stage.session.ledger] == ["released"]  # type: ignore[attr-defined]
    assert [call.output for call in stage.session.ledger] == ["booked"]  # type: ignore[attr-defined]


def test_a_cancelled_tool_ends_at_once_and_says_so() -> None:
    """cancel: CancelledError reaches the tool, and the LLM reads that nothing was done."""
    ended: list[float] = []

    @on_interruption("cancel")
    @function_tool
    async def book() -> str:
        """Book."""
        try:
            await asyncio.sleep(8.0)
        except asyncio.CancelledError:
            ended.append(asyncio.get_running_loop().time())
            raise
        return "booked"

    stage = _play(book)
    assert len(ended) == 1
    assert _outputs(stage) == ["cancelled: its turn was interrupted before it had ended"]
    assert _outcome(stage).heard_saying("table is booked") is None
    assert _outcome(stage).errors == []


def test_the_agent_says_that_a_tool_was_cancelled_if_a_noise_has_done_so() -> None:
    """Otherwise it would be silent for good: nothing answers a noise."""
    stage = Stage(
        TurnSession,
        user=ScriptedUser().says(BOOK, at=1.0).makes_noise(at=3.0, duration=0.8),
        llm=ScriptedLLM(
            {"book": Reply("Let me see whether they have one.", calls=Call("book"))},
            {"book": "I could not book it."},
        ),
        tools=[on_interruption("cancel")(_slow())],
        can_pause=False,
    )
    outcome = stage.run(15.0)
    assert outcome.heard_saying("could not book") is not None, outcome.timeline()


def test_a_tool_that_has_reported_is_not_cancelled_with_its_turn() -> None:
    """cancel: it has told the user that it goes on, so it goes on, and its result is told."""

    @on_interruption("cancel")
    @function_tool
    async def book(ctx: TurnContext[Any]) -> str:
        """Book."""
        await ctx.update("still booking")
        await asyncio.sleep(8.0)
        return "booked"

    stage = _play(book, text="Let me see whether they have a table for you " * 3)
    joke, booked = (_outcome(stage).heard_saying(text) for text in ("a joke.", "table is booked"))
    assert joke is not None
    assert booked is not None
    assert booked.start > joke.end
    assert _outputs(stage)[-1] == "booked"


@pytest.mark.parametrize("decorated_above", [True, False])
def test_a_held_tool_is_not_interrupted(decorated_above: bool) -> None:
    """hold: the turn stands until the tool has ended; what the user said meanwhile is answered."""

    async def book() -> str:
        """Book."""
        await asyncio.sleep(8.0)
        return "booked"

    hold = on_interruption("hold")
    tool = hold(function_tool(book)) if decorated_above else function_tool(hold(book))
    stage = _play(tool)
    joke = _outcome(stage).heard_saying("Here is a joke.")
    assert joke is not None
    assert joke.start > 9.8
    assert [call.end for call in stage.session.ledger] == ["result"]  # type: ignore[attr-defined]


def test_an_interruption_waits_for_a_tool_to_finish_but_not_for_ever() -> None:
    """finish: the turn is answered when the tool ends, or when finish_limit has passed."""
    soon = _play(on_interruption("finish")(_slow(6.0)))
    late = _play(on_interruption("finish")(_slow(60.0)), session=TurnSession)
    heard = [_outcome(stage).heard_saying("Here is a joke.") for stage in (soon, late)]
    starts = [h.start for h in heard if h is not None]
    assert len(starts) == 2
    assert starts[0] < 10.3
    assert 11.5 < starts[1] < 13.0


def test_the_flow_names_policies(tmp_path: Path) -> None:
    """A policy by name in the flow comes before the decorator's."""
    flow = tmp_path / "mine.yaml"
    flow.write_text("flow: mine\nextends: turn\ntools: {by_name: {book: cancel}}\n")
    stage = _play(on_interruption("hold")(_slow()), session=partial(TurnSession, flow=flow))
    assert [call.end for call in stage.session.ledger] == ["cancelled"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tools", "place"), [("by_name: {bok: cancel}", "3:19"), ("once: [bok]", "3:16")]
)
def test_a_misspelt_tool_name_is_a_warning_with_its_place(
    tools: str, place: str, tmp_path: Path
) -> None:
    """A name in the flow that is nearly a tool's, and no tool's, is logged when the session
    starts. A later agent may have such a tool, so it is no error."""
    flow = tmp_path / "mine.yaml"
    flow.write_text(f"flow: mine\nextends: turn\ntools: {{{tools}}}\n")
    stage = _play(_slow(), session=partial(TurnSession, flow=flow))
    [warning] = map(str, _outcome(stage).warnings)
    assert f"mine.yaml:{place}: no agent has the tool 'bok'; did you mean 'book'?" in warning


def test_a_tool_of_another_agent_is_no_misspelt_name(tmp_path: Path) -> None:
    """The names of two agents' tools may be alike, and only one of the agents starts."""

    class Clerk(Agent):
        @function_tool
        async def transfer_money(self) -> str:
            """Transfer it."""
            return "done"

    @function_tool
    async def transfer_call() -> Agent:
        """Put the caller through."""
        return Clerk(instructions="Help.")

    flow = tmp_path / "mine.yaml"
    flow.write_text("flow: mine\nextends: turn\ntools: {by_name: {transfer_money: hold}}\n")
    stage = Stage(partial(TurnSession, flow=flow), tools=[transfer_call])  # type: ignore[arg-type]
    assert stage.run(1.0).warnings == []


def test_an_unknown_policy_is_an_error() -> None:
    """The decorator says which policies there are."""
    with pytest.raises(TurnfsmError, match="did you mean 'cancel'"):
        on_interruption("cancle")  # type: ignore[arg-type]


def test_commit_point_stops_the_side_effect() -> None:
    """A tool that asks right before its effect does not have it once the user has interrupted."""
    effects: list[str] = []

    @function_tool
    async def book(ctx: TurnContext) -> str:
        """Book."""
        await ctx.commit_point()
        effects.append("asked early")
        await asyncio.sleep(8.0)
        await ctx.commit_point()
        effects.append("booked")
        return "booked"

    stage = _play(book)
    assert effects == ["asked early"]
    assert "not known whether it took effect" in _outputs(stage)[0]  # it was past its first


@pytest.mark.parametrize(
    ("misdeed", "said"),
    [("raises", "error"), ("hangs", "released"), ("unserialisable", "result")],
)
def test_an_ill_behaved_tool_leaves_the_session_in_order(misdeed: str, said: str) -> None:
    """Whatever a tool does, its call ends once and the user's next turn is answered."""

    @function_tool
    async def book() -> Any:
        """Book."""
        if misdeed == "raises":
            raise ValueError("no table")
        if misdeed == "hangs":
            await asyncio.Event().wait()
        return object()

    stage = _play(book, seconds=20.0, timers={"drain_limit": 5.0})
    outcome = _outcome(stage)
    assert outcome.heard_saying("Here is a joke.") is not None
    assert [call.end for call in stage.session.ledger] == [said]  # type: ignore[attr-defined]
    assert outcome.orphans == ()
    assert outcome.closed_in < 6.5


def test_the_ledger_is_restored_from_a_journal() -> None:
    """The journal's notes rebuild it: what was completed is known to be."""
    stage = _play(_slow(2.0))
    ledger: Ledger = stage.session.ledger  # type: ignore[attr-defined]
    restored = Ledger.from_journal(stage.session.turn.journal.read())  # type: ignore[attr-defined]
    entries = [(c.id, c.end, c.output) for c in ledger]
    assert [(c.id, c.end, c.output) for c in restored] == entries
    assert restored.completed[0].output == "booked"


@pytest.mark.parametrize("by", ["close", "handoff"])
def test_with_a_limit_neither_close_nor_handoff_waits_long_for_a_detached_tool(by: str) -> None:
    """A close cancels what no turn waits for any more; a handoff leaves it running until the
    close."""
    ended: list[tuple[float, str]] = []

    @function_tool
    async def book() -> str:
        """Book."""
        try:
            await asyncio.sleep(300.0)
        except asyncio.CancelledError:
            ended.append((stage.now, "cancelled"))
            raise
        return "booked"

    user = ScriptedUser().says(BOOK, at=1.0).says(JOKE, at=5.0)
    model = ScriptedLLM({"book": Reply(calls=Call("book")), "joke": "Here is a joke."})
    limits = {"drain_limit": 5.0}
    stage = Stage(TurnSession, user=user, llm=model, tools=[book], timers=limits)
    if by == "handoff":
        stage.at(9.0, lambda s: s.session.update_agent(Says("I am the next one.")))
    else:
        stage.at(9.0, lambda s: s.session.aclose())
    outcome = stage.run(30.0)
    assert ended == [(pytest.approx(14.0 if by == "close" else 35.0, abs=0.1), "cancelled")]
    assert outcome.orphans == ()
    if by == "handoff":
        entered = outcome.heard_saying("I am the next one.")
        assert entered is not None
        assert entered.start < 15.0


def test_a_tool_that_ends_after_the_close_ends_once() -> None:
    """It swallows its cancellation and takes its time: the ledger has one end, nothing is left."""

    @function_tool
    async def book() -> str:
        """Book."""
        try:
            await asyncio.sleep(300.0)
        except asyncio.CancelledError:
            await asyncio.sleep(3.0)
        return "booked late"

    stage = _play(book, seconds=12.0, timers={"drain_limit": 5.0})
    (call,) = stage.session.ledger  # type: ignore[attr-defined]
    assert (call.end, call.gave) == ("released", "cancelled")
    assert _outcome(stage).orphans == ()
    assert _outcome(stage).closed_in < 10.0


def _with_one_that_hangs(*tools: Any, **options: Any) -> Stage:
    @function_tool
    async def hang() -> None:
        """Never end."""
        await asyncio.get_running_loop().create_future()

    calls = tuple(Call(name) for name in ("hang", *(tool.info.name for tool in tools)))
    model = ScriptedLLM(
        {"book": Reply(calls=calls)}, {"book": "Your table is booked.", "hang": "One moment."}
    )
    user = ScriptedUser().says(BOOK, at=1.0)
    return Stage(TurnSession, user=user, llm=model, tools=[hang, *tools], **options)


def test_a_handoff_goes_on_when_the_turn_has_given_a_tool_up() -> None:
    """It begins while the turn waits; from tool_limit on it waits for drain_limit, 5 s."""
    stage = _with_one_that_hangs(timers={"tool_limit": 4.0, "drain_limit": 5.0})
    outcome = stage.at(4.0, lambda s: s.session.update_agent(Says("I am the next one."))).run(30.0)
    entered = outcome.heard_saying("I am the next one.")
    assert entered is not None, outcome.timeline()
    assert 2.4 + 4.0 + 5.0 < entered.start < 13.0


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_tool_that_hangs_holds_back_no_result_of_another(interrupted: bool) -> None:
    """Once the turn waits no longer, what has ended is in the conversation; the one that hangs has
    an output that says so, and the model is asked, unless the user has interrupted."""
    stage = _with_one_that_hangs(_slow(1.0), timers={"tool_limit": 4.0, "drain_limit": 5.0})
    if interrupted:
        stage.at(4.5, lambda s: s.session.interrupt() and None)
    outcome = stage.run(25.0)
    outputs = {
        item.name: item.output
        for item in outcome.history.items
        if item.type == "function_call_output" and not item.call_id.endswith("_final")
    }
    assert outputs["book"] == "booked"
    assert outputs["hang"].startswith("The call is still running.")
    said = [heard.text for heard in outcome.heard]
    assert said == ([] if interrupted else ["Your table is booked."]), outcome.timeline()


@pytest.mark.parametrize(
    ("seconds", "heard"),
    [(1.0, ["It rains."]), (6.0, ["One moment.", "It rains."])],
    ids=["done before", "still works"],
)
def test_a_filler_that_waits_for_a_quiet_user_is_not_said_when_the_work_is_done(
    seconds: float, heard: list[str]
) -> None:
    """The call begins as the user coughs. Words may come until 5.35 s."""

    @function_tool
    async def look_up(ctx: TurnContext[None]) -> str:
        """Look the weather up."""
        async with ctx.with_filler("One moment."):
            await asyncio.sleep(seconds)
        return "rain"

    model = ScriptedLLM({"weather": Reply(calls=Call("look_up"))}, {"look_up": "It rains."})
    user = ScriptedUser().says("weather please", at=1.0).makes_noise(at=2.1, duration=1.0)
    outcome = Stage(TurnSession, user=user, llm=model, tools=[look_up]).run(16)
    assert [said.text for said in outcome.heard] == heard, outcome.timeline()
    assert outcome.heard[0].start == pytest.approx(5.35, abs=0.01)
    assert (outcome.errors, outcome.warnings) == ([], [])
