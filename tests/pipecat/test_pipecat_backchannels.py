"""The agent's own backchannels, such as "mhm", while the user talks on."""

import asyncio
import wave
from pathlib import Path
from typing import Any

import pytest
from flow_text import parsed

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.audio.mixers.base_audio_mixer import BaseAudioMixer
from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.frames.frames import InterruptionFrame, MixerControlFrame, MixerEnableFrame
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.transports.base_transport import TransportParams
from pipecat_stage import Stage

from turnfsm import Flow, HostError, load_flow
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Says, ScriptedVAD, Tool, said

RATE = 16_000
FLOW = "flow: mine\nextends: {extends}\nbackchannels: {{say: [Mhm., Aha.], after: 3{more}}}\n"
STORY = "so I was on the train and then it stopped in the middle of nowhere for two hours"
ANSWER = "As you like."


def flow_of(more: str = "", extends: str = "turn") -> Flow:
    return parsed(FLOW.format(extends=extends, more=more))


async def talk(stage: Any, *pauses: float, until: float, words: str = "and so on") -> None:
    """The user talks from now on, with a pause of 0.4 s at each of these seconds."""
    now = stage.now
    gaps = [(at - now, at - now + 0.4) for at in pauses]
    await stage.says(words, until - now, pauses=gaps)


def talks(*pauses: float, until: float = 12.0) -> Any:
    async def script(stage: Stage) -> None:
        await stage.until(1.0)
        await talk(stage, *pauses, until=until)

    return script


def answers(messages: Messages) -> Says:
    return Says(STORY if "tell" in said(messages) else ANSWER)


def play(script: Any, flow: Flow | str | None = None, seconds: float = 20.0, **options: Any) -> Any:
    options.setdefault("vad", ScriptedVAD())
    options.setdefault("tools", {})
    stage = Stage(answers, flow=flow or flow_of(), proof="off", **options)
    return stage.play(script, seconds=seconds)


def test_it_is_said_at_a_pause_after_some_seconds_of_speech() -> None:
    stage = play(talks(3.0, 6.0, 8.0, 11.0))
    assert stage.beside == [(6.2, "Mhm."), (11.2, "Aha.")]


@pytest.mark.parametrize("times_words", [False, True])
def test_nothing_else_changes(times_words: bool) -> None:
    """It is no speech, no message and no interruption, and no state is published for it."""
    spoken = play(talks(6.0, 11.0), times_words=times_words)
    without = play(talks(6.0, 11.0), "turn", times_words=times_words)
    assert spoken.beside == [(6.2, "Mhm."), (11.2, "Aha.")]
    assert spoken.heard == without.heard == ANSWER
    assert spoken.when("As") == pytest.approx(without.when("As"), abs=0.06)
    assert spoken.context.messages == without.context.messages
    assert spoken.reports == without.reports
    assert spoken.states == without.states
    assert len(spoken.requests) == len(without.requests) == 1
    assert spoken.user_turns == without.user_turns
    assert spoken.errors == []


def test_without_a_pause_after_so_much_speech_none_is_said() -> None:
    assert play(talks(2.0, until=3.4)).beside == []
    assert [at for at, _ in play(talks(until=12.0)).beside if at < 12.0] == []


@pytest.mark.parametrize("words", ["Mhm.", "Mhm mhm yes yes I see I see that is right."])
def test_the_agents_speech_ends_one_that_is_still_heard(words: str) -> None:
    """The last pause is the end of the turn, which nobody knows yet."""
    flow = parsed(f"flow: mine\nextends: turn\nbackchannels: {{say: {words}, after: 3}}\n")
    stage = play(talks(until=6.0), flow)
    assert stage.beside[0] == (6.2, words.split()[0])
    assert stage.heard == ANSWER
    answer = stage.began + stage.when("As")
    assert stage.speaker.beside[-1].end <= answer + 0.05
    assert stage.when("As") == pytest.approx(play(talks(until=6.0), "turn").when("As"), abs=0.06)


async def _talks_over_the_agent(stage: Stage) -> None:
    await stage.until(1.0)
    await stage.says("tell me")
    for at in (4.0, 8.4):
        await stage.until(at)
        await talk(stage, at + 3.5, until=at + 4.0, words="and then we waited")


def test_none_is_said_while_the_agent_has_the_floor() -> None:
    stage = play(_talks_over_the_agent, flow_of(extends="uninterruptible"), seconds=30.0)
    story = stage.speaker.played[len(STORY.split()) - 1].end - stage.began
    assert stage.heard.startswith(STORY)
    assert 8.0 < story < 11.0  # after the first pause, and before the second one
    assert stage.beside == [(12.2, "Mhm.")]


async def _talks_while_a_tool_runs(stage: Stage) -> None:
    await stage.until(1.0)
    await stage.says("search it")
    await stage.until(4.0)
    await talk(stage, 8.0, until=9.0, words="it was blue")


@pytest.mark.parametrize(("states", "heard"), [("listening", 0), ("[listening, tool_running]", 1)])
def test_while_a_tool_runs_it_is_said_if_the_flow_says_so(states: str, heard: int) -> None:
    def model(messages: Messages) -> Says:
        if "search" in said(messages):
            return Says(calls=(("search", {}),))
        return Says(ANSWER)

    stage = Stage(
        model,
        {"search": Tool(12.0)},
        flow=flow_of(f", in: {states}"),
        proof="off",
        vad=ScriptedVAD(),
    ).play(_talks_while_a_tool_runs, seconds=30.0)
    assert len([at for at, _ in stage.beside if at < 9.0]) == heard


def test_a_voice_that_fails_costs_only_the_backchannels(caplog: pytest.LogCaptureFixture) -> None:
    stage = play(talks(6.0), voice_fails_on="Aha")
    assert stage.beside == []
    assert stage.heard == ANSWER
    assert "the backchannels were not synthesised" in caplog.text


async def _is_cut_off_at_once(stage: Stage) -> None:
    await stage.until(1.0)
    script = asyncio.ensure_future(talk(stage, 6.0, until=8.0))
    await stage.until(1.15)
    await stage.pushes(InterruptionFrame())
    await script


def test_an_interruption_while_they_are_synthesised_costs_none() -> None:
    assert play(_is_cut_off_at_once).beside[0] == (6.2, "Mhm.")


class Hum(BaseAudioMixer):
    """The application's own mixer."""

    def __init__(self) -> None:
        self.did: list[str] = []

    async def start(self, sample_rate: int) -> None:
        self.did.append(f"start {sample_rate}")

    async def stop(self) -> None:
        self.did.append("stop")

    async def process_frame(self, frame: MixerControlFrame) -> None:
        self.did.append(type(frame).__name__)

    async def mix(self, audio: bytes) -> bytes:
        return audio


@pytest.mark.parametrize("by_destination", [False, True])
async def test_a_mixer_of_the_application_stays(by_destination: bool) -> None:
    own, other = Hum(), Hum()
    governor = TurnGovernor(flow_of(), proof="off")
    params = governor.transport(
        TransportParams(audio_out_mixer={None: own, "tv": other} if by_destination else own)
    )
    mixer: Any = params.audio_out_mixer
    if by_destination:
        assert mixer["tv"] is other
        mixer = mixer[None]
    await mixer.start(RATE)
    await mixer.process_frame(MixerEnableFrame(enable=True))
    assert await mixer.mix(b"\x01\x00") == b"\x01\x00"
    await mixer.stop()
    assert own.did == [f"start {RATE}", "MixerEnableFrame", "stop"]


def test_it_may_be_a_sound(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "mhm.wav"), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", "not compressed"))
        file.writeframes(b"\x01\x00" * (RATE // 2))
    path = tmp_path / "mine.yaml"
    path.write_text("flow: mine\nextends: turn\nbackchannels: {audio: mhm.wav, after: 3}\n")
    stage = Stage(answers, {}, flow=load_flow(path), proof="off", vad=ScriptedVAD())
    stage.words.append("MHM")
    stage.play(talks(6.0, until=8.0))
    (one,) = [one for one in stage.speaker.beside if one.start - stage.began < 8.0]
    assert one.text == "MHM"
    assert one.end - one.start == pytest.approx(0.5, abs=0.05)


def test_on_hold_none_is_said() -> None:
    async def script(stage: Stage) -> None:
        await stage.until(1.0)
        await stage.says("hold on please")
        await stage.until(4.0)
        await talk(stage, 8.0, until=9.0, words="have you seen it")

    flow = flow_of("}\nhold: {until: [I am back], then: Are you back?")
    assert play(script, flow).beside == []


def test_without_a_vad_that_measures_pauses_it_is_refused() -> None:
    governor = TurnGovernor(flow_of(), proof="off")
    with pytest.raises(HostError, match=r"pauses.*; give the VAD to the governor: governor.user"):
        governor.user(LLMUserAggregatorParams())


def test_the_default_pause_is_found_by_a_vad_with_the_default_stop_secs() -> None:
    """The 3 s count from the beginning of speech as this VAD reports it: after each pause."""
    vad = ScriptedVAD(stop_secs=VADParams().stop_secs)
    assert play(talks(5.0, 6.0, 10.0), vad=vad).beside == [(5.2, "Mhm."), (10.2, "Aha.")]


def test_a_vad_that_ends_speech_before_the_pause_is_refused() -> None:
    governor = TurnGovernor(flow_of(more=", pause: 0.3"), proof="off")
    vad = ScriptedVAD(stop_secs=0.2)
    with pytest.raises(
        HostError, match=r"pauses of 0.3 s.*after 0.2 s.*VADParams\(stop_secs=0.6\)"
    ):
        governor.user(LLMUserAggregatorParams(vad_analyzer=vad))
