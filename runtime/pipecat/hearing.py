"""Tracks the user: speech, transcripts, and whether endpointing is running."""

from __future__ import annotations

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.host.turns import Turn, commit_turn

from .pauses import Pauses

__all__ = ["Hearing"]

OWNER = "pipeline"
"""The owner of all turns, as there is only one agent."""


class Hearing:
    """Reports the user to the conductor.

    Attributes:
        committed: The turn that was committed, until the model is asked to answer it.
        ignored: The flow leaves the user's text unanswered; Pipecat's turn is still open.
        pauses: The VAD, if the flow wants to know of pauses.
        min_silence: Seconds of silence that are a pause in the current state.
    """

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor
        self._voices: set[str] = set()
        self._reported = False  # a VAD or a service reports when the user speaks
        self._words: list[str] = []  # in no turn yet
        self._open = False
        self._interrupts = True
        self.committed: Turn | None = None
        self.ignored = False
        self.pauses: Pauses | None = None
        self.min_silence: float | None = None

    @property
    def silent(self) -> bool:
        """The user has paused within their speech."""
        if self.pauses is None or self.min_silence is None:
            return False
        return self.pauses.silence >= self.min_silence or not self.speaks

    @property
    def speaks(self) -> bool:
        """The user is speaking."""
        return bool(self._voices)

    @property
    def has_turn(self) -> bool:
        """Pipecat's turn is open, and has text that is in no turn of ours yet. Text outside of a
        turn belongs to the next one."""
        return self._open and bool(self._words)

    @property
    def endpointing(self) -> bool:
        """Pipecat is deciding whether the turn has ended."""
        return self.has_turn and not self.speaks

    @property
    def turn_waits(self) -> bool:
        """A turn is complete, but cannot be answered now. Its text stays in Pipecat's turn."""
        return self._conductor.turns.deferred is not None

    @property
    def uncommitted(self) -> str:
        """The transcript that is in no turn yet."""
        return " ".join(self._words)

    # -- speech and transcripts

    def voice_started(self, by: str) -> None:
        """The VAD or a service reports that the user speaks."""
        first, decided = not self._voices, self.endpointing
        self._voices.add(by)
        self._reported = True
        if not first:
            return
        if decided:
            self._conductor.user.endpointing_finished(cancelled=True)
        self._conductor.outages.voice_started()
        self._conductor.user.voice_started()
        self._conductor.utterance.voice_started()

    def voice_ended(self, by: str) -> None:
        """The VAD or the service reports that the user has stopped."""
        if self._voices != {by}:
            self._voices.discard(by)
            return
        self._voices.clear()
        self._conductor.outages.voice_ended()
        self._conductor.utterance.voice_ended()
        self._conductor.user.voice_ended()

    def muted(self) -> None:
        """The user was muted."""
        for by in tuple(self._voices):
            self.voice_ended(by)

    def transcript_received(self, text: str, *, final: bool) -> None:
        """The STT has given a transcript, which Pipecat has not processed yet."""
        self._conductor.outages.post("transcript_received")
        self._conductor.user.transcript_received(" ".join([*self._words, text]), final=final)
        if not final:
            self._conductor.utterance.post("interim_transcript")
            if not self._reported:
                self._conductor.utterance.voice_shown()

    def words_counted(self, words: str) -> None:
        """A final transcript was processed by the start strategies."""
        self._words.append(words)
        if self._conductor.keeping is not None:
            self._conductor.keeping.transcript_received()
        self._conductor.user.final_transcript()
        self._conductor.utterance.post("final_transcript")

    def words_dropped(self) -> None:
        """A strategy has reset what Pipecat has collected for the turn."""
        decided, self._words = self.endpointing, []
        self._conductor.utterance.post("cleared")
        if decided:
            self._conductor.user.endpointing_finished(cancelled=False)

    # -- turns

    def turn_opened(self) -> None:
        """A turn of Pipecat begins."""
        self._open = True

    def turn_started(self, *, interrupts: bool) -> None:
        """A strategy has started a turn, with or without `enable_interruptions`."""
        before, self._interrupts = self._interrupts, interrupts
        step = self._conductor.floor.step
        if step is not None and interrupts != before:
            self._conductor.speech.interruptions_turned(step.speech, on=step.speech.interruptible)

    def may_interrupt(self) -> bool:
        """The latest turn of the user may interrupt what the agent says."""
        return self._interrupts

    def turn_closed(self) -> None:
        """It has ended."""
        decided, self._open = self.endpointing, False
        if decided:
            self._conductor.user.endpointing_finished(cancelled=False)

    def commit(self, turn: Turn | None = None) -> bool:
        """The turn is complete. Ask the flow whether it may be answered now.

        Args:
            turn: A deferred one; by default, the words since the last turn.
        """
        conductor = self._conductor
        if (lost := self.take_committed()) is not None:
            conductor.commits.answer_ended(lost)  # Pipecat had no words for it
        if turn is None:
            turn, self._words = Turn(" ".join(self._words)), []
        taken = commit_turn(conductor, OWNER, turn)
        if taken:
            self.committed = turn
        self.ignored = not taken and not conductor.turns.is_deferred(turn)
        conductor.user.endpointing_finished(cancelled=False)
        return taken

    def may_speculate(self) -> bool:
        """A service predicts the end of the turn. Ask the flow whether the model may be asked."""
        return self._conductor.commits.may_speculate(lambda: None)

    def take_committed(self) -> Turn | None:
        """The turn that was committed and is not asked about yet; only once."""
        turn, self.committed = self.committed, None
        return turn

    def close_turn(self) -> bool:
        """Pipecat's turn is about to be closed. Whether the model is to be asked about its words:
        not if they were ignored."""
        ignored, self.ignored = self.ignored, False
        return not ignored
