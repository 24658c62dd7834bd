"""LiveKit's adaptive interruption detector as evidence for the flow."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from livekit.agents import APIError, inference
from livekit.agents.inference import interruption as livekit_interruption

from turnfsm.runtime.conversation.conductor import Conductor

__all__ = ["VERDICTS", "OverlapJudge"]

logger = logging.getLogger("turnfsm")

VERDICTS = ("interruption_detected", "backchannel_detected")
"""The events of a flow that get its verdicts."""

_HEARD = ("speaking", "paused")


class OverlapJudge:
    """Runs the detector while the user speaks over the agent, and posts its verdicts.

    LiveKit itself would hold back the user's transcripts until the verdict, and interrupt the
    agent. The detector keeps running while the output is paused.

    Args:
        detector: The detector.
        conductor: Its flow has an event of `VERDICTS`.
        emit: Called with each verdict, for the application.
    """

    def __init__(
        self,
        detector: inference.AdaptiveInterruptionDetector,
        conductor: Conductor,
        emit: Callable[[inference.OverlappingSpeechEvent], object],
    ) -> None:
        self._conductor, self._emit = conductor, emit
        self._agent_heard = self._user_heard = False
        self._step: str | None = None
        self._stream = detector.stream()
        self._judging = asyncio.create_task(self._judge())
        self._stop_observing = conductor.turn.observe(lambda *_: self._follow())
        self._follow()

    def voice_started(self, at: float, seconds: float = 0.0) -> None:
        """The user has been speaking for these seconds."""
        self._user_heard = True
        if self._agent_heard:
            step = self._conductor.floor.step
            self._step = step.id if step is not None else None
            self.push(livekit_interruption._OverlapSpeechStartedSentinel(seconds, at))

    def voice_ended(self) -> None:
        """The user has stopped speaking."""
        self._user_heard = False
        self.push(livekit_interruption._OverlapSpeechEndedSentinel(time.time()))

    async def aclose(self) -> None:
        """Stop the detector."""
        self._stop_observing()
        self._judging.cancel()
        await asyncio.wait({self._judging})
        await self._stream.aclose()

    def _follow(self) -> None:
        heard = self._conductor.turn.state in _HEARD
        if heard == self._agent_heard:
            return
        self._agent_heard = heard
        begins, ends = (
            livekit_interruption._AgentSpeechStartedSentinel,
            livekit_interruption._AgentSpeechEndedSentinel,
        )
        self.push(begins() if heard else ends())
        if heard and self._user_heard:
            self.voice_started(time.time())

    def push(self, frame: inference.InterruptionDataFrameType) -> None:
        """A frame of the user's audio, or a mark between frames."""
        if not self._judging.done():
            self._stream.push_frame(frame)

    async def _judge(self) -> None:
        try:
            async for verdict in self._stream:
                self._emit(verdict)
                judged = verdict.is_interruption or verdict.total_duration > 0
                if self._step is not None and judged and not verdict.agent_ended:
                    report = self._conductor.speech.overlap_judged
                    report(self._step, interrupts=verdict.is_interruption)
        except APIError as error:
            logger.warning("LiveKit's interruption detector has failed (%s); STT decides", error)
