"""The CPU time that a minute of conversation takes, on a stock AgentSession and on a TurnSession.

The conversation has ten turns and is played in virtual time. In one kind the voice is scripted, so
nearly all of the time is that of the session itself. In the other kind the user is a recording, and
the VAD is LiveKit's own (Silero). Models that run elsewhere are not included.
"""

from __future__ import annotations

import gc
import time
from functools import cache
from math import inf
from typing import Any

from livekit import rtc
from livekit.agents import AgentSession, inference

from turnfsm.runtime.demo.speech import recording
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedUser, Stage
from turnfsm.runtime.testing.livekit.user import FRAME, RATE, ScriptedAudioInput

from .caller import sides

__all__ = ["ShortFrames", "SpokenStage", "minute", "played"]

TURNS = 10
CLIPS = ("parcel_number", "go_forward", "go_somewhere")
NOISE = 3
"""The loudness of the silence between the words, of 32,767."""

_SAMPLES = int(RATE * FRAME)
_MARK = 4  # bytes at the start of a frame that hold the text for the scripted STT


class ShortFrames(Stage):
    """A stage whose microphone also gives short frames during silence, like a real one."""

    def _settled(self) -> float:
        return inf


class SpokenStage(ShortFrames):
    """A stage on which the user is a recording, and the VAD is LiveKit's own."""

    def _models(self) -> dict[str, Any]:
        return {**super()._models(), "vad": inference.VAD(model="silero")}

    def _build(self, origin: float) -> None:
        super()._build(origin)
        microphone = _Recording(self.user, settled=inf)
        microphone.start(origin)
        self.session.input.audio = microphone


class _Recording(ScriptedAudioInput):
    """The microphone: the clips, with faint noise between them."""

    async def _next(self) -> rtc.AudioFrame:
        frame = await super()._next()
        code, place = int(frame.data[0]), int(frame.data[1])
        sounds = _frames(CLIPS[(code - 1) % len(CLIPS)]) if code else (_noise(),)
        sound = sounds[min(place, len(sounds) - 1)]
        return rtc.AudioFrame(bytes(frame.data)[:_MARK] + sound[_MARK:], RATE, 1, _SAMPLES)


@cache
def _frames(clip: str) -> tuple[bytes, ...]:
    pcm, size = recording(clip).tobytes(), 2 * _SAMPLES
    return tuple(pcm[at : at + size].ljust(size, b"\0") for at in range(0, len(pcm), size))


@cache
def _noise() -> bytes:
    samples = (n * 7919 % (2 * NOISE + 1) - NOISE for n in range(_SAMPLES))
    return b"".join(sample.to_bytes(2, "little", signed=True) for sample in samples)


def played(session: type[AgentSession[Any]]) -> Stage:
    """The conversation with a scripted voice."""
    user, said = ScriptedUser(), {}
    for turn in range(TURNS):
        user.says(f"question {turn}", at=1.0 + 6 * turn)
        said[f"question {turn}"] = "This is the answer to your question."
    return ShortFrames(session, user=user, llm=ScriptedLLM(said))


def spoken(session: type[AgentSession[Any]]) -> Stage:
    """The conversation with recordings and a real VAD."""
    user, said = ScriptedUser(), {}
    for turn in range(TURNS):
        lasts = len(recording(CLIPS[turn % len(CLIPS)])) / RATE
        user.says(f"question {turn}", at=1.0 + 6 * turn, duration=lasts)
        said[f"question {turn}"] = "This is the answer."
    return SpokenStage(session, user=user, llm=ScriptedLLM(said))


def minute(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of CPU time of the process: `sides` for each kind of voice.

    Raises:
        SystemExit: A session has not answered each question, so the two cannot be compared.
    """
    kinds = {"scripted": played, "vad": spoken}
    return {
        kind: sides(rounds, lambda session, play=play: _spent(play(session)))  # type: ignore[misc]
        for kind, play in kinds.items()
    }


def _spent(stage: Stage) -> float:
    gc.collect()
    begin = time.process_time()
    outcome = stage.run(60.0)
    spent = time.process_time() - begin
    if len(outcome.heard) != TURNS:
        raise SystemExit(f"{len(outcome.heard)} of {TURNS} turns were answered")
    return spent
