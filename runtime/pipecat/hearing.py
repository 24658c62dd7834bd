"""Tracks the user: speech, transcripts, and whether endpointing is running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.phrases import words_of
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.host.turns import Turn, commit_turn

from .pauses import Pauses
from .turn_audio import TurnAudio

__all__ = ["Hearing"]

_EXACT = 1e-6  # seconds; less than this is over


class Hearing:
    """Reports the user to the conductor.

    Attributes:
        committed: The turn that was committed, until the model is asked to answer it.
        ignored: The flow leaves the user's text unanswered; Pipecat's turn is still open.
        unwanted: The ignored text must not enter the conversation.
        pauses: The VAD, if the flow needs pauses.
        tuning: The settings of the flow's current state.
        audio: The audio of the turns, if the model hears it.
        speculates: The model may be asked before the turn is committed.
    """

    take: Callable[[Turn], Coroutine[Any, Any, None]]
    """Commits a deferred turn."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor
        self._voices: set[str] = set()
        self._reported = False  # a VAD or a service reports when the user speaks
        self._left: list[str] = []  # of a turn that stays open: it has too few words to interrupt
        self._texts: list[str] = []  # since then; in no turn yet
        self._open = False
        self._interrupts = True
        self._proposed = False  # a strategy wants to interrupt, and the flow was not asked yet
        self._heard = ""  # since the last turn, with the interim transcript
        self._since: float | None = None  # when the voice began, in the time of the flow
        self._long_enough: asyncio.TimerHandle | None = None
        self.committed: Turn | None = None
        self.ignored = self.unwanted = False
        self.pauses: Pauses | None = None
        self.tuning = Tuning()
        self.audio = TurnAudio()
        self.speculates = True

    @property
    def silent(self) -> bool:
        """The user has paused within their speech."""
        pause = self.tuning.min_silence
        if self.pauses is None or pause is None:
            return False
        return self.pauses.silence >= pause or not self.speaks

    @property
    def speaks(self) -> bool:
        return bool(self._voices)

    @property
    def has_turn(self) -> bool:
        """Pipecat's turn is open, and has text that is in no turn of ours yet. Text outside of a
        turn belongs to the next one."""
        return self._open and bool(self.uncommitted)

    @property
    def endpointing(self) -> bool:
        """Pipecat decides whether the turn has ended, or will: the user pauses after words."""
        return self._open and bool(self._texts) and (self.silent or not self.speaks)

    @property
    def turn_waits(self) -> bool:
        """A turn is complete, but cannot be answered now. Its text stays in Pipecat's turn."""
        return self._conductor.turns.deferred is not None

    @property
    def waits(self) -> bool:
        """The turn must not end now: it is deferred, lacks a part of the expected value, or has too
        few words to interrupt, and nothing was said since."""
        short = bool(self._left) and not self._texts
        return self.turn_waits or self.value_due or short

    @property
    def value_due(self) -> bool:
        """A part of the expected value is still missing."""
        return self.has_turn and self._conductor.utterance.ask("value_due")

    @property
    def ends_now(self) -> bool:
        """The expected value is complete."""
        return self.endpointing and self._conductor.utterance.ask("ends_now")

    @property
    def uncommitted(self) -> str:
        """The transcript that is in no turn yet."""
        return " ".join([*self._left, *self._texts])

    # -- speech and transcripts

    def voice_started(self, by: str, *, after: float = 0.0) -> None:
        """The VAD or a service reports that the user speaks.

        Args:
            after: Seconds of voice before the report.
        """
        first, decided = not self._voices, self.endpointing
        self._voices.add(by)
        self._reported = True
        if not first:
            return
        self._since = self._conductor.turn.now - after
        self.audio.voice_started()
        if decided:
            self._conductor.user.endpointing_finished(cancelled=True)
        self._conductor.outages.voice_started()
        self._conductor.user.voice_started()
        self._conductor.utterance.voice_started()

    def voice_ended(self, by: str, *, after: float = 0.0) -> None:
        """The VAD or the service reports that the user has stopped.

        Args:
            after: Seconds of silence before the report.
        """
        if self._voices != {by}:
            self._voices.discard(by)
            return
        self._voices.clear()
        self._wait_no_longer()
        self._conductor.outages.voice_ended()
        self._conductor.utterance.voice_heard(self._voice - after)
        self._since = None
        self._conductor.utterance.voice_ended()
        self._conductor.user.voice_ended()

    def muted(self) -> None:
        """The user was muted."""
        for by in tuple(self._voices):
            self.voice_ended(by)

    def ends(self) -> None:
        """Nobody hears the user any more."""
        self.muted()
        self.turn_closed()

    def transcript_received(self, text: str, *, final: bool) -> None:
        """The STT has given a transcript, which Pipecat has not processed yet."""
        self._heard = " ".join([*self._left, *self._texts, text])
        self._conductor.outages.post("transcript_received")
        self._conductor.user.transcript_received(self._heard, final=final)
        if not final:
            self._conductor.utterance.post("interim_transcript")
            if not self._reported:
                self._conductor.utterance.post("voice_shown")
        self._interrupt()

    def transcript_processed(self, text: str) -> None:
        """A final transcript was processed by the start strategies."""
        self._texts.append(text)
        if self._conductor.keeping is not None:
            self._conductor.keeping.transcript_received()
        self._conductor.user.final_transcript()
        self._conductor.utterance.post("final_transcript")

    def transcript_reset(self) -> None:
        """A strategy has reset Pipecat's text of the turn."""
        decided = self.endpointing
        self._take_text()
        self._conductor.user.turn_cleared()
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

    def interruption_proposed(self) -> None:
        """A strategy wants to interrupt. The flow is asked once the user has spoken for long
        enough, and has said enough words, for the current state's tuning."""
        self._proposed = True
        self._interrupt()

    def _interrupt(self) -> None:
        least = self.tuning.min_words or 0
        if not self._proposed or len(words_of(self._heard)) < least:
            return
        missing = (self.tuning.min_duration or 0.0) - self._voice
        if self._since is not None and missing > _EXACT:
            self._wait_no_longer()
            loop = asyncio.get_running_loop()
            self._long_enough = loop.call_later(missing, self._interrupt)
            return
        self._proposed = False
        self._conductor.user.barge_in()

    @property
    def _voice(self) -> float:
        """Seconds for which the user has been speaking, without the current pause."""
        if self._since is None:
            return 0.0
        pause = 0.0 if self.pauses is None else self.pauses.silence
        return self._conductor.turn.now - self._since - pause

    def _wait_no_longer(self) -> None:
        if self._long_enough is not None:
            self._long_enough.cancel()
            self._long_enough = None

    def may_interrupt(self) -> bool:
        """The latest turn of the user may interrupt the agent."""
        return self._interrupts

    def turn_closed(self) -> None:
        """Pipecat's turn has ended."""
        decided, self._open, self._proposed = self.endpointing, False, False
        self._wait_no_longer()
        self.audio.turn_closed(speaks=self.speaks)
        if decided:
            self._conductor.user.endpointing_finished(cancelled=False)

    def commit(self, turn: Turn | None = None) -> bool:
        """The turn is complete. Ask the flow whether it may be answered now.

        Args:
            turn: A deferred one; by default, the text since the last turn.
        """
        conductor = self._conductor
        if (lost := self.take_committed()) is not None:
            conductor.turns.answer_ended(lost)  # Pipecat had no text for it
        if turn is None:
            turn = Turn(self._take_text())
        taken = commit_turn(conductor, turn)
        if taken:
            self.committed = turn
            self.audio.committed()
        self.ignored = not taken and not conductor.turns.is_deferred(turn)
        self.unwanted = self.ignored and not (self.turn_waits or conductor.commits.was_yes(turn))
        conductor.user.endpointing_finished(cancelled=False)
        return taken

    def leaves_open(self) -> bool:
        """Whether a complete turn stays open, as it has too few words to interrupt the agent
        (`min_words`): then it is deferred, or becomes part of the next one."""
        conductor = self._conductor
        if not (self.has_turn and conductor.host.too_few_words(self.uncommitted)):
            return False
        if conductor.commits.defers_short_turn(Turn(self.uncommitted)):
            self._take_text()
        else:
            self._left, self._texts = [self.uncommitted], []
        conductor.utterance.post("turn_decided")
        conductor.user.endpointing_finished(cancelled=False)
        return True

    def _take_text(self) -> str:
        text, self._left, self._texts, self._heard = self.uncommitted, [], [], ""
        return text

    def may_speculate(self) -> bool:
        """A service predicts the end of the turn. Ask the flow whether the model may be asked."""
        if not self.speculates or self.tuning.preemptive_generation is False or self.value_due:
            return False
        return self._conductor.commits.may_speculate(lambda: None)

    def take_committed(self) -> Turn | None:
        """The committed turn that no request was sent for yet; only once."""
        turn, self.committed = self.committed, None
        return turn

    def close_turn(self) -> bool:
        """Pipecat's turn is about to close. Whether to request a reply: not if it was ignored."""
        ignored, self.ignored = self.ignored, False
        return not ignored
