"""A realtime service whose turn detection is off: Pipecat's own for OpenAI Realtime, against a
scripted server."""

from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.services.llm_service import FunctionCallParams
from pipecat_stage import (
    COUGH,
    COUNT,
    LATE,
    PRICE,
    QUESTION,
    RESULT,
    Greeted,
    Stage,
    brief,
    counts,
    look_up,
    moments,
    orders,
)

from turnfsm import HostError, parse_flow
from turnfsm.fsm import Flow
from turnfsm.runtime.testing.pipecat import Messages, Model, Says, ScriptedVAD, Tool
from turnfsm.runtime.testing.pipecat.realtime import grok


def thinks(model: Model, messages: Messages) -> Says:
    return attrs.evolve(model(messages), after=1.5)


class Realtime(Greeted):
    """The service leaves the turns to the flow."""

    def __init__(self, model: Model, *args: Any, **options: Any) -> None:
        super().__init__(model, *args, **{"vad": ScriptedVAD(stop_secs=0.2), **options})


def _flow(text: str) -> Flow:
    flow, findings = parse_flow(f"flow: mine\nextends: turn\n{text}")
    assert flow is not None, findings
    return flow


@pytest.fixture(params=[None, 1, 2])
def schedule(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order in which tasks run that are ready at the same time."""
    monkeypatch.setattr(Stage, "schedule", request.param)


@pytest.mark.usefixtures("schedule")
class TestConversations:
    def test_a_turn_is_answered_with_audio_from_its_audio(self) -> None:
        stage = Realtime(counts).talks((3.0, "please count"))
        assert stage.said == COUNT
        assert stage.on_server == ["user: please count", f"assistant: {COUNT}"]
        assert stage.in_context == stage.on_server
        assert stage.user_turns == {"replied": 1}

    def test_a_cough_pauses_the_answer_and_the_model_never_hears_it(self) -> None:
        stage = Realtime(counts).talks((3.0, "please count"), (6.0, COUGH), (14.0, "thank you"))
        assert stage.said == f"{COUNT} You said thank you."
        assert "paused" in stage.states
        assert "interrupted" not in stage.states
        assert [line for line in stage.on_server if line.startswith("user")] == [
            "user: please count",
            "user: thank you",
        ]

    def test_a_barge_in_ends_the_answer_and_the_next_turn_is_answered(self) -> None:
        stage = Realtime(counts).talks((3.0, "please count"), (6.1, "hello there", 1.5))
        assert stage.said == "One two three four You said hello there."
        assert stage.on_server[2:] == ["user: hello there", "assistant: You said hello there."]
        assert stage.in_context[2:] == stage.on_server[2:]
        assert stage.user_turns == {"replied": 2}

    def test_what_an_interrupted_response_still_sends_is_not_heard(self) -> None:
        def slow(messages: Messages) -> Says:
            return attrs.evolve(counts(messages), each=0.35)

        stage = Realtime(slow).talks((3.0, "please count"), (5.6, "hello there"))
        assert stage.said == "One two You said hello there."
        assert stage.server is not None
        assert "response.cancel" in stage.server.events

    def test_a_tool_runs_on_under_a_turn_and_its_result_is_delivered_once(self) -> None:
        stage = Realtime(orders, look_up(3.0)).talks((3.0, QUESTION), (6.0, "and what did it cost"))
        assert stage.said == f"{PRICE} {LATE}"
        assert stage.effects == ["look_up"]
        assert sum(RESULT in line for line in stage.on_server) == 1
        assert "<running >" in stage.on_server[2]  # the model must not call it again

    def test_a_tool_runs_on_under_a_cough(self) -> None:
        stage = Realtime(orders, look_up(3.0)).talks((3.0, QUESTION), (6.0, COUGH))
        assert stage.said.endswith("in the early afternoon.")
        assert (stage.effects, stage.cancelled) == (["look_up"], [])

    def test_results_of_two_calls_are_answered_together(self) -> None:
        def both(messages: Messages) -> Says:
            if sum(m["role"] == "tool" for m in messages) == 2:
                return Says("Both are done.")
            return Says(calls=(("look_up", {}), ("price", {})))

        tools = {"look_up": Tool(1.0, "there"), "price": Tool(2.0, "cheap")}
        stage = Realtime(both, tools).talks((3.0, "both please"))
        assert stage.said == "Both are done."
        assert len(stage.requests) == 3

    def test_a_turn_while_the_answer_is_generated_replaces_it(self) -> None:
        stage = Realtime(partial(thinks, counts)).talks((3.0, "please count"), (5.2, "hello there"))
        assert stage.said == "You said hello there."
        assert stage.on_server[-1] == f"assistant: {stage.said}"
        assert stage.user_turns == {"superseded": 1, "replied": 1}

    def test_a_cough_while_the_answer_is_generated_delays_it(self) -> None:
        stage = Realtime(partial(thinks, counts)).talks((3.0, "please count"), (5.2, COUGH))
        assert (stage.said, len(stage.requests)) == (COUNT, 2)

    def test_the_audio_of_a_turn_that_had_to_wait_is_sent_when_it_is_answered(self) -> None:
        flow = _flow("tools: {by_name: {look_up: hold}}")
        stage = Realtime(orders, look_up(4.0), flow=flow).talks(
            (3.0, QUESTION), (6.0, "and what did it cost")
        )
        assert stage.on_server[-2:] == [
            "user: and what did it cost",
            f"assistant: {PRICE} {LATE}",
        ]
        assert stage.said == f"{PRICE} {LATE}"


class TestGrok:
    """Its protocol is that of OpenAI, but it announces a response, and each item of it, twice."""

    def test_a_cough_pauses_the_answer(self) -> None:
        stage = Realtime(counts, realtime=grok).talks((3.0, "please count"), (6.0, COUGH))
        assert stage.said == COUNT
        assert stage.on_server == ["user: please count", f"assistant: {COUNT}"]

    def test_a_barge_in_ends_the_answer_and_the_next_turn_is_answered(self) -> None:
        stage = Realtime(counts, realtime=grok).talks(
            (3.0, "please count"), (6.1, "hello there", 1.5)
        )
        assert stage.said == "One two three four You said hello there."
        assert stage.on_server[2:] == ["user: hello there", "assistant: You said hello there."]
        assert stage.in_context[2:] == stage.on_server[2:]

    def test_a_tool_runs_on_under_a_turn_and_its_result_is_delivered_once(self) -> None:
        stage = Realtime(orders, look_up(3.0), realtime=grok).talks(
            (3.0, QUESTION), (6.0, "and what did it cost")
        )
        assert (stage.said, stage.effects) == (f"{PRICE} {LATE}", ["look_up"])
        assert sum(RESULT in line for line in stage.on_server) == 1

    def test_a_failed_response_is_reported_and_the_next_turn_is_answered(self) -> None:
        def fails(messages: Messages) -> Says:
            last = messages[-1]["content"]
            return Says(fails=True) if last == "please fail" else counts(messages)

        stage = Realtime(fails, realtime=grok).talks((3.0, "please fail"), (8.0, "hello there"))
        assert stage.said == "You said hello there."
        assert stage.user_turns == {"dropped": 1, "replied": 1}


def test_an_interruption_of_the_application_ends_the_response() -> None:
    stage = Realtime(counts).talks(
        (3.0, "please count"), (6.5, f.InterruptionWorkerFrame()), (10.0, "hello there")
    )
    assert stage.said == "One two three four five You said hello there."


def test_the_first_request_gives_the_service_the_conversation_as_text() -> None:
    stage = Realtime(counts)
    stage.play(moments((1.0, "please count")), seconds=15.0)
    assert stage.heard == COUNT
    assert stage.server is not None
    assert "input_audio_buffer.commit" not in stage.server.events


def test_what_the_user_types_is_answered() -> None:
    typed = f.LLMMessagesAppendFrame([{"role": "user", "content": "typed"}], run_llm=True)
    stage = Realtime(counts).talks((3.0, "please count"), (10.0, typed), (14.0, "hello there"))
    assert stage.said == f"{COUNT} {COUNT} You said hello there."
    assert "system: typed" in stage.on_server


def test_the_transcripts_of_the_service_are_left_to_the_stt() -> None:
    stage = Realtime(counts)
    assert stage.server is not None
    stage.server.transcribes = True
    stage.talks((3.0, "please count"))
    assert (stage.said, stage.user_turns) == (COUNT, {"replied": 1})
    assert stage.in_context == ["user: please count", f"assistant: {COUNT}"]


def test_a_failed_response_is_reported_and_the_next_turn_is_answered() -> None:
    def fails(messages: Messages) -> Says:
        return Says(fails=True) if messages[-1]["content"] == "please fail" else counts(messages)

    stage = Realtime(fails).talks((3.0, "please fail"), (8.0, "hello there"))
    assert stage.said == "You said hello there."
    assert stage.user_turns == {"dropped": 1, "replied": 1}


def test_the_model_is_told_that_a_call_runs_when_the_turn_continues_without_it() -> None:
    def waits(messages: Messages) -> Says:
        called = any(message.get("tool_calls") for message in messages)
        return Says("It still runs.") if called else Says(calls=(("look_up", {}),))

    stage = Realtime(waits, look_up(30.0), limits="brisk").talks((3.0, QUESTION))
    assert stage.said == "It still runs."
    assert stage.on_server[2] == "system: <running >"


def test_another_worker_continues_and_its_instructions_are_sent_once(tmp_path: Path) -> None:
    def calls(messages: Messages) -> Says:
        done = any(message["role"] == "tool" for message in messages)
        return Says(LATE) if done else Says(calls=(("look_up", {}),))

    stored = {"store": tmp_path / "calls.db", "session_id": "room"}
    Realtime(calls, look_up(9.0), **stored).talks((3.0, QUESTION), seconds=7.5)
    second = Realtime(calls, look_up(1.0), **stored)
    second.play(moments((0.0, COUGH)), seconds=10.0)
    assert second.heard == LATE
    assert second.server is not None
    told = [line for line in brief(second.server.conversation) if "Apologise once" in line]
    assert len(told) == 1


def test_functions_that_are_added_later_are_governed() -> None:
    async def look_up(params: FunctionCallParams) -> None:
        """Look up an order."""
        await params.result_callback(RESULT)

    def calls(messages: Messages) -> Says:
        done = any(message["role"] == "tool" for message in messages)
        return Says(LATE) if done else Says(calls=(("look_up", {}),))

    stage = Realtime(calls).talks((2.0, f.LLMSetToolsFrame([look_up])), (3.0, QUESTION))
    assert stage.said == LATE
    assert stage.governor is not None
    assert [call.name for call in stage.governor.ledger] == ["look_up"]


def test_fixed_texts_are_said_by_the_tts_and_answers_by_the_model() -> None:
    text = f.TTSSpeakFrame("One moment please.")
    stage = Realtime(counts, speaks=True).talks((3.0, "please count"), (9.0, text))
    assert stage.said == f"{COUNT} One moment please."


@pytest.mark.parametrize(
    ("text", "speaks", "said"),
    [
        ("silence: {after: 4, say: Are you there?}", False, "says fixed texts (say_silence"),
        ("fillers: {after: 1, say: Wait., in: thinking}", True, "has fillers for a slow model"),
    ],
)
def test_a_flow_that_a_realtime_service_cannot_carry_out_is_refused(
    text: str, speaks: bool, said: str
) -> None:
    stage = Realtime(counts, flow=_flow(text), proof="off", speaks=speaks)
    with pytest.raises(HostError) as refused:
        stage.talks((3.0, "please count"))
    assert said in str(refused.value)


def test_a_realtime_service_can_be_observed() -> None:
    stage = Realtime(counts, observe=True).talks((3.0, "please count"), (6.0, COUGH))
    assert stage.said == "One two three You said (noise)."
    assert stage.governor is not None
    (note,) = stage.governor.turn.journal.notes("otherwise")
    assert "interrupted at 6.1 s by a noise" in str(note.data["did"])


def test_a_pipeline_without_an_stt_is_refused() -> None:
    """Nothing else tells the flow early enough what a voice has said."""
    stage = Realtime(counts, around=lambda parts: parts[1:])
    with pytest.raises(HostError, match="there is no STT"):
        stage.talks((3.0, "please count"))
