"""The components of a spoken conversation: the recorded user, the models, and the WAV to write."""

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Any, Self

from livekit.agents import inference

from turnfsm.runtime.testing.heard import Heard

from .audio import WavInput, WavOutput
from .pace import Pace
from .parts import MIN_SILENCE, SessionStack, Stack, joined
from .script import SOUNDS, Line
from .speech import UserVoice, write_conversation
from .stt import MoonshineSTT
from .transcribe import Transcriber
from .tts import PiperTTS, PiperVoice

__all__ = ["AudioStack", "SpokenStack"]


class SpokenStack(Stack):
    """The components of a conversation whose input is clips, and whose output is recorded.

    `aclose()` comes after its end. `transcriber` stays open until then, and can be used for other
    audio.
    """

    def __init__(
        self, pace: Pace, transcriber: Transcriber, voice: PiperVoice, ignore: Collection[str]
    ) -> None:
        super().__init__(pace)
        self.transcriber = transcriber
        self.stt = MoonshineSTT(transcriber, ignore=ignore)
        self.tts = PiperTTS(voice)
        self.input = WavInput(pace)
        self._user = UserVoice(voice)

    @classmethod
    async def load(cls, pace: Pace, ignore: Collection[str] = SOUNDS) -> Self:
        """Load both models, in a second or two. Raises DemoUnavailable if one is missing."""
        transcriber = await asyncio.to_thread(Transcriber.load)
        voice = await asyncio.to_thread(PiperVoice.load)
        return cls(pace, transcriber, voice, ignore)

    async def prepare(self, lines: tuple[Line, ...]) -> None:
        for line in lines:
            await asyncio.to_thread(self._user.clip, line)

    async def say(self, line: Line) -> float:
        return await self.input.say(self._user.clip(line))

    def heard(self) -> list[Heard]:
        return joined(self.output.heard, self._texts())

    def write_audio(self, path: Path) -> bool:
        write_conversation(path, self.input.track(), self.output.track())
        return True

    async def transcribe_back(self) -> list[str]:
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
        self.input.close()
        await self.tts.aclose()
        await self.stt.aclose()
        await self.transcriber.aclose()


class AudioStack(SpokenStack, SessionStack):
    """The spoken components of a session of LiveKit."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        rate, words_in = self.tts.sample_rate, self.tts.words_in
        self.output = WavOutput(self.pace, rate=rate, words_in=words_in)

    def options(self) -> dict[str, Any]:
        vad = inference.VAD(min_silence_duration=MIN_SILENCE)
        return {**super().options(), "stt": self.stt, "tts": self.tts, "vad": vad}

    async def aclose(self) -> None:
        await self.output.aclose()
        await super().aclose()
