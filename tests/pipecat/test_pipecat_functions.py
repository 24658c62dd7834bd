"""Functions that come with the tools of the context are governed like registered ones."""

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from flow_text import parsed

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import LATE, PRICE, Stage, asks_again, look_up, moments, orders

from turnfsm.pipecat import OrphanedCall, on_interruption, once, recover_with
from turnfsm.runtime.pipecat.schemas import tool_options
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, shows

Source = Literal["registered", "schema", "direct"]
SOURCES: tuple[Source, ...] = ("registered", "schema", "direct")

ARRIVES = "it arrives on Friday"
GREETS = moments((0.0, "hello there"))
BANK = parsed(
    "flow: bank\nextends: turn\n"
    'tools: {confirm: {transfer: {say: "Shall I transfer {amount} euros?"}}}\n'
)


def _bank(messages: Messages) -> Says:
    if shows(messages, "transferred"):
        return Says("It is done.")
    if shows(messages, "nothing was done"):
        return Says("Then I leave it.")
    return Says(calls=(("transfer", {"amount": 500}),))


@pytest.mark.parametrize("source", SOURCES)
def test_a_result_is_said_although_the_user_has_talked_over_its_tool(source: Source) -> None:
    stage = Stage(orders, look_up(6.0), source=source).play(asks_again(4.0))
    assert stage.heard == f"{PRICE} {LATE}"
    assert (stage.effects, stage.cancelled) == (["look_up"], [])


@pytest.mark.parametrize("source", SOURCES)
def test_the_flow_names_the_policy(source: Source) -> None:
    flow = parsed("flow: hold\nextends: turn\ntools: {by_name: {look_up: hold}}\n")
    stage = Stage(orders, look_up(6.0), source=source, flow=flow).play(asks_again(4.0))
    assert stage.heard == f"{PRICE} {LATE}"
    assert stage.when("It") > 8.2  # the tool has ended


@pytest.mark.parametrize("source", SOURCES)
def test_a_decorator_names_the_policy(source: Source) -> None:
    tools = {"look_up": Tool(6.0, ARRIVES, mark=on_interruption("cancel"))}
    stage = Stage(orders, tools, source=source).play(asks_again(4.0))
    assert (stage.heard, stage.effects, stage.cancelled) == (PRICE, [], ["look_up"])
    assert shows(stage.context.messages, "cancelled: its turn was interrupted")


@pytest.mark.parametrize("source", SOURCES)
def test_cancel_on_interruption_false_lets_a_call_go_on(source: Source) -> None:
    flow = parsed("flow: cancels\nextends: turn\ntools: {interrupted: cancel}\n")
    tools = look_up(6.0, cancel_on_interruption=False)
    stage = Stage(orders, tools, source=source, flow=flow).play(asks_again(4.0))
    assert (stage.heard, stage.effects) == (f"{PRICE} {LATE}", ["look_up"])


@pytest.mark.parametrize("source", SOURCES)
def test_a_decorator_says_more_than_cancel_on_interruption_of_the_same_function(
    source: Source,
) -> None:
    mark = on_interruption("hold")
    tools = {
        "look_up": Tool(6.0, ARRIVES, mark=lambda f: mark(tool_options(f))),
    }
    stage = Stage(orders, tools, source=source).play(asks_again(4.0))
    assert stage.when("It") > 8.2


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("options", [{}, {"cancel_on_interruption": False}])
def test_a_call_with_once_has_its_effect_once(source: Source, options: dict[str, Any]) -> None:
    def model(messages: Messages) -> Says:
        if shows(messages, "booked"):
            return Says("It is booked.")
        return Says(calls=(("book", {"amount": 7}), ("book", {"amount": 7})))

    tools = {"book": Tool(1.0, "booked", options, mark=once)}
    stage = Stage(model, tools, source=source).play(GREETS)
    assert (stage.heard, stage.effects) == ("It is booked.", ["book"])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("answer", "heard", "effects"),
    [("yes", "It is done.", ["transfer"]), ("no", "Then I leave it.", [])],
)
def test_a_function_runs_only_after_a_yes(
    source: Source, answer: str, heard: str, effects: list[str]
) -> None:
    tools = {"transfer": Tool(1.0, "transferred it")}
    stage = Stage(_bank, tools, source=source, flow=BANK, proof="off").play(
        moments((0.0, "send my brother some money"), (8.0, answer)), seconds=40.0
    )
    assert stage.heard == f"Shall I transfer 500 euros? {heard}"
    assert stage.effects == effects


@pytest.mark.parametrize("source", SOURCES)
def test_an_objection_comes_before_the_effect(source: Source) -> None:
    script = moments((0.0, "please transfer fifty"), (3.5, "no leave it"))
    tools = {"transfer": Tool(2.0, "transferred", commits=True)}
    stage = Stage(_bank, tools, source=source).play(script)
    assert stage.effects == []
    assert shows(stage.context.messages, "nothing was done")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("everywhere", [False, True], ids=["of the function", "of the service"])
@pytest.mark.parametrize("noise", [False, True])
def test_a_call_that_takes_too_long_is_cancelled_and_the_model_is_told(
    source: Source, noise: bool, everywhere: bool
) -> None:
    async def script(stage: Stage) -> None:
        await stage.says("hello there")
        if noise:
            await stage.until(6.5)
            await stage.coughs(2.0)

    def model(messages: Messages) -> Says:
        if shows(messages, "cancelled") or shows(messages, "CANCELLED"):
            return Says("It took too long.")
        return Says(calls=(("look_up", {}),))

    tools = {"look_up": Tool(60.0, options={} if everywhere else {"timeout_secs": 5.0})}
    llm = {"function_call_timeout_secs": 5.0} if everywhere else {}
    stage = Stage(model, tools, source=source, llm=llm).play(script)
    assert (stage.heard, stage.cancelled) == ("It took too long.", ["look_up"])
    assert stage.governor is not None
    assert [(call.state, call.gave) for call in stage.governor.ledger] == [("closed", "cancelled")]


@pytest.mark.parametrize("source", SOURCES)
def test_a_call_is_in_the_ledger_and_a_crash_is_recovered_from(
    source: Source, tmp_path: Path
) -> None:
    """The second worker asks the function that was marked what became of the call."""
    keys = []

    def find(call: OrphanedCall) -> str:
        keys.append(call.key)
        return "booked at seven"

    def model(messages: Messages) -> Says:
        return Says("At seven.") if shows(messages, "at seven") else Says(calls=(("book", {}),))

    def stage() -> Stage:
        tools = {"book": Tool(20.0, "late", mark=recover_with(find))}
        store = str(tmp_path / "calls.db")
        return Stage(model, tools, source=source, store=store, session_id="room-1")

    async def waits(stage: Stage) -> None:
        await asyncio.sleep(0)

    first = stage().play(GREETS, seconds=6.0)
    assert first.governor is not None
    assert [call.name for call in first.governor.ledger] == ["book"]
    assert stage().play(waits, seconds=20.0).heard == "At seven."
    assert len(keys) == 1


@pytest.mark.parametrize("source", SOURCES[1:])
def test_the_model_may_cancel_a_call_if_the_function_allows_it(source: Source) -> None:
    def model(messages: Messages) -> Says:
        if shows(messages, '"cancelled"'):
            return Says("I have stopped it.")
        if "stop it" in str(messages[-1].get("content")):
            return Says(calls=(("cancel_look_up", {}),))
        if shows(messages, "running"):
            return Says("It runs.")
        return Says(calls=(("look_up", {}),))

    options = {"cancellable_by_llm": True, "cancel_on_interruption": False}
    stage = Stage(model, {"look_up": Tool(60.0, options=options)}, source=source)
    assert (
        stage.play(moments((0.0, "hello there"), (6.0, "please stop it"))).heard
        == "I have stopped it."
    )
    assert stage.cancelled == ["look_up"]
    assert stage.governor is not None
    assert [call.gave for call in stage.governor.ledger] == ["cancelled"]


def test_a_function_that_the_application_takes_away_is_no_longer_called() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("hello there")
        await stage.until(10.0)
        stage.context.set_tools()
        await stage.says("and again")

    def model(messages: Messages) -> Says:
        if shows(messages, "not available") or shows(messages, "not currently"):
            return Says("I cannot do that.")
        if shows(messages, "first") and not shows(messages, "and again"):
            return Says("The first.")
        return Says(calls=(("look_up", {}),))

    stage = Stage(model, {"look_up": Tool(1.0, "first")}, source="schema").play(script)
    assert stage.effects == ["look_up"]


def test_the_tools_of_the_application_stay_as_they_are_to_the_model() -> None:
    """Names, descriptions and parameters."""
    stage = Stage(orders, look_up(1.0), source="direct")
    stage.play(GREETS)
    (schema,) = stage.context.tools.standard_tools
    assert schema.name == "look_up"
    assert list(schema.properties) == ["amount", "others"]
