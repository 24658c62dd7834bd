"""Pipecat Flows in a governed pipeline: the nodes change as ever, the flow governs the turns."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("pipecat.flows", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.flows import (
    ContextStrategy,
    ContextStrategyConfig,
    FlowManager,
    FlowsFunctionSchema,
)
from pipecat_stage import Stage

from turnfsm.runtime.testing.pipecat import Messages, Says, said, shows

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


PICK = FlowsFunctionSchema(
    name="pick",
    description="Pick a size.",
    properties={"size": {"type": "string"}},
    required=["size"],
    handler=_pick,
)


@pytest.mark.parametrize("strategy", [ContextStrategy.APPEND, ContextStrategy.RESET])
@pytest.mark.parametrize("cough", [None, 6.5, 8.5])
def test_nodes_change_and_a_cough_ends_neither_a_function_nor_an_answer(
    cough: float | None, strategy: ContextStrategy, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning names the function, which the flow does not know of. A turn that is answered only
    after its result counts as silent."""
    nodes = []

    async def script(stage: Stage) -> None:
        manager = FlowManager(
            worker=stage.worker,
            llm=stage.model,
            context_aggregator=stage.pair,
            context_strategy=ContextStrategyConfig(strategy=strategy),
        )
        await manager.initialize(_node("start", "Ask for the size.", PICK))
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
    assert "register it with governor.register_function(llm, 'pick', ...)" in caplog.text
