"""The audio output of a step: observed, paused and cleared as the flow decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

import attrs
from livekit.agents import llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.io import AudioOutput, PlaybackFinishedEvent, PlaybackStartedEvent
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.runtime.conversation.conductor import Conductor

from .speech import govern

__all__ = ["OutputActivity", "StepOutput", "nothing"]


@attrs.frozen
class StepOutput:
    """The audio output of an agent's step.

    Attributes:
        agent: Its activity.
        audio: The audio output.
    """

    agent: OutputActivity
    audio: AudioOutput

    @property
    def can_pause(self) -> bool:
        """It can pause, and the session resumes after false interruptions."""
        return self.audio.can_pause and self.agent.resumes

    def listen(
        self,
        started: Callable[[float], None],
        finished: Callable[[], None],
    ) -> Callable[[], None]:
        """Call functions when playout starts and when it finishes.

        Returns a function that removes them.
        """
        audio = self.audio

        def on_started(ev: PlaybackStartedEvent) -> None:
            started(ev.created_at)

        def on_finished(_: PlaybackFinishedEvent) -> None:
            finished()

        def stop() -> None:
            audio.off("playback_started", on_started)
            audio.off("playback_finished", on_finished)

        audio.on("playback_started", on_started)
        audio.on("playback_finished", on_finished)
        return stop

    def pause(self, *, heard: bool) -> None:
        """Pause. If it was playing, turn detection is told that the agent is silent."""
        self.audio.pause()
        if heard:
            self.agent.fallen_silent()

    def resume(self, *, heard: bool) -> None:
        """Resume. If it was playing, turn detection is told that the agent speaks again."""
        if heard:
            self.agent.heard_again()
        self.audio.resume()

    def end_playout(self, played: float) -> None:
        """Report the end of playout for an output that does not report it.

        Args:
            played: Seconds that may have been heard.
        """
        sink: AudioOutput | None = self.audio
        while sink is not None and sink.next_in_chain is not None:
            sink = sink.next_in_chain
        while sink is not None and _pending(sink):
            sink.on_playback_finished(playback_position=played, interrupted=True)

    def drop(self) -> None:
        """Clear the audio that was not played."""
        if _pending(self.audio):
            self.audio.flush()  # an output only reports the end of a complete segment
            self.audio.clear_buffer()


def _pending(audio: AudioOutput) -> int:
    return getattr(audio, "_pending_playback_count", 0)


class OutputActivity(AgentActivity):
    """An activity that knows the output of each of its steps."""

    _conductor: Conductor

    @property
    def output(self) -> StepOutput | None:
        """The output of a step that begins now; None if it is text only."""
        output = self.session.output
        audio = output.audio if output.audio_enabled else None
        return StepOutput(self, audio) if audio is not None else None

    def _plays(self, speech: SpeechHandle) -> None:
        """A task that plays a step begins. It uses the session's current output, even if the
        application replaces the output later."""
        governed = govern(speech, self._conductor)
        governed.output = output = self.output
        if self._conductor.floor.holds(governed):
            cast(Any, self.session).listen_to(output)
        self._conductor.speech.output_known(governed, output)

    @property
    def resumes(self) -> bool:
        """The session resumes after false interruptions, and interruptions can be false."""
        wanted = self.session.options.interruption
        timeout = wanted["false_interruption_timeout"]
        resumes = wanted["resume_false_interruption"] and timeout is not None
        return bool(resumes) and not self.overlaps

    @property
    def overlaps(self) -> bool:
        """A realtime model may speak while the user does."""
        model = self.llm
        may = (
            isinstance(model, llm.RealtimeModel) and model.capabilities.supports_overlapping_speech
        )
        return may and self._rt_turn_detection_enabled

    def fallen_silent(self) -> None:
        """Audible speech was paused."""
        self._on_end_of_agent_speech(ended_at=time.time())

    def heard_again(self) -> None:
        """Paused speech was resumed."""
        if self._audio_recognition is not None:
            self._audio_recognition._on_start_of_agent_speech(started_at=time.time())
        if self._interruption_detection_enabled:
            self._disable_vad_interruption_soon()


def nothing() -> None:
    """Do nothing."""
