"""Another model, voice or context takes over in the middle of a governed conversation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.pipeline.llm_switcher import LLMSwitcher
from pipecat.pipeline.service_switcher import ServiceSwitcher
from pipecat.services.llm_service import FunctionCallParams
from pipecat_stage import COUGH, Stage, brief, moments

from turnfsm.runtime.testing.pipecat import (
    Messages,
    Microphone,
    Says,
    ScriptedModel,
    Tool,
    Voice,
    said,
    shows,
)

GREETING = "This is the doctor, and I have all the time that you need."


def _nurse(messages: Messages) -> Says:
    if "doctor" in said(messages):
        return Says("One moment.", calls=(("transfer", {}),))
    return Says("How can I help you?")


def _doctor(messages: Messages) -> Says:
    if "again" in said(messages):
        return Says(calls=(("weigh", {}),)) if not shows(messages, "80") else Says("You weigh 80.")
    return Says(GREETING)


def _transferred(cough: float | None) -> Stage:
    """The nurse's tool switches to the doctor. The result is the doctor's to answer."""
    doctor = ScriptedModel(_doctor)

    def switched(parts: list[Any]) -> list[Any]:
        llms = LLMSwitcher([parts[2], doctor])
        assert stage.governor is not None
        stage.governor.register_function(llms, "transfer", transfer)
        stage.governor.register_function(llms, "weigh", weigh)
        return [*parts[:2], llms, *parts[3:]]

    async def transfer(call: FunctionCallParams) -> None:
        await asyncio.sleep(1.0)
        await stage.worker.queue_frame(f.ManuallySwitchServiceFrame(service=doctor))
        await call.result_callback("the doctor is here")

    async def weigh(call: FunctionCallParams) -> None:
        await asyncio.sleep(1.0)
        await call.result_callback(80)

    async def script(stage: Stage) -> None:
        await stage.says("a doctor please")
        if cough is not None:
            await stage.until(cough)
            await stage.coughs()
        await stage.until(16.0)
        await stage.says("weigh me again")

    stage = Stage(_nurse, around=switched)
    return stage.play(script, seconds=24.0)


@pytest.mark.parametrize("cough", [None, 3.5, 6.0])
def test_a_tool_hands_over_to_another_model_which_answers_its_result(cough: float | None) -> None:
    """A noise ends neither the tool nor the greeting, and its functions are governed, too."""
    stage = _transferred(cough)
    assert stage.heard == f"One moment. {GREETING} You weigh 80."
    assert stage.user_turns == {"replied": 2}
    assert stage.governor is not None
    assert [call.name for call in stage.governor.ledger] == ["transfer", "weigh"]
    assert ("paused" in stage.states) == (cough == 6.0)


def test_another_voice_speaks_after_a_switch() -> None:
    def switched(parts: list[Any]) -> list[Any]:
        voices = ServiceSwitcher([parts[3], other])
        return [*parts[:3], voices, *parts[4:]]

    stage = Stage(lambda messages: Says("Yes I am here for you."), around=switched)
    other = Voice(stage.words)
    script = moments(
        (0.0, "hello there"),
        (3.0, COUGH),
        (8.0, f.ManuallySwitchServiceFrame(service=other)),
        (8.0, "and again"),
        (11.0, COUGH),
    )
    stage.play(script)
    assert stage.heard == "Yes I am here for you. Yes I am here for you."
    assert stage.states.count("paused") == 2
    assert stage.user_turns == {"replied": 2}


def test_another_stt_takes_over_in_the_middle_of_a_turn() -> None:
    """The turn has the text of both."""

    def switched(parts: list[Any]) -> list[Any]:
        return [ServiceSwitcher([parts[0], other]), *parts[1:]]

    async def script(stage: Stage) -> None:
        await stage.says("hello")
        await stage.pushes(f.ManuallySwitchServiceFrame(service=other))
        await other.says("there", 0.5)

    other = Microphone()
    stage = Stage(lambda messages: Says(f"You said {said(messages)}."), around=switched)
    stage.play(script, seconds=10.0)
    assert stage.heard == "You said hello there."
    assert stage.user_turns == {"replied": 1}


FRESH = {"role": "system", "content": "You are now the doctor."}


def _by_context(messages: Messages) -> Says:
    if shows(messages, "80"):
        return Says("You weigh 80.")
    if shows(messages, FRESH["content"]):
        return Says(GREETING)
    if said(messages) == "weigh me":
        return Says("One moment.", calls=(("weigh", {}),))
    return Says("How can I help you?")


def test_a_replaced_context_is_answered_and_an_answer_to_the_old_one_is_not_cut() -> None:
    script = moments(
        (0.0, "hello there"), (2.5, f.LLMMessagesUpdateFrame([dict(FRESH)], run_llm=True))
    )
    stage = Stage(_by_context).play(script)
    assert stage.heard == f"How can I help you? {GREETING}"
    assert brief(stage.requests[-1])[0] == "system: You are now the doctor."


def test_a_result_that_comes_after_the_context_was_replaced_is_delivered() -> None:
    """The call is not in the new context; the request shows it with its result."""

    script = moments(
        (0.0, "weigh me"), (4.0, f.LLMMessagesUpdateFrame([dict(FRESH)], run_llm=False))
    )
    stage = Stage(_by_context, {"weigh": Tool(3.0, 80)}).play(script)
    assert stage.heard == "One moment. You weigh 80."
    assert brief(stage.requests[-1])[0] == "system: You are now the doctor."
    assert stage.user_turns == {"replied": 1}
