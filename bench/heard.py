"""What a real VAD and a real STT make of audio: those of `turnfsm demo`, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Self

import attrs
import numpy as np
from livekit import rtc
from livekit.agents import inference, vad

from turnfsm.runtime.demo.parts import MIN_SILENCE
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.stt import Interims, MoonshineSTT
from turnfsm.runtime.demo.transcribe import Transcriber
from turnfsm.testing import ScriptedUser, ScriptedVAD, Utterance

__all__ = ["MIN_SILENCE", "SILERO_MIN_SILENCE", "Heard", "interims", "replay", "scripted_vad"]

SILERO_MIN_SILENCE = 0.55
"""Seconds of silence after which Silero reports the end of speech by default."""

_MIN_SPEECH = 0.05
"""The same for its start, in the VAD that replays it."""

_BEFORE = 0.3
_INTERIM_DELAY = 0.2
"""Seconds of audio before the start that the VAD reports, which the STT gets too."""

_FRAME = RATE // 100


class Heard:
    """Listens to audio as a session would, but faster: the same audio gives the same sounds.

    Args:
        transcriber: The STT.

    Example::

        heard = Heard.load()
        sounds = await heard.sounds(samples)
    """

    def __init__(self, transcriber: Transcriber) -> None:
        self._stt = MoonshineSTT(transcriber)
        self._vad = inference.VAD(min_silence_duration=MIN_SILENCE)

    @classmethod
    def load(cls) -> Self:
        """Load the models. Raises DemoUnavailable if one is missing."""
        return cls(Transcriber.load())

    async def sounds(self, pcm: PCM) -> list[Utterance]:
        """Every stretch of the audio that the VAD takes for speech, with its transcripts.

        Args:
            pcm: Mono samples at RATE Hz. A second of silence is added, so that speech ends.
        """
        whole = np.concatenate([pcm, np.zeros(2 * RATE, np.int16)])
        return [await self._utterance(whole, *span) for span in await self._speech(whole)]

    async def aclose(self) -> None:
        """Free the models."""
        await self._stt.transcriber.aclose()

    async def _speech(self, pcm: PCM) -> list[tuple[float, float]]:
        stream = self._vad.stream()
        for first in range(0, len(pcm) - _FRAME + 1, _FRAME):
            part = pcm[first : first + _FRAME].tobytes()
            stream.push_frame(rtc.AudioFrame(part, RATE, 1, _FRAME))
        stream.end_input()
        found: list[tuple[float, float]] = []
        start = 0.0
        async for event in stream:
            at = event.samples_index / RATE
            if event.type == vad.VADEventType.START_OF_SPEECH:
                start = at
            elif event.type == vad.VADEventType.END_OF_SPEECH:
                found.append((start, at))
        await stream.aclose()
        return found

    async def _utterance(self, pcm: PCM, start: float, end: float) -> Utterance:
        begin, spoken = start - _MIN_SPEECH, end - MIN_SILENCE
        first, shown, growing = max(0.0, start - _BEFORE), [], Interims(self._stt)
        for at in np.arange(start, end, _FRAME / RATE):
            speech = _part(pcm, first, at)
            if growing.due(len(speech)) and (text := await growing.heard(speech, RATE)):
                shown.append((at + _INTERIM_DELAY - begin, text))
        text = await self._stt.hear(_part(pcm, first, end), RATE)
        lasts = max(spoken - begin, _MIN_SPEECH)
        return Utterance(max(0.0, begin), lasts, text, MIN_SILENCE if text else None, tuple(shown))


def _part(pcm: PCM, start: float, end: float) -> PCM:
    return pcm[int(start * RATE) : int(end * RATE)]


def interims(words: Sequence[str], each: Sequence[float], lag: float) -> list[tuple[float, str]]:
    """The transcript after each word, as a streaming STT gives it.

    Args:
        words: The words.
        each: The seconds that each takes.
        lag: Seconds from the end of a word to its transcript.
    """
    ends = accumulate(each)
    return [(end + lag, " ".join(words[: n + 1])) for n, end in enumerate(ends)]


def replay(sounds: Sequence[Utterance], user: ScriptedUser, at: float) -> ScriptedUser:
    """Let a scripted user make these sounds, from this moment on. `scripted_vad` then reports what
    the real one did."""
    for one in sounds:
        user.makes(attrs.evolve(one, at=at + one.at))
    return user


def scripted_vad(min_silence: float = MIN_SILENCE) -> ScriptedVAD:
    """Reports the start and the end of each sound when the real VAD did.

    Args:
        min_silence: Seconds of silence after which it reports the end; default: the demo's.
    """
    return ScriptedVAD(min_speech=_MIN_SPEECH, min_silence=min_silence)
