"""The same conversation in a pipeline without sound or models, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.tts_service import TTSService

from turnfsm.runtime.demo.llm import RuleLLM
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.parts import Spoken, joined
from turnfsm.runtime.demo.script import FALLBACK, RULES, Line
from turnfsm.runtime.demo.text import seconds_of
from turnfsm.runtime.testing.pipecat import Microphone, Voice
from turnfsm.runtime.testing.pipecat.parts import RATE

from .hold import strategies
from .parts import PacedTape

__all__ = ["TypedStack"]


class TypedStack:
    """The scripted counterpart of `PipelineStack`, with the same methods."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.llm = RuleLLM(RULES, fallback=FALLBACK, pace=pace)
        self.output = PacedTape(pace, RATE)
        self.false_interruption = 2.0
        self._microphone = Microphone()
        self._words: list[str] = []

    @classmethod
    async def load(cls, pace: Pace) -> Self:
        """Load no model."""
        await asyncio.sleep(1.0)  # a Pipecat clock that is started at 0 does not run
        return cls(pace)

    def microphone(self) -> FrameProcessor:
        """The VAD and the STT of a scripted user."""
        return self._microphone

    def ears(self) -> Sequence[FrameProcessor]:
        """The microphone hears by itself."""
        return []

    def user(self) -> LLMUserAggregatorParams:
        """The delays of the spoken conversation."""
        return LLMUserAggregatorParams(
            user_turn_strategies=strategies(self.pace),
            user_turn_stop_timeout=self.false_interruption,
        )

    def voice(self) -> TTSService:
        """A TTS whose samples are the numbers of the words."""
        return Voice(self._words, times_words=True)

    async def prepare(self, lines: tuple[Line, ...]) -> None:
        """Nothing is synthesised in advance."""

    async def say(self, line: Line) -> float:
        """Speak the line into the microphone. Returns the conversation time of its end."""
        end = self.pace.now() + seconds_of(line)
        if line.ignored:
            await self._microphone.makes_noise(seconds_of(line))
        else:
            await self._microphone.says(line.text, seconds_of(line))
        return end

    def heard(self) -> list[Spoken]:
        """The agent's audio that was heard so far."""
        return joined(self.output.heard, self._texts())

    def _texts(self) -> Iterator[str]:
        last = 0
        for sound in self.output.heard:
            numbers = dict.fromkeys(int(number) for number in sound.samples if number)
            numbers.pop(last, None)  # it has begun before a pause
            last = next(reversed(numbers), last)
            yield " ".join(self._words[number - 1] for number in numbers)

    def write_audio(self, path: Path) -> bool:
        """There is no audio to write."""
        return False

    async def transcribe_back(self) -> list[str]:
        """There is no audio to transcribe."""
        return []

    async def aclose(self) -> None:
        """There is nothing to close."""
