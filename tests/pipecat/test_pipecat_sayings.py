"""Fillers and the silence of a user on Pipecat."""

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage

from turnfsm import Flow, HostError, parse_flow
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, shows

ANSWER = "Your order is on its way."
WAIT = "One moment please while I am looking it up for you."
ASK = "Are you still there?"
BYE = "Goodbye then."


def _flow(section: str) -> Flow:
    flow, findings = parse_flow(f"flow: mine\nextends: turn\n{section}\n")
    assert flow is not None, findings
    return flow


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


def test_the_pipeline_ends_when_the_user_says_nothing() -> None:
    flow = _flow(f"silence: [{{after: 8, say: {ASK}}}, {{after: 8, say: {BYE}, hang_up: true}}]")
    stage = Stage(_orders, {}, flow=flow, proof="off").play(_says_nothing, seconds=40.0)
    assert stage.heard == f"{ASK} {BYE}"
    assert stage.when("Are") == pytest.approx(8.2, abs=0.3)
    assert stage.governor is not None
    assert stage.governor.turn.closed


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


def test_a_flow_that_asks_for_missing_audio_is_refused() -> None:
    flow = _flow("not_heard: {say: Could you say that again?, no_audio: I cannot hear you.}")
    with pytest.raises(HostError, match="'audio_stopped', which nothing posts on Pipecat"):
        TurnGovernor(flow, proof="off")
