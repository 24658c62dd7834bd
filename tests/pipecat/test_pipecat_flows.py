"""Pipecat Flows in a governed pipeline: the nodes change as ever, the flow governs the turns."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("pipecat.flows", reason="Pipecat is not installed; `make pipecat` installs it")

from flow_text import parsed
from pipecat.flows import (
    ContextStrategy,
    ContextStrategyConfig,
    FlowManager,
    FlowsFunctionSchema,
)
from pipecat_stage import Stage, brief, moments

from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Says, Script, said, shows

ANSWER = "Is that all or would you like a drink with it?"


def _model(messages: Messages) -> Says:
    if said(messages) == "no thanks":
        return Says("Goodbye.")
    if shows(messages, "Ask whether that is all."):
        return Says(ANSWER)
    if said(messages) == "large":
        return Says(calls=(("pick", {"size": "large"}),))
    return Says("Which size?")


def _node(name: str, task: str, *functions: FlowsFunctionSchema) -> dict[str, Any]:
    message = {"role": "developer", "content": task}
    return {"name": name, "task_messages": [message], "functions": list(functions)}


async def _pick(arguments: dict[str, Any], manager: FlowManager) -> Any:
    await asyncio.sleep(1.0)
    return {"picked": arguments["size"]}, _node("confirm", "Ask whether that is all.")


def _play(more: str, script: Script, pick: Any = _pick) -> Stage:
    """The caller says the size at 4 s, and the function runs from about 5.9 s on."""

    async def play(stage: Stage) -> None:
        manager = FlowManager(worker=stage.worker, llm=stage.model, context_aggregator=stage.pair)
        await manager.initialize(_node("start", "Ask for the size.", _function(pick, stage)))
        await stage.until(4.0)
        await stage.says("large")
        await script(stage)

    flow = parsed(f"flow: shop\nextends: turn\n{more}")
    return Stage(_model, flow=flow, proof="off").play(play, seconds=40.0)


def _function(pick: Any, stage: Stage) -> FlowsFunctionSchema:
    async def handler(arguments: dict[str, Any], manager: FlowManager) -> Any:
        if pick is _commits:
            return await _commits(arguments, stage)
        return await pick(arguments, manager)

    return FlowsFunctionSchema(
        name="pick",
        description="Pick a size.",
        properties={"size": {"type": "string"}},
        required=["size"],
        handler=handler,
    )


async def _commits(arguments: dict[str, Any], stage: Stage) -> Any:
    assert stage.governor is not None
    await asyncio.sleep(1.0)
    await stage.governor.commit_point()
    return {"picked": arguments["size"]}, None


CONFIRM = "tools: {confirm: {pick: {say: 'Really {size}?'}}}\n"


@pytest.mark.parametrize(("answer", "picked"), [("yes", True), ("no", False)])
def test_a_function_of_a_node_waits_for_a_yes(answer: str, picked: bool) -> None:
    stage = _play(CONFIRM, moments((10.0, answer)))
    assert "Really large?" in stage.heard
    assert (ANSWER in stage.heard) == picked


@pytest.mark.parametrize(("policy", "cancelled"), [("cancel", True), ("detach", False)])
def test_the_flow_names_the_policy_of_a_function_of_a_node(policy: str, cancelled: bool) -> None:
    async def slow(arguments: dict[str, Any], manager: FlowManager) -> Any:
        await asyncio.sleep(3.0)
        return await _pick(arguments, manager)

    stage = _play(
        f"tools: {{by_name: {{pick: {policy}}}}}\n", moments((6.0, "no thanks", 0.5)), slow
    )
    assert shows(stage.context.messages, "cancelled: its turn was interrupted") == cancelled
    assert shows(stage.context.messages, "picked") != cancelled
    assert stage.governor is not None
    (call,) = stage.governor.ledger
    assert call.name == "pick"


def test_a_function_of_a_node_has_a_commit_point() -> None:
    """It is not called with the `FunctionCallParams`."""

    stage = _play("", moments((6.0, "no leave it", 0.6)), _commits)
    assert shows(stage.context.messages, "nothing was done")


@pytest.mark.parametrize("strategy", [ContextStrategy.APPEND, ContextStrategy.RESET])
@pytest.mark.parametrize("cough", [None, 6.5, 8.5])
def test_nodes_change_and_a_cough_ends_neither_a_function_nor_an_answer(
    cough: float | None, strategy: ContextStrategy, caplog: pytest.LogCaptureFixture
) -> None:
    """A turn that is answered only after its result counts as silent."""
    nodes = []

    async def script(stage: Stage) -> None:
        manager = FlowManager(
            worker=stage.worker,
            llm=stage.model,
            context_aggregator=stage.pair,
            context_strategy=ContextStrategyConfig(strategy=strategy),
        )
        await manager.initialize(_node("start", "Ask for the size.", _function(_pick, stage)))
        await stage.until(4.0)
        await stage.says("large")
        if cough is not None:
            await stage.until(cough)
            await stage.coughs()
        await stage.until(18.0)
        await stage.says("no thanks")
        nodes.append(manager.current_node)

    stage = Stage(_model).play(script, seconds=25.0)
    assert nodes == ["confirm"]
    assert stage.heard == f"Which size? {ANSWER} Goodbye."
    assert ("paused" in stage.states) == (cough == 8.5)
    assert stage.user_turns == {"silent": 1, "replied": 1}
    assert "governor.register_function" not in caplog.text


@pytest.mark.parametrize("ends", [{}, {"text": "Goodbye."}])
def test_the_actions_of_a_node_keep_their_order(ends: dict[str, str]) -> None:
    """The expectation is what Pipecat does alone."""
    alone, governed = _acts(ends), _acts(ends, governor=TurnGovernor)
    assert governed[0].heard == alone[0].heard
    assert governed[0].heard.startswith("This call is recorded. Which size? Think well.")
    assert governed[1] == pytest.approx(alone[1], abs=0.2)
    assert [*map(brief, governed[0].requests)] == [*map(brief, alone[0].requests)]
    assert governed[0].governor is not None
    assert governed[0].governor.turn.closed


def _acts(ends: dict[str, str], **options: Any) -> tuple[Stage, list[float]]:
    """A node with actions, and when its function action has run."""
    ran: list[float] = []

    async def script(stage: Stage) -> None:
        async def transfer(action: dict[str, Any], manager: FlowManager) -> None:
            ran.append(stage.now)

        manager = FlowManager(worker=stage.worker, llm=stage.model, context_aggregator=stage.pair)
        node = _node("start", "Ask for the size.", _function(_pick, stage))
        node["pre_actions"] = [{"type": "tts_say", "text": "This call is recorded."}]
        node["post_actions"] = [
            {"type": "tts_say", "text": "Think well."},
            {"type": "function", "handler": transfer},
            {"type": "end_conversation", **ends},
        ]
        await manager.initialize(node)

    stage = Stage(_model, **{"governor": None, **options}).play(script, seconds=15.0)
    return stage, ran
