"""A turn detector by audio, with the model smart-turn, for `turn_detection=` of a session."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import attrs
from livekit import rtc
from livekit.agents.voice.turn import TurnDetectionEvent

from .smart_turn_model import RATE, SECONDS, SmartTurnModel, load_smart_turn

__all__ = ["SmartTurn"]

logger = logging.getLogger("turnfsm")

_KEPT = RATE * SECONDS * 2
_TIMEOUT = 1.0


@attrs.frozen
class SmartTurn:
    """A turn detector by audio: the local model smart-turn, which Pipecat uses.

    It listens to how the user speaks, not to what they say. While the model says that the turn is
    not over, LiveKit waits for `max_delay` of endpointing, else for `min_delay`. It needs a VAD.

    Attributes:
        file: The model's `.onnx` file, or a wheel of pipecat-ai, which contains it. Without it that
            of the installed pipecat-ai is used.
        threshold: The probability from which on the turn is over.
        beside: Another turn detector by audio, such as LiveKit's. Then the turn is only over if
            both say so.

    Raises:
        ModuleNotFoundError: onnxruntime is not installed.
        FileNotFoundError: The model is not there.

    Example::

        session = TurnSession(turn_handling={"turn_detection": SmartTurn()}, vad=..., ...)
    """

    file: str | Path | None = attrs.field(default=None, kw_only=True)
    threshold: float = attrs.field(default=0.5, kw_only=True)
    beside: Any = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        load_smart_turn(self.file)

    @property
    def model(self) -> str:
        """Its name."""
        return "smart-turn"

    @property
    def provider(self) -> str:
        """Where it runs."""
        return "local"

    def stream(self, **options: Any) -> _Listening:
        """Listen to one user; LiveKit calls it.

        Args:
            options: Those of LiveKit, for the detector `beside`.
        """
        beside = self.beside.stream(**options) if self.beside is not None else None
        return _Listening(load_smart_turn(self.file), self.threshold, beside)


class _Listening:
    model, provider, is_fallback, prediction_timeout = "smart-turn", "local", False, _TIMEOUT

    def __init__(self, model: SmartTurnModel, threshold: float, beside: Any) -> None:
        self._smart, self._threshold, self._beside = model, threshold, beside
        self._heard = bytearray()
        self._resampler: rtc.AudioResampler | None = None
        self._language: Any = None
        self._prediction: asyncio.Future[TurnDetectionEvent] | None = None
        self._task: asyncio.Task[None] | None = None

    async def unlikely_threshold(self, language: Any) -> float:
        return self._threshold

    async def backchannel_threshold(self, language: Any) -> None:
        return None

    async def supports_language(self, language: Any) -> bool:
        self._language = language
        return True

    def push_audio(self, frame: rtc.AudioFrame) -> None:
        if self._beside is not None:
            self._beside.push_audio(frame)
        if frame.num_channels > 1:
            mono = bytes(memoryview(frame.data)[:: frame.num_channels].tobytes())
            frame = rtc.AudioFrame(mono, frame.sample_rate, 1, frame.samples_per_channel)
        if frame.sample_rate != RATE and self._resampler is None:
            self._resampler = rtc.AudioResampler(frame.sample_rate, RATE)
        for one in self._resampler.push(frame) if self._resampler is not None else [frame]:
            self._heard += one.data.tobytes()
        del self._heard[:-_KEPT]

    def predict(self) -> asyncio.Future[TurnDetectionEvent]:
        self.cancel_inference()
        began, loop = time.time(), asyncio.get_running_loop()
        prediction = self._prediction = loop.create_future()
        other = self._beside.predict() if self._beside is not None else None
        self._task = loop.create_task(self._predict(prediction, other, began))
        return prediction

    async def _predict(
        self,
        prediction: asyncio.Future[TurnDetectionEvent],
        other: Awaitable[TurnDetectionEvent] | None,
        began: float,
    ) -> None:
        try:
            probability = await asyncio.to_thread(self._smart.ended, bytes(self._heard))
        except Exception:
            logger.exception("the model smart-turn has failed; it does not count")
            probability = 1.0
        if other is not None:
            event = await other
            limit = await self._beside.unlikely_threshold(self._language)
            if limit:
                share = event.end_of_turn_probability / limit
                probability = min(probability, share * self._threshold)
        if not prediction.done():
            prediction.set_result(_event(probability, began))

    def cancel_inference(self, *, timed_out: bool = False) -> None:
        if self._beside is not None:
            self._beside.cancel_inference(timed_out=timed_out)
        if self._task is not None:
            self._task.cancel()
        if self._prediction is not None and not self._prediction.done():
            self._prediction.set_result(_event(0.0, time.time()))

    def flush(self, reason: str | None = None) -> None:
        if self._beside is not None:
            self._beside.flush(reason)
        self.cancel_inference()
        self._heard.clear()

    def end_input(self) -> None:
        if self._beside is not None:
            self._beside.end_input()
        self.cancel_inference()

    async def aclose(self) -> None:
        self.end_input()
        if self._beside is not None:
            await self._beside.aclose()


def _event(probability: float, began: float) -> TurnDetectionEvent:
    return TurnDetectionEvent(
        type="eot_prediction",
        end_of_turn_probability=probability,
        last_speaking_time=began,
        inference_duration=time.time() - began,
    )
