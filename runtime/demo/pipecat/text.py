"""The same conversation in a pipeline without sound or models, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from typing import Self

from pipecat.frames.frames import InterimTranscriptionFrame
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.tts_service import TTSService

from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.parts import joined
from turnfsm.runtime.demo.script import SOUNDS, Line
from turnfsm.runtime.demo.tape import PacedTape
from turnfsm.runtime.demo.text import Typed, interims_of, seconds_of
from turnfsm.runtime.testing.heard import Heard
from turnfsm.runtime.testing.pipecat import Microphone, ScriptedVAD, Voice
from turnfsm.runtime.testing.pipecat.parts import RATE

from .parts import strategies

__all__ = ["TypedStack"]


class TypedStack(Typed):
    """The scripted counterpart of `PipelineStack`, with the same methods."""

    def __init__(self, pace: Pace, ignore: Collection[str] = SOUNDS) -> None:
        super().__init__(pace, ignore)
        self.output = PacedTape(pace, RATE)
        self._vad = ScriptedVAD(stop_secs=0.3)
        self._microphone = Microphone(self._vad)
        self._words: list[str] = []

    @classmethod
    async def load(cls, pace: Pace, ignore: Collection[str] = SOUNDS) -> Self:
        """Load no model."""
        await asyncio.sleep(1.0)  # a Pipecat clock that is started at 0 does not run
        return cls(pace, ignore)

    def microphone(self) -> FrameProcessor:
        """The microphone and the STT of a scripted user."""
        return self._microphone

    def ears(self) -> Sequence[FrameProcessor]:
        """The microphone hears by itself."""
        return []

    def user(self) -> LLMUserAggregatorParams:
        """The VAD, and the delays of the spoken conversation."""
        return LLMUserAggregatorParams(
            user_turn_strategies=strategies(self.pace),
            user_turn_stop_timeout=2.0,
            vad_analyzer=self._vad,
        )

    def voice(self) -> TTSService:
        """A TTS whose samples are the numbers of the words."""
        return Voice(self._words, times_words=True)

    async def say(self, line: Line) -> float:
        end = self.pace.now() + seconds_of(line)
        if self.is_noise(line):
            await self._microphone.makes_noise(seconds_of(line))
        else:
            spoken = self._microphone.says(line.text, seconds_of(line))
            await asyncio.gather(spoken, *(self._shown(*interim) for interim in interims_of(line)))
        return end

    async def _shown(self, after: float, text: str) -> None:
        await self.pace.sleep(after)
        await self._microphone.push_frame(InterimTranscriptionFrame(text, "user", ""))

    def heard(self) -> list[Heard]:
        return joined(self.output.heard, self._texts())

    def _texts(self) -> Iterator[str]:
        last = 0
        for sound in self.output.heard:
            numbers = dict.fromkeys(int(number) for number in sound.samples if number)
            numbers.pop(last, None)  # it has begun before a pause
            last = next(reversed(numbers), last)
            yield " ".join(self._words[number - 1] for number in numbers)
