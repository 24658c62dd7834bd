"""Fillers and the silence of a user on Pipecat."""

import wave
from pathlib import Path

import pytest
from flow_text import parsed

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames.frames import InterruptionFrame
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat_stage import Stage

from turnfsm import Flow, HostError, load_flow
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, shows

ANSWER = "Your order is on its way."
RATE = 16_000
WAIT = "One moment please while I am looking it up for you."
ASK = "Are you still there?"
BYE = "Goodbye then."


def _flow(section: str) -> Flow:
    return parsed(f"flow: mine\nextends: turn\n{section}\n")


def _orders(messages: Messages) -> Says:
    if shows(messages, "on Friday"):
        return Says(ANSWER)
    return Says(calls=(("look_up", {"order": 7}),))


async def _asks(stage: Stage) -> None:
    await stage.says("when does my order arrive")


async def _says_nothing(stage: Stage) -> None:
    await stage.until(30.0)


def _play(seconds: float, flow: Flow | str) -> Stage:
    tools = {"look_up": Tool(seconds, "it arrives on Friday", {})}
    return Stage(_orders, tools, flow=flow, proof="off").play(_asks)


@pytest.mark.parametrize("seconds", [1.0, 2.0, 3.0, 8.0])
def test_a_filler_delays_an_answer_by_three_tenths_at_most(seconds: float) -> None:
    alone = _play(seconds, "turn")
    filled = _play(seconds, _flow(f"fillers: {{after: 1.5, say: {WAIT}}}"))
    assert filled.heard.endswith(ANSWER)
    assert filled.heard.startswith("One moment") is (seconds > 1.5)
    assert filled.when("Your") <= alone.when("Your") + 0.35
    assert filled.errors == []


@pytest.mark.parametrize("seconds", [2.0, 6.0])
def test_a_sound_bridges_a_tool_and_is_not_in_the_conversation(
    tmp_path: Path, seconds: float
) -> None:
    with wave.open(str(tmp_path / "typing.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(b"\x01\x00" * 3 * RATE)
    flow = tmp_path / "mine.yaml"
    flow.write_text("flow: mine\nextends: turn\nfillers: {after: 1.5, audio: typing.wav}\n")
    tools = {"look_up": Tool(seconds, "it arrives on Friday", {})}
    stage = Stage(_orders, tools, flow=load_flow(flow), proof="off")
    stage.words.append("TYPING")
    stage.play(_asks)
    assert stage.heard == f"TYPING {ANSWER}"
    (sound,) = [one for one in stage.speaker.played if one.text == "TYPING"]
    assert sound.end - sound.start == pytest.approx(3.0 if seconds > 5 else 0.6, abs=0.2)
    assert stage.when("Your") <= _play(seconds, "turn").when("Your") + 0.35
    assert "TYPING" not in str(stage.context.messages)
    assert stage.errors == []


def test_the_pipeline_ends_when_the_user_says_nothing() -> None:
    flow = _flow(f"silence: [{{after: 8, say: {ASK}}}, {{after: 8, say: {BYE}, hang_up: true}}]")
    stage = Stage(_orders, {}, flow=flow, proof="off").play(_says_nothing, seconds=40.0)
    assert stage.heard == f"{ASK} {BYE}"
    assert stage.when("Are") == pytest.approx(8.2, abs=0.3)
    assert stage.governor is not None
    assert stage.governor.turn.closed


def test_a_flow_with_silence_and_an_idle_timeout_would_prompt_twice() -> None:
    flow = _flow(f"silence: {{after: 8, say: {ASK}}}")
    governor = TurnGovernor(flow, proof="off")
    with pytest.raises(HostError, match="'mine' has 'silence', and user_idle_timeout=8 would"):
        governor.user(LLMUserAggregatorParams(user_idle_timeout=8.0))


NEVER = 'never_silent: {after: 4, say: Still with you., give_up: "Sorry, please say it again."}'


def test_a_slow_tool_is_bridged_again_and_again() -> None:
    stage = _play(11.0, _flow(NEVER))
    assert stage.heard == f"Still with you. Still with you. {ANSWER}"
    assert stage.errors == []


def test_a_model_that_gives_nothing_is_given_up() -> None:
    slow = Stage(lambda messages: Says(ANSWER, after=20.0), {}, flow=_flow(NEVER), proof="off")
    stage = slow.play(_asks)
    assert stage.heard == "Sorry, please say it again."
    assert stage.when("Sorry") == pytest.approx(1.81 + 4.0 + 0.2, abs=0.2)


async def _murmurs(stage: Stage) -> None:
    await stage.until(2.0)
    await stage.coughs(1.5)
    await stage.until(15.0)


def test_a_user_who_is_not_understood_is_asked_to_say_it_again() -> None:
    flow = _flow("not_heard: {say: Could you say that again?}")
    stage = Stage(_orders, {}, flow=flow, proof="off").play(_murmurs, seconds=20.0)
    assert stage.heard == "Could you say that again?"
    assert stage.when("Could") == pytest.approx(6.5, abs=0.7)


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("not_heard: {say: Once more?, no_audio: I cannot hear you.}", "audio_stopped"),
        ("events: {interruption_detected: {of: step}}", "interruption_detected"),
    ],
)
def test_a_flow_that_reads_what_pipecat_does_not_report_is_refused(section: str, name: str) -> None:
    with pytest.raises(HostError, match=f"'{name}'.*, which nothing posts on Pipecat"):
        TurnGovernor(_flow(section), proof="off")


SLOW = f"fillers: {{after: 1.5, say: {WAIT}, in: [thinking, tool_running]}}"


def _think(seconds: float, flow: Flow | str) -> Stage:
    return Stage(lambda messages: Says(ANSWER, after=seconds), {}, flow=flow, proof="off").play(
        _asks
    )


@pytest.mark.parametrize("seconds", [1.0, 1.45, 1.6, 1.8, 2.5, 4.0, 8.0])
def test_a_slow_model_is_bridged_and_answers_three_tenths_later_at_most(seconds: float) -> None:
    alone, filled = _think(seconds, "turn"), _think(seconds, _flow(SLOW))
    assert filled.heard.endswith(ANSWER), filled.heard
    assert filled.heard.startswith("One moment") is (seconds > 1.6), filled.heard
    assert filled.when("Your") <= alone.when("Your") + 0.35
    assert filled.errors == []


def _slow(messages: Messages) -> Says:
    """The model takes some seconds for the first question, and calls a tool for an order."""
    if shows(messages, "never mind"):
        return Says("As you like.")
    return Says(ANSWER, after=6.0)


async def _asks_and_changes_their_mind(stage: Stage) -> None:
    await stage.says("when does my order arrive")
    await stage.until(4.0)
    await stage.says("never mind that then")


async def _asks_and_coughs(stage: Stage) -> None:
    await stage.says("when does my order arrive")
    await stage.until(4.0)
    await stage.coughs(0.5)


def test_a_user_who_interrupts_the_filler_of_a_slow_model_is_answered_once() -> None:
    stage = Stage(_slow, {}, flow=_flow(SLOW), proof="off").play(_asks_and_changes_their_mind)
    assert stage.heard.endswith("As you like."), stage.heard
    assert ANSWER not in stage.heard
    assert stage.errors == []


def test_after_a_cough_over_the_filler_of_a_slow_model_the_answer_comes() -> None:
    stage = Stage(_slow, {}, flow=_flow(SLOW), proof="off").play(_asks_and_coughs)
    assert stage.heard.endswith(ANSWER), stage.heard
    assert len(stage.requests) == 1


async def _asks_and_is_cut_off(stage: Stage) -> None:
    await stage.says("when does my order arrive")
    await stage.until(4.0)
    await stage.pushes(InterruptionFrame())


def test_an_interruption_of_the_application_ends_the_filler_and_the_reply_behind_it() -> None:
    stage = Stage(_slow, {}, flow=_flow(SLOW), proof="off").play(_asks_and_is_cut_off)
    assert WAIT.startswith(stage.heard), stage.heard
    assert len(stage.heard) < len(WAIT)
    assert stage.user_turns == {"dropped": 1}


async def _asks_twice(stage: Stage) -> None:
    await stage.says("when does my order arrive")
    await stage.until(15.0)
    await stage.says("never mind that then")


def test_the_filler_of_a_slow_model_stands_before_its_answer() -> None:
    stage = Stage(_slow, {}, flow=_flow(SLOW), proof="off").play(_asks_twice)
    asked = [said["content"] for said in stage.requests[-1] if said["role"] == "assistant"]
    assert asked == [WAIT, ANSWER]
    assert stage.user_turns == {"replied": 2}


@pytest.mark.parametrize("seconds", [1.7, 2.5, 3.5])
def test_a_call_of_a_slow_model_is_carried_out_and_its_result_said(seconds: float) -> None:
    def model(messages: Messages) -> Says:
        if shows(messages, "on Friday"):
            return Says(ANSWER)
        return Says(calls=(("look_up", {"order": 7}),), after=seconds)

    tools = {"look_up": Tool(3.0, "it arrives on Friday", {})}
    alone = Stage(model, tools, flow="turn", proof="off").play(_asks)
    stage = Stage(model, tools, flow=_flow(SLOW), proof="off").play(_asks)
    assert stage.heard == f"{WAIT} {ANSWER}"  # a call has nothing to say, so the filler goes on
    assert stage.when("Your") <= alone.when("Your") + 0.35
    assert stage.errors == []


def test_a_model_that_fails_while_the_filler_is_heard_frees_the_floor() -> None:
    stage = Stage(
        lambda messages: Says(ANSWER, after=2.5, fails=True), {}, flow=_flow(SLOW), proof="off"
    ).play(_asks)
    assert stage.heard == WAIT
    assert stage.governor is not None
    assert stage.governor.turn.state == "listening"


HEARD_OUT = f"""
timers: {{opening: 0.5}}
events: {{terms_heard: The caller has heard the terms to their end.}}
facts: {{session: {{informed: {{set_by: terms_heard}}}}}}
actions: {{say_terms: {{say: "{WAIT}", done: terms_heard}}}}
states:
  listening: {{after: {{opening: {{unless: [informed, user_speaking], actions: say_terms}}}}}}
"""


async def _interrupts(stage: Stage) -> None:
    await stage.until(1.5)
    await stage.says("when does my order arrive")
    await stage.until(20.0)


def test_a_text_is_said_again_until_it_was_heard_to_its_end() -> None:
    stage = Stage(lambda messages: Says(ANSWER), {}, flow=_flow(HEARD_OUT), proof="off")
    heard = stage.play(_interrupts).heard
    cut, _, again = heard.partition(ANSWER)
    assert cut.strip() in WAIT
    assert cut.strip() not in ("", WAIT)
    assert again.strip() == WAIT
