"""A TTS whose samples identify the sentence that they speak."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit import rtc
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    APIConnectionError,
    APIConnectOptions,
    tts,
)

from .user import FRAME, RATE

__all__ = ["ScriptedTTS"]


class ScriptedTTS(tts.TTS[Any]):
    """A TTS with a known duration for each text.

    Args:
        durations: The seconds of each text.
        failures: For a text the seconds after which its audio breaks off.
        down: True: it is unreachable, and every attempt fails. May be changed during the stage.
        latency: Seconds before the first audio.
        seconds_per_word: The duration of a text that `durations` does not have.

    Example:
        >>> from turnfsm.testing import ScriptedTTS
        >>> ScriptedTTS(durations={"Hi.": 0.5}).duration("Hi.")
        0.5
    """

    def __init__(
        self,
        *,
        durations: dict[str, float] | None = None,
        failures: dict[str, float] | None = None,
        down: bool = False,
        latency: float = 0.1,
        seconds_per_word: float = 0.3,
    ) -> None:
        super().__init__(
            capabilities=tts.TTSCapabilities(streaming=False), sample_rate=RATE, num_channels=1
        )
        self.durations = dict(durations or {})
        self.failures = dict(failures or {})
        self.down = down
        self.latency, self.seconds_per_word = latency, seconds_per_word
        self._texts: list[str] = []

    def duration(self, text: str) -> float:
        known = self.durations.get(text.strip())
        return known if known is not None else self.seconds_per_word * len(text.split())

    @property
    def sentences(self) -> tuple[str, ...]:
        """All texts that it was asked to say."""
        return tuple(self._texts)

    def text(self, code: int) -> str:
        """The sentence that samples of this value speak."""
        return self._texts[code - 1] if 0 < code <= len(self._texts) else ""

    def synthesize(
        self, text: str, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> tts.ChunkedStream:
        return _Speech(tts=self, input_text=text, conn_options=conn_options)

    def pcm(self, text: str, seconds: float) -> bytes:
        """A number of seconds of samples that identify the sentence."""
        if text not in self._texts:
            self._texts.append(text)
        code = self._texts.index(text) + 1
        return code.to_bytes(2, "little") * round(seconds * RATE)

    def frames(self, text: str) -> list[rtc.AudioFrame]:
        """The samples of a sentence, in frames of a microphone's length."""
        data, size = self.pcm(text, self.duration(text)), 2 * round(RATE * FRAME)
        parts = [data[i : i + size] for i in range(0, len(data), size)]
        return [rtc.AudioFrame(part, RATE, 1, len(part) // 2) for part in parts]


class _Speech(tts.ChunkedStream):
    async def _run(self, output_emitter: tts.AudioEmitter) -> None:
        owner = self._tts
        assert isinstance(owner, ScriptedTTS)
        text = self._input_text
        output_emitter.initialize(
            request_id=f"tts-{len(text)}", sample_rate=RATE, num_channels=1, mime_type="audio/pcm"
        )
        await asyncio.sleep(owner.latency)
        if owner.down:
            raise APIConnectionError("the scripted TTS is down")
        breaks_at = owner.failures.get(text.strip())
        output_emitter.push(
            owner.pcm(text, owner.duration(text) if breaks_at is None else breaks_at)
        )
        output_emitter.flush()
        if breaks_at is not None:
            await asyncio.sleep(breaks_at)
            raise APIConnectionError("the scripted TTS breaks off", retryable=False)
