"""Functions that were registered with the LLM service, and not with the governor."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from flow_text import parsed
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import FunctionCallParams
from pipecat_stage import COUGH, Stage, moments

from turnfsm.runtime.pipecat.schemas import FunctionSchema
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said, shows

ASK = "please book ten"  # the tool runs from about 2.7 to 3.7 s
PREAMBLE = "I book ten for you now."


async def _book(call: FunctionCallParams) -> None:
    await asyncio.sleep(1.0)
    await call.result_callback({"booked": "ten"})


def _model(messages: Messages) -> Says:
    if "where" in said(messages) and "where" in str(messages[-1].get("content")):
        return Says("In Mill Road.")
    if shows(messages, "booked"):
        return Says("It is booked.")
    return Says(PREAMBLE, (("book", {"time": "ten"}),))


Parts = list[FrameProcessor]


def _stage(prepare: Callable[[Any], None]) -> Stage:
    def around(parts: Parts) -> Parts:
        prepare(parts[2])
        return parts

    return Stage(_model, around=around)


def _unwrapped(**options: Any) -> Callable[[Any], None]:
    return lambda model: model.register_function("book", _book, **options)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("at", [2.2, 2.7, 3.2, 3.7, 4.1, 4.5, 5.2])
def test_its_result_is_said_after_a_cough_at_any_moment(at: float, asynchronous: bool) -> None:
    options = {"cancel_on_interruption": False} if asynchronous else {}
    stage = _stage(_unwrapped(**options)).play(moments((0.0, ASK), (at, COUGH)), seconds=20.0)
    assert stage.heard == f"{PREAMBLE} It is booked."


@pytest.mark.parametrize("at", [4.1, 5.0, 6.6])
def test_the_requests_and_what_is_heard_are_the_same_as_with_a_governed_function(at: float) -> None:
    """Here the caller asks something else, which the preamble's end, the result, or its reply
    may precede."""

    script = moments((0.0, ASK), (at, "where are you"))
    alone = _stage(_unwrapped(cancel_on_interruption=False)).play(script, seconds=20.0)
    governed = Stage(_model, {"book": Tool(1.0, {"booked": "ten"})}).play(script, seconds=20.0)
    assert alone.requests == governed.requests
    assert alone.heard == governed.heard
    assert alone.user_turns == governed.user_turns


def _later_at_the_model(stage: Stage) -> None:
    stage.model.register_function("book", _book)


def _later_and_asynchronous(stage: Stage) -> None:
    stage.model.register_function("book", _book, cancel_on_interruption=False)


@pytest.mark.parametrize("late", [_later_at_the_model, _later_and_asynchronous])
def test_a_warning_says_that_another_handler_runs_than_the_governed_one(
    late: Callable[[Stage], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def script(stage: Stage) -> None:
        late(stage)
        await stage.says(ASK)
        await stage.until(3.2)
        await stage.coughs()

    stage = Stage(_model, {"book": Tool(1.0)}).play(script, seconds=20.0)
    assert stage.heard == f"{PREAMBLE} It is booked."
    assert "governor.register_function(llm, 'book', ...)" in caplog.text
    assert "was replaced by a later llm.register_function" in caplog.text


def test_a_call_of_a_function_that_does_not_exist_is_answered_without_such_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Pipecat itself logs that the model has called what is not there."""

    def model(messages: Messages) -> Says:
        if messages[-1].get("role") == "user":
            return Says(PREAMBLE, (("book", {}),))
        return Says("I cannot book.")

    async def script(stage: Stage) -> None:
        await stage.says(ASK)

    stage = Stage(model, {"other": Tool(1.0, "done")}).play(script, seconds=20.0)
    assert stage.heard == f"{PREAMBLE} I cannot book."
    assert "not governed" not in caplog.text


def _schema(name: str = "book") -> FunctionSchema:
    return FunctionSchema(name, "Book.", {"time": {"type": "string"}}, ["time"])


def test_the_start_warns_of_a_function_that_the_flow_cannot_govern(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def script(stage: Stage) -> None:
        await asyncio.sleep(0)

    def around(parts: Parts) -> Parts:
        parts[2].register_function("book", _book)
        stage.context.set_tools([_schema()])
        return parts

    stage = Stage(_model, around=around)
    stage.play(script, seconds=1.0)
    assert "book is registered with the LLM service" in caplog.text
    assert "governor.register_function(llm, 'book', ...)" in caplog.text


CONFIRM = "flow: f\nextends: turn\ntools: {confirm: {%s: {say: 'Book %s?'}}}\n"


@pytest.mark.parametrize(
    ("confirmed", "registers", "message"),
    [
        (CONFIRM % ("book", "{time}"), True, "does not wait for a yes"),
        (CONFIRM % ("bok", "it"), False, "did you mean 'book'"),
        (CONFIRM % ("book", "{tme}"), False, "book has no parameter 'tme'"),
    ],
)
def test_a_pipeline_whose_functions_do_not_fit_the_flow_ends_at_its_start(
    confirmed: str, registers: bool, message: str
) -> None:
    """Functions may be registered, and given to the context, up to the start."""

    async def script(stage: Stage) -> None:
        await asyncio.sleep(0)

    def around(parts: Parts) -> Parts:
        stage.context.set_tools([_schema()])
        return parts

    def pipeline() -> Any:
        made = make()
        if registers:
            stage.model.register_function("book", _book)
        return made

    stage = Stage(_model, around=around, flow=parsed(confirmed), proof="off")
    make, stage._pipeline = stage._pipeline, pipeline  # type: ignore[method-assign]
    stage.play(script, seconds=1.0)
    assert message in " ".join(stage.errors)


def test_a_name_of_the_flow_that_resembles_a_function_gets_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def script(stage: Stage) -> None:
        await asyncio.sleep(0)

    flow = parsed("flow: f\nextends: turn\ntools: {by_name: {bok: hold}}\n")
    Stage(_model, {"book": Tool(1.0)}, flow=flow).play(script, seconds=1.0)
    assert "<flow>:3:19: no agent has the tool 'bok'; did you mean 'book'?" in caplog.text
    assert "did you mean 'book'" in caplog.text


def test_a_governed_function_gets_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    Stage(_model, {None: Tool(1.0, {"booked": "ten"})}).play(moments((0.0, ASK)), seconds=20.0)
    assert caplog.text == ""


@pytest.mark.parametrize("noise", [False, True])
def test_the_model_is_told_of_a_timeout_also_during_a_noise(noise: bool) -> None:
    """Pipecat cancels the call, and would not ask the model while the user makes a noise."""

    async def hangs(call: FunctionCallParams) -> None:
        await asyncio.sleep(60.0)

    async def script(stage: Stage) -> None:
        await stage.says(ASK)
        await stage.until(7.4)
        if noise:
            await stage.coughs(2.0)

    def model(messages: Messages) -> Says:
        if shows(messages, "CANCELLED"):
            return Says("It took too long.")
        return _model(messages)

    def around(parts: Parts) -> Parts:
        parts[2].register_function("book", hangs, timeout_secs=5.0)
        return parts

    stage = Stage(model, around=around).play(script, seconds=20.0)
    assert stage.heard == f"{PREAMBLE} It took too long."


def test_a_handler_that_returns_without_a_result_gets_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def forgets(call: FunctionCallParams) -> None:
        """It has its effect, and gives no result."""

    def around(parts: Parts) -> Parts:
        assert stage.governor is not None
        stage.governor.register_function(stage.model, "book", forgets)
        return parts

    stage = Stage(_model, around=around)
    stage.play(moments((0.0, ASK)), seconds=10.0)
    assert (
        "the handler of book (call_1) has returned without calling result_callback" in caplog.text
    )
