"""The model smart-turn as a turn detector of a session, with its real file where Pipecat is."""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from installed import PIPECAT
from livekit import rtc
from livekit.agents.voice.turn import (
    TurnDetectionEvent,
    _StreamingTurnDetector,
    _StreamingTurnDetectorStream,
)

from turnfsm.livekit import SmartTurn, TurnSession
from turnfsm.runtime.livekit.smart_turn_model import RATE, _features, load_smart_turn
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedUser, ScriptedVAD, Stage

needs_the_model = pytest.mark.skipif(not PIPECAT, reason="the model is in pipecat-ai's wheel")


def test_without_the_model_the_error_says_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as empty:
        empty.writestr("other/__init__.py", "")
    with pytest.raises(FileNotFoundError, match="does not have the model smart-turn: install pip"):
        SmartTurn(file=wheel)
    with pytest.raises(FileNotFoundError, match="is not there: install pipecat-ai, whose wheel"):
        SmartTurn(file=tmp_path / "no.onnx")
    monkeypatch.setattr("turnfsm.runtime.livekit.smart_turn_model.find_spec", lambda name: None)
    load_smart_turn.cache_clear()
    with pytest.raises(FileNotFoundError, match="pip download --no-deps pipecat-ai"):
        SmartTurn()


@needs_the_model
def test_the_model_is_found_in_a_wheel_that_is_not_installed(tmp_path: Path) -> None:
    wheel = tmp_path / "pipecat_ai.whl"
    pipecat = find_spec("pipecat")
    assert pipecat is not None
    (folder,) = pipecat.submodule_search_locations or ()
    (model,) = Path(folder).rglob("smart-turn-*.onnx")
    with zipfile.ZipFile(wheel, "w") as made:
        made.write(model, f"pipecat/audio/turn/smart_turn/data/{model.name}")
    silence = bytes(2 * RATE)
    installed, packed = load_smart_turn(None), load_smart_turn(wheel)
    assert (
        packed.ended(silence) == installed.ended(silence) == load_smart_turn(model).ended(silence)
    )


@needs_the_model
def test_the_model_hears_what_it_hears_in_pipecat() -> None:
    from pipecat.audio.turn.smart_turn._whisper_features import compute_whisper_log_mel_features

    noise = np.random.default_rng(1).normal(0, 3000, 3 * RATE).astype(np.int16)
    padded = np.pad(noise.astype(np.float32) / 32768, (5 * RATE, 0))
    expected = compute_whisper_log_mel_features(padded)
    assert _features(noise.tobytes()) == pytest.approx(expected, abs=1e-5)


async def _judged(detector: SmartTurn, pcm: np.ndarray[Any, Any], rate: int) -> float:
    """What a stream says after it has heard this; the second channel is silent."""
    stream = detector.stream()
    assert isinstance(stream, _StreamingTurnDetectorStream)
    both = np.stack([pcm, np.zeros_like(pcm)], axis=1)
    for at in range(0, len(both), rate // 50):
        piece = both[at : at + rate // 50]
        stream.push_audio(rtc.AudioFrame(piece.tobytes(), rate, 2, len(piece)))
    event: TurnDetectionEvent = await stream.predict()
    await stream.aclose()
    return event.end_of_turn_probability


@needs_the_model
@pytest.mark.parametrize("rate", [RATE, 48_000])
async def test_a_stream_hears_the_last_8_seconds_of_one_channel(rate: int) -> None:
    tone = (np.sin(np.arange(3 * rate) * 440 * 2 * np.pi / rate) * 9_000).astype(np.int16)
    before = np.random.default_rng(1).normal(0, 3000, 9 * rate).astype(np.int16)
    silence = np.zeros(5 * rate, np.int16)
    alone = await _judged(SmartTurn(), np.concatenate([silence, tone]), rate)
    after = await _judged(SmartTurn(), np.concatenate([before, silence, tone]), rate)
    assert after == pytest.approx(alone, abs=0.05)


@needs_the_model
async def test_a_prediction_that_is_given_up_says_that_the_turn_is_not_over() -> None:
    detector = SmartTurn()
    assert isinstance(detector, _StreamingTurnDetector)
    stream = detector.stream()
    given_up = stream.predict()
    stream.flush("turn committed")
    assert (await given_up).end_of_turn_probability == 0.0
    await stream.aclose()


@needs_the_model
async def test_a_detector_beside_it_keeps_its_say() -> None:
    """Its probability counts in proportion to its own threshold."""
    silence = np.zeros(RATE, np.int16)
    sure = await _judged(SmartTurn(threshold=0.0), silence, RATE)
    doubts = SmartTurn(threshold=0.0)
    agrees = await _judged(SmartTurn(beside=doubts), silence, RATE)
    assert agrees == sure  # without a threshold it has no say
    strict = SmartTurn(threshold=2.0)  # the turn is never over
    assert await _judged(SmartTurn(beside=strict), silence, RATE) == pytest.approx(sure / 4)


def _answered_after(detector: SmartTurn) -> float:
    """Seconds from the end of a sentence to the answer."""
    user = ScriptedUser().says("what do you need it for", at=1.0)
    handling: Any = {"turn_detection": detector, "preemptive_generation": {"enabled": False}}
    stage = Stage(
        TurnSession,
        user=user,
        llm=ScriptedLLM({}, otherwise="Thank you."),
        vad=ScriptedVAD(min_silence=0.3),
        turn_handling=handling,
    )
    outcome = stage.run(20.0)
    assert outcome.errors == [], outcome.timeline()
    return outcome.heard[0].start - user.utterances[-1].end


@needs_the_model
def test_a_turn_waits_while_the_model_says_that_it_is_not_over() -> None:
    soon, late = (_answered_after(SmartTurn(threshold=limit)) for limit in (0.0, 1.1))
    assert soon < 1.5
    assert late > 2.5
