"""Samples: the recorded and the synthetic user, resampling, the WAV of a conversation."""

import wave
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from livekit import rtc

from .script import Line

__all__ = ["PCM", "RATE", "UserVoice", "recording", "resample", "write_conversation"]

PCM: TypeAlias = npt.NDArray[np.int16]

RATE = 16_000
"""Hz of the microphone, of the recordings and of the written conversation."""

_SILENT = 400  # amplitude of the silence around a synthetic voice
_HIGHER = 1.15  # how far the synthetic user's pitch is above the agent's


class _Voice(Protocol):
    rate: int

    def sentences(self, text: str, *, slower: float = 1.0) -> Iterator[PCM]: ...


class UserVoice:
    """The lines without a recording: the agent's voice at a higher pitch, each synthesised once."""

    def __init__(self, voice: _Voice) -> None:
        self._voice = voice
        self._said: dict[str, PCM] = {}

    def say(self, text: str) -> PCM:
        """Samples at RATE Hz, from the first sound to the last; the first time takes about a tenth
        of their duration."""
        if text not in self._said:
            slow = np.concatenate(list(self._voice.sentences(text, slower=_HIGHER)))
            # synthesised slower and played faster: the same tempo at a higher pitch
            pcm = resample(slow, round(self._voice.rate * _HIGHER), RATE)
            voice = np.flatnonzero(np.abs(pcm) > _SILENT)
            self._said[text] = pcm[voice[0] : voice[-1] + 1] if len(voice) else pcm
        return self._said[text]

    def clip(self, line: Line) -> PCM:
        """A line of the script: its recording, or synthesised."""
        return recording(line.recorded) if line.recorded else self.say(line.text)


def recording(name: str) -> PCM:
    """The recording with this name, at RATE Hz."""
    path = files(__package__).joinpath("recordings", f"{name}.wav")
    with path.open("rb") as file, wave.open(file) as clip:
        return np.frombuffer(clip.readframes(clip.getnframes()), np.int16)


def resample(pcm: PCM, rate: int, to: int) -> PCM:
    """The samples at another rate."""
    if rate == to or not len(pcm):
        return pcm
    resampler = rtc.AudioResampler(rate, to, quality=rtc.AudioResamplerQuality.HIGH)
    whole = rtc.AudioFrame(pcm.tobytes(), rate, 1, len(pcm))
    frames = resampler.push(whole) + resampler.flush()
    return np.concatenate([np.frombuffer(frame.data, np.int16) for frame in frames])


def write_conversation(path: Path, user: PCM, agent: PCM) -> None:
    """Two tracks at RATE Hz as one WAV: the user left, the agent right."""
    stereo = np.zeros((max(len(user), len(agent)), 2), np.int16)
    stereo[: len(user), 0] = user
    stereo[: len(agent), 1] = agent
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(stereo.tobytes())
