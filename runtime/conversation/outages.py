"""Records failed components, missing audio and transcripts, and the close."""

from __future__ import annotations

from collections.abc import Callable

from turnfsm.fsm.agenda.entries import SpeechFailed
from turnfsm.fsm.journal import (
    AudioResumed,
    AudioStopped,
    Closed,
    ComponentFailed,
    VoiceUnrecognised,
)
from turnfsm.fsm.load import load_shipped
from turnfsm.runtime.event import Event
from turnfsm.runtime.turn import TurnRuntime

from .core import Core

__all__ = ["Outages"]


class Outages:
    """Records failures of a session, and is the host of `specs/outages.yaml`.

    Its methods implement the actions and host facts of the same names.

    Args:
        core: The conversation.
        transcript_awaited: Says whether the user speaks, or a transcript may still come.
    """

    def __init__(
        self,
        core: Core,
        transcript_awaited: Callable[[], bool],
    ) -> None:
        self._core, self.transcript_awaited = core, transcript_awaited
        self._closed: Closed | None = None
        flow, given = load_shipped("outages"), core.session.settings.timers
        self._seconds = {name: given.get(name, seconds) for name, seconds in flow.timers.items()}
        self.runtime = TurnRuntime(flow, self, timers=self._seconds, maxlen=1)
        self._voice_at: float | None = None  # when the current voice began
        self._since = self._until = self._longest = 0.0  # the speech without a transcript

    def start(self) -> None:
        """The session has started."""
        self.runtime.start()

    def end(self) -> None:
        """The session has closed, and its recording is complete."""
        self.runtime.close()
        if self._closed is not None:
            self._core.record(self._closed)

    # -- what the framework reports

    def failed(self, failure: ComponentFailed) -> None:
        """A component has failed."""
        self._core.record(failure)
        if failure.speech is not None and not failure.recoverable:
            self._core.log.add(SpeechFailed(failure.speech, str(failure)))

    def closing(self, closed: Closed) -> None:
        """The session starts to close. The last record of the journal says why."""
        self._closed = closed

    def voice_started(self) -> None:
        """The VAD detects speech, and a transcript should follow."""
        self._voice_at = self._core.turn.now
        if self.runtime.state == "settled":
            self._since, self._longest = self._voice_at, 0.0
        self.post("voice_started")

    def voice_ended(self) -> None:
        """Speech has ended, or the STT gets no more of it."""
        if self._voice_at is None:
            return
        self._until = self._core.turn.now
        self._longest = max(self._longest, self._until - self._voice_at)
        self._voice_at = None
        self.post("voice_ended")

    def post(self, event: str) -> None:
        """Report any other event of the flow."""
        if not self.runtime.closed:
            self.runtime.post(event)

    # -- the flow

    def audio_expected(self) -> bool:
        """There is a microphone, and it is on."""
        return self._core.session.settings.expects_audio

    def report_audio_stopped(self, event: Event) -> None:
        """Record that no audio of the user arrives. Posts `audio_stopped`, if the flow has it."""
        since = self._core.turn.now - self._seconds["audio_limit"]
        self._core.record(AudioStopped(round(since, 3)))
        self._core.offer("audio_stopped")

    def report_audio_resumed(self, event: Event) -> None:
        """Record that audio arrives again. Posts `audio_resumed`, if the flow has it."""
        self._core.record(AudioResumed())
        self._core.offer("audio_resumed")

    def report_no_transcript(self, event: Event) -> None:
        """Record that speech got no transcript. If it was long, posts `voice_unrecognised`, if the
        flow has it."""
        spans = self._since, self._until, self._longest
        voice = VoiceUnrecognised(*(round(seconds, 3) for seconds in spans))
        self._core.record(voice)
        if voice.long:
            self._core.offer("voice_unrecognised")
