"""The components of a spoken conversation: the recorded user, the models, and the WAV to write."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from livekit.agents import inference

from turnfsm.runtime.livekit.stock import AgentSession

from .audio import WavInput, WavOutput
from .llm import RuleLLM
from .pace import Pace
from .parts import Spoken, joined, turn_handling
from .script import FALLBACK, RULES, SOUNDS, Line
from .speech import UserVoice, write_conversation
from .stt import MoonshineSTT
from .tape import Tape
from .transcribe import Transcriber
from .tts import PiperTTS, PiperVoice

__all__ = ["AudioStack", "SpokenStack"]


class SpokenStack(ABC):
    """The components of a conversation whose input is clips, and whose output is recorded.

    `aclose()` comes after its end. `transcriber` stays open until then, and can be used for other
    audio.
    """

    def __init__(
        self,
        pace: Pace,
        transcriber: Transcriber,
        voice: PiperVoice,
        ignore: Collection[str] = SOUNDS,
    ) -> None:
        self.pace = pace
        self.transcriber = transcriber
        self.stt = MoonshineSTT(transcriber, ignore=ignore)
        self.llm = RuleLLM(RULES, fallback=FALLBACK, pace=pace)
        self.tts = PiperTTS(voice)
        self.input = WavInput(pace)
        self._user = UserVoice(voice)

    @property
    @abstractmethod
    def output(self) -> Tape:
        """Records what it plays."""

    @classmethod
    async def load(cls, pace: Pace, ignore: Collection[str] = SOUNDS) -> Self:
        """Load both models, in a second or two. Raises DemoUnavailable if one is missing."""
        transcriber = await asyncio.to_thread(Transcriber.load)
        voice = await asyncio.to_thread(PiperVoice.load)
        return cls(pace, transcriber, voice, ignore)

    async def prepare(self, lines: tuple[Line, ...]) -> None:
        """Synthesise the lines without a recording, so that none is late."""
        for line in lines:
            await asyncio.to_thread(self._user.clip, line)

    async def say(self, line: Line) -> float:
        """Speak the line into the microphone. Returns the conversation time of its end."""
        return await self.input.say(self._user.clip(line))

    def heard(self) -> list[Spoken]:
        """The agent's audio that was heard so far."""
        return joined(self.output.heard, self._texts())

    def write_audio(self, path: Path) -> bool:
        """Write both voices as a stereo WAV."""
        write_conversation(path, self.input.track(), self.output.track())
        return True

    async def transcribe_back(self) -> list[str]:
        """The transcript of each utterance of the agent, from its audio."""
        rate = self.tts.sample_rate
        return [await self.transcriber.transcribe(pcm, rate) for pcm in self.output.utterances()]

    def _texts(self) -> list[str]:
        """The text of each piece of audio. A paused utterance continues where it stopped."""
        texts: list[str] = []
        utterance, captured, returned = -1, bytearray(), 0
        for sound in self.output.heard:
            if sound.segment != utterance:
                utterance, captured, returned = sound.segment, bytearray(), 0
            captured += sound.pcm
            known = self.tts.words_in(captured, len(captured)).split()
            texts.append(" ".join(known[returned:]))
            returned = len(known)
        return texts

    async def aclose(self) -> None:
        """Close everything, including the models."""
        self.input.close()
        await self.tts.aclose()
        await self.stt.aclose()
        await self.transcriber.aclose()


class AudioStack(SpokenStack):
    """The spoken components of a session of LiveKit.

    `options()` are the keyword arguments of the session; `attach()` comes before its start.
    """

    @cached_property
    def output(self) -> WavOutput:
        return WavOutput(self.pace, rate=self.tts.sample_rate, words_in=self.tts.words_in)

    def options(self) -> dict[str, Any]:
        """The options for an offline, scripted AgentSession at the given pace.

        The durations of the VAD count audio, which is already faster.
        """
        return {
            "stt": self.stt,
            "llm": self.llm,
            "tts": self.tts,
            "vad": inference.VAD(min_silence_duration=0.3),
            "turn_handling": turn_handling(self.pace),
            "aec_warmup_duration": None,  # it would drop speech over the first reply
            "user_away_timeout": None,
        }

    def attach(self, session: AgentSession[Any]) -> None:
        """Attach the microphone and the audio output to the session."""
        session.input.audio = self.input
        session.output.audio = self.output

    async def aclose(self) -> None:
        """Close everything, including the models."""
        await self.output.aclose()
        await super().aclose()
