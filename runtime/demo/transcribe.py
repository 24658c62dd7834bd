"""Moonshine, an English STT that runs on this machine."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np

from .extra import import_extra, require_files
from .speech import PCM

__all__ = ["Transcriber"]

_MODEL_FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")


class Transcriber:
    """Speech to text, one utterance at a time, in its own thread. Make one with `load`.

    Args:
        model: The loaded model.

    Example::

        transcriber = Transcriber.load()
        text = await transcriber.transcribe(samples, rate=16000)
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="moonshine")

    @classmethod
    def load(cls) -> Self:
        """Load the model, in about a second.

        Raises:
            DemoUnavailable: The package or the model is missing.
        """
        moonshine = import_extra("moonshine_voice", "STT")
        folder = Path(str(moonshine.get_assets_path())) / "tiny-en"
        require_files(folder, _MODEL_FILES, "STT", "moonshine-voice==0.1.0")
        # threshold 0 turns off the model's own VAD, which would transcribe the leading noise
        options = {"vad_threshold": "0.0"}
        return cls(moonshine.Transcriber(str(folder), moonshine.ModelArch.TINY, options=options))

    async def transcribe(self, pcm: PCM, rate: int) -> str:
        """Transcribe at most half a minute of mono samples at `rate` Hz."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._transcribe, pcm, rate)

    async def aclose(self) -> None:
        """End the thread, and free the model."""
        await asyncio.to_thread(self._worker.shutdown, wait=True, cancel_futures=True)
        self._model.close()

    def _transcribe(self, pcm: PCM, rate: int) -> str:
        samples = (pcm.astype(np.float32) / 32768.0).tolist()
        lines = self._model.transcribe_without_streaming(samples, rate).lines
        return " ".join(line.text.strip() for line in lines).strip()
