"""A realtime service that detects the turns itself, and answers without being asked: Pipecat's own
for OpenAI Realtime, against a scripted server."""

from typing import Any

import attrs
import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat_stage import (
    COUGH,
    COUNT,
    LATE,
    PRICE,
    QUESTION,
    RESULT,
    Greeted,
    Stage,
    counts,
    look_up,
    orders,
)

from turnfsm import parse_flow
from turnfsm.fsm import Flow
from turnfsm.runtime.testing.pipecat import Messages, Model, Says, Tool
from turnfsm.runtime.testing.pipecat.realtime import grok


class ServerVAD(Greeted):
    """The service detects the turns."""

    def __init__(self, model: Model, *args: Any, **options: Any) -> None:
        super().__init__(
            model, *args, **{"server_vad": True, "flow": "speech_to_speech", **options}
        )


def _flow(text: str) -> Flow:
    flow, findings = parse_flow(f"flow: mine\nextends: speech_to_speech\n{text}")
    assert flow is not None, findings
    return flow


@pytest.fixture(params=[None, 1, 2])
def schedule(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order in which tasks run that are ready at the same time."""
    monkeypatch.setattr(Stage, "schedule", request.param)


def once(messages: Messages) -> Says:
    """Calls the tool once, and answers what the user has said last."""
    last = messages[-1]
    if "The result of" in str(last.get("content")):
        return Says(LATE)
    if last["role"] == "tool":
        return Says("It is done.")
    if any(message.get("tool_calls") for message in messages):
        return counts(messages)
    return Says(calls=(("look_up", {}),))


class TestConversations:
    def test_an_answer_that_nobody_asked_for_is_played(self) -> None:
        stage = ServerVAD(counts).talks((3.0, "please count"))
        assert stage.said == COUNT
        assert stage.on_server == ["user: please count", f"assistant: {COUNT}"]
        assert stage.in_context == stage.on_server
        assert len(stage.requests) == 2

    @pytest.mark.usefixtures("schedule")
    def test_a_barge_in_ends_the_answer_and_the_next_turn_is_answered(self) -> None:
        stage = ServerVAD(counts).talks((3.0, "please count"), (6.1, "hello there", 1.5))
        assert stage.said == "One two three four You said hello there."
        assert stage.in_context[2:] == ["user: hello there", "assistant: You said hello there."]

    def test_a_slow_answer_that_is_interrupted_while_it_is_generated(self) -> None:
        def slow(messages: Messages) -> Says:
            return attrs.evolve(counts(messages), each=0.35)

        stage = ServerVAD(slow).talks((3.0, "please count"), (6.2, "hello there"))
        assert stage.said == "One two three four You said hello there."

    def test_a_turn_before_the_answer_is_heard_replaces_it(self) -> None:
        def thinks(messages: Messages) -> Says:
            return attrs.evolve(counts(messages), after=1.5)

        stage = ServerVAD(thinks).talks((3.0, "please count"), (5.2, "hello there"))
        assert stage.said == "You said hello there."

    @pytest.mark.usefixtures("schedule")
    @pytest.mark.parametrize("flow", ["speech_to_speech", "duplex"])
    def test_a_tool_runs_on_under_a_turn_and_its_result_is_delivered_once(self, flow: str) -> None:
        stage = ServerVAD(orders, look_up(4.0), flow=flow).talks(
            (3.0, QUESTION), (6.0, "and what did it cost")
        )
        assert stage.said == f"{PRICE} {LATE}"
        assert stage.effects == ["look_up"]
        assert sum(RESULT in line for line in stage.on_server) == 1

    def test_a_tool_runs_on_under_a_cough(self) -> None:
        stage = ServerVAD(once, look_up(3.0)).talks((3.0, QUESTION), (6.0, COUGH))
        assert stage.said == f"You said (noise). {LATE}"
        assert (stage.effects, stage.cancelled) == (["look_up"], [])

    @pytest.mark.usefixtures("schedule")
    def test_a_result_that_comes_while_the_user_speaks_waits_for_the_answer(self) -> None:
        stage = ServerVAD(once, look_up(2.0)).talks((3.0, QUESTION), (6.0, "hello there", 2.0))
        assert stage.said == f"You said hello there. {LATE}"

    def test_a_result_that_comes_during_the_answer_waits_for_its_end(self) -> None:
        stage = ServerVAD(once, look_up(3.5)).talks((3.0, QUESTION), (6.0, "please count"))
        assert stage.said == f"{COUNT} {LATE}"


def test_a_held_tool_keeps_its_preamble_and_the_next_answer_waits_for_its_end() -> None:
    def model(messages: Messages) -> Says:
        if any(message.get("tool_calls") for message in messages):
            return once(messages)
        return Says("Let me look that up for you right away now.", calls=(("look_up", {}),))

    flow = _flow("tools: {by_name: {look_up: hold}}")
    stage = ServerVAD(model, look_up(5.0), flow=flow).talks((3.0, QUESTION), (5.5, "hello there"))
    assert stage.said == f"Let me look that up for you right away now. You said hello there. {LATE}"


def test_no_effect_before_the_yes() -> None:
    def model(messages: Messages) -> Says:
        return once(messages) if messages[-1]["content"] != "yes" else Says("Good.")

    flow = _flow("tools: {confirm: {look_up: {say: Shall I?}}}")
    stage = ServerVAD(model, look_up(1.0), flow=flow, speaks=True).talks(
        (3.0, QUESTION), (9.0, "yes"), seconds=30.0
    )
    assert stage.effects == ["look_up"]
    assert stage.said == f"Shall I? Good. {LATE}"


def test_without_a_yes_the_tool_does_not_run() -> None:
    flow = _flow("tools: {confirm: {look_up: {say: Shall I?}}}")
    stage = ServerVAD(once, look_up(1.0), flow=flow, speaks=True).talks(
        (3.0, QUESTION), (9.0, "no stop"), seconds=30.0
    )
    assert stage.effects == []


def test_an_objection_stops_a_tool_before_its_effect() -> None:
    tools = {"look_up": Tool(4.0, RESULT, commits=True)}
    stage = ServerVAD(once, tools).talks((3.0, QUESTION), (6.0, "no stop"))
    assert stage.effects == []


class TestGrok:
    def test_a_barge_in_ends_the_answer_and_the_next_turn_is_answered(self) -> None:
        stage = ServerVAD(counts, realtime=grok).talks(
            (3.0, "please count"), (6.1, "hello there", 1.5)
        )
        assert stage.said == "One two three four You said hello there."

    def test_a_tool_runs_on_under_a_turn_and_its_result_is_delivered_once(self) -> None:
        stage = ServerVAD(orders, look_up(4.0), realtime=grok).talks(
            (3.0, QUESTION), (6.0, "and what did it cost")
        )
        assert stage.said == f"{PRICE} {LATE}"


def test_a_call_with_the_policy_cancel_ends_when_the_user_is_answered() -> None:
    flow = _flow("tools: {by_name: {look_up: cancel}}")
    stage = ServerVAD(once, look_up(9.0), flow=flow).talks((3.0, QUESTION), (6.0, "hello there"))
    assert (stage.effects, stage.cancelled) == ([], ["look_up"])


def test_a_model_that_does_not_answer_is_not_asked() -> None:
    stage = ServerVAD(counts)
    assert stage.server is not None
    stage.server.answers = False
    stage.talks((3.0, "please count"))
    assert (stage.said, len(stage.requests)) == ("", 1)


def test_a_failed_answer_is_reported_and_the_next_turn_is_answered() -> None:
    def fails(messages: Messages) -> Says:
        return Says(fails=True) if messages[-1]["content"] == "please fail" else counts(messages)

    stage = ServerVAD(fails).talks((3.0, "please fail"), (8.0, "hello there"))
    assert stage.said == "You said hello there."


def test_a_typed_message_is_answered() -> None:
    typed = f.LLMMessagesAppendFrame([{"role": "user", "content": "typed"}], run_llm=True)
    stage = ServerVAD(counts).talks((3.0, "please count"), (10.0, typed), (14.0, "hello there"))
    assert stage.said == f"{COUNT} {COUNT} You said hello there."


def test_an_interruption_of_the_application_ends_the_answer() -> None:
    stage = ServerVAD(counts).talks(
        (3.0, "please count"), (6.4, f.InterruptionWorkerFrame()), (10.0, "hello there")
    )
    assert stage.said == "One two three four five You said hello there."


def test_an_interruption_of_the_application_while_the_answer_is_generated() -> None:
    def slow(messages: Messages) -> Says:
        return attrs.evolve(counts(messages), each=0.35)

    stage = ServerVAD(slow).talks(
        (3.0, "please count"), (6.5, f.InterruptionWorkerFrame()), (11.0, "hello there")
    )
    assert stage.said == "One two three four five You said hello there."
