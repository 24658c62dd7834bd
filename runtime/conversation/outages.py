"""Records failed components, missing audio and transcripts, and the close."""

from __future__ import annotations

from collections.abc import Callable

from turnfsm.fsm.journal import (
    AudioResumed,
    AudioStopped,
    Closed,
    ComponentFailed,
    SessionEvent,
    VoiceUnrecognised,
)
from turnfsm.fsm.load import load_shipped
from turnfsm.runtime.event import Event
from turnfsm.runtime.turn import TurnRuntime

from .ports import Session

__all__ = ["Outages"]


class Outages:
    """Records failures of a session, and is the host of `specs/outages.yaml`.

    Its methods implement the actions and host facts of the same names.

    Args:
        session: Has the timers' seconds, and whether audio is expected.
        record: Records an event.
        now: Returns the journal's time in seconds.
        transcript_awaited: Says whether the user speaks, or a transcript may still come.
        given_up: Called with a speech's id and a message if a component that it needs has
            failed for good.
    """

    def __init__(
        self,
        session: Session,
        record: Callable[[SessionEvent], None],
        now: Callable[[], float],
        transcript_awaited: Callable[[], bool],
        given_up: Callable[[str, str], None],
    ) -> None:
        self._session, self._record, self._now = session, record, now
        self.transcript_awaited, self._given_up = transcript_awaited, given_up
        self._closed: Closed | None = None
        flow, given = load_shipped("outages"), session.settings.timers
        self._seconds = {name: given.get(name, seconds) for name, seconds in flow.timers.items()}
        self._runtime = TurnRuntime(flow, self, timers=self._seconds, maxlen=1)
        self._voice_at: float | None = None  # when the current voice began
        self._since = self._until = self._longest = 0.0  # the speech without a transcript

    def start(self) -> None:
        """The session has started."""
        self._runtime.start()

    def end(self) -> None:
        """The session has closed, and its recording is complete."""
        self._runtime.close()
        if self._closed is not None:
            self._record(self._closed)

    # -- what the framework reports

    def failed(self, failure: ComponentFailed) -> None:
        """A component has failed."""
        self._record(failure)
        if failure.speech is not None and not failure.recoverable:
            self._given_up(failure.speech, str(failure))

    def closing(self, closed: Closed) -> None:
        """The session starts to close. The last record of the journal says why."""
        self._closed = closed

    def voice_started(self) -> None:
        """The VAD detects speech, and a transcript should follow."""
        self._voice_at = self._now()
        if self._runtime.state == "settled":
            self._since, self._longest = self._voice_at, 0.0
        self.post("voice_started")

    def voice_ended(self) -> None:
        """Speech has ended, or the STT gets no more of it."""
        if self._voice_at is None:
            return
        self._until = self._now()
        self._longest = max(self._longest, self._until - self._voice_at)
        self._voice_at = None
        self.post("voice_ended")

    def post(self, event: str) -> None:
        """Report any other event of the flow."""
        if not self._runtime.closed:
            self._runtime.post(event)

    @property
    def has_due(self) -> bool:
        """Speech without a transcript is due to be reported, but one is still awaited."""
        return self._runtime.has_due

    def take_due(self) -> None:
        """Report that speech if no transcript is awaited any more."""
        self._runtime.take_due()

    # -- the flow

    def audio_expected(self) -> bool:
        """There is a microphone, and it is on."""
        return self._session.settings.expects_audio

    def report_audio_stopped(self, event: Event) -> None:
        """Record that no audio of the user arrives."""
        since = self._now() - self._seconds["audio_limit"]
        self._record(AudioStopped(round(since, 3)))

    def report_audio_resumed(self, event: Event) -> None:
        """Record that audio arrives again."""
        self._record(AudioResumed())

    def report_no_transcript(self, event: Event) -> None:
        """Record that speech got no transcript."""
        spans = self._since, self._until, self._longest
        self._record(VoiceUnrecognised(*(round(seconds, 3) for seconds in spans)))
