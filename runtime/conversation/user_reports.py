"""Posts events of the user: speech, transcripts, and the end of an utterance."""

from __future__ import annotations

from collections.abc import Mapping

from turnfsm.fsm import Taken, Verdict
from turnfsm.fsm.agenda.entries import Transcribed, TurnDecided, UtteranceEnded, VoiceStarted
from turnfsm.runtime.event import Event

from .core import Core
from .host import TurnHost
from .objections import Objections
from .outages import Outages
from .utterance import Utterance
from .vocabulary import actions_used

__all__ = ["UserReports"]


class UserReports:
    """Takes the reports about the user's speech and transcripts.

    Attributes:
        utterance: The user's last utterance.
        transcript: The last speech, as transcribed by a realtime model.
    """

    def __init__(
        self, core: Core, host: TurnHost, objections: Objections, outages: Outages
    ) -> None:
        self._core, self._host = core, host
        self._objections, self._outages = objections, outages
        self._last_barge_in: Verdict | None = None
        self.transcript = ""
        self.utterance = Utterance(self)

    # -- speech and transcripts

    def voice_started(self) -> None:
        """Speech starts. Without a VAD, an interim transcript shows it. Posts
        `user_started_speaking`."""
        self._last_barge_in = None
        self.transcript = ""
        self._host.utterance_over()
        self._core.expecting.voice_started()
        self._core.log.add(VoiceStarted())
        self._core.turn.post("user_started_speaking")

    def voice_ended(self, *, unheard: bool = False) -> None:
        """Speech has ended. Posts `user_stopped_speaking`.

        Also posts `endpointing_ended` if no interruption can follow: if only the application
        commits audio, or the speech that has the floor is uninterruptible.

        Args:
            unheard: The STT has received none of its audio, so no interruption can follow either.
        """
        self._core.expecting.voice_ended()
        self._core.turn.post("user_stopped_speaking")
        agent = self._core.agent
        by_button = agent is not None and agent.setup.manual_turns and agent.setup.commits_audio
        if (by_button or unheard or self.uninterruptible()) and not self._host.endpointing():
            self._core.turn.post("endpointing_ended")

    def barge_in(self) -> None:
        """The user has spoken long enough to interrupt. Called for every frame of an utterance.

        Posts `barge_in` if the verdict may have changed since the last frame.
        """
        verdict = self._core.turn.ask("barge_in")
        last, taken = self._last_barge_in, isinstance(verdict, Taken)
        # A post with an effect is never skipped: the speech may have resumed since.
        acts = isinstance(verdict, Taken) and (verdict.entered or verdict.actions)
        if not acts and (verdict is last or (last and taken)):
            return
        self._last_barge_in = verdict
        self._core.turn.post("barge_in")

    def step_started(self) -> None:
        """Another step has the floor. Posts nothing; the next `barge_in` is about that step."""
        self._last_barge_in = None

    def transcript_received(self, text: str, *, final: bool) -> None:
        """The STT has given a transcript, which the framework has not processed yet.

        Posts `interim_transcript`, if the flow has it and the transcript is not final.

        Args:
            text: What the user has said since the last turn, including this transcript.
            final: The transcript is final.
        """
        self._host.transcript_received(text, final=final)
        self._core.expecting.heard(text, final=final)
        if final:
            self._core.log.add(Transcribed())
        else:
            self._core.offer("interim_transcript")

    def transcript_classified(self) -> None:
        """A classifier of the application has judged the transcript so far.

        Posts `interim_transcript`, if the flow has it, so that it decides again.
        """
        self._core.offer("interim_transcript")
        self._core.moved()

    def final_transcript(self) -> None:
        """A final transcript has arrived.

        Posts `final_transcript`, unless a speech has the floor and the transcript came after the
        end of speech, with too few words to interrupt.
        """
        if self.may_interrupt() or self.speaking or self._core.floor.step is None:
            self._core.turn.post("final_transcript")

    def turn_cleared(self) -> None:
        """The user's text without a turn was dropped. Posts nothing."""
        self._host.utterance_over()
        self._core.expecting.cleared()
        self._core.log.add(TurnDecided())
        self._outages.post("turn_cleared")
        self.utterance.post("cleared")

    def endpointing_finished(self, *, cancelled: bool) -> None:
        """Endpointing has ended, or it is known whether a realtime model answers. Posts
        `endpointing_ended` if the flow has read it and nothing else is undecided.

        Args:
            cancelled: It was cancelled because the user went on speaking.
        """
        read = self._host.decision_reported()
        if self._core.governs and read and not (cancelled or self._host.endpointing()):
            self._core.turn.post("endpointing_ended")
        self._core.moved()

    def message_added(self, id: str, text: str) -> None:
        """A message of the user, which a realtime model may have transcribed, was added to the
        conversation.

        Posts `message_answered` if such a model is already answering it. A model that owns its
        turns commits none, so this message may answer a call that waits for a yes, unless the user
        has said it before the question. Posts `yes_said`, or `other_answer` if it is no yes, if the
        flow has them.
        """
        self._core.turns.message_added(id)
        self.transcript = text
        self._objections.transcribed(text)
        core, agent = self._core, self._core.agent
        if agent is not None and agent.setup.answers_by_itself and text and core.log.asked.answered:
            core.log.add(Transcribed())
            with self._host.about(text):
                if not core.offer("yes_said", text=text, source="user_turn"):
                    core.offer("other_answer")
            core.log.add(TurnDecided())

    # -- questions

    @property
    def speaking(self) -> bool:
        """The VAD detects speech now."""
        return self._core.turn.holds("user_speaking")

    @property
    def holds_output(self) -> bool:
        """The flow has a state that holds back a reply while the user speaks."""
        return "hold_output" in actions_used(self._core.turn.flow)

    # -- the utterance: its host facts and actions, and the protocol `Hearing`

    def may_interrupt(self) -> bool:
        """The transcript has enough words to interrupt."""
        least = self._core.session.settings.min_words
        return least == 0 or self._last_barge_in is not None

    def uninterruptible(self) -> bool:
        """The speech that has the floor cannot be interrupted."""
        step = self._core.floor.step
        return step is not None and not step.speech.interruptible

    def ends_turns(self) -> bool:
        """The end of an utterance may end the turn."""
        agent = self._core.agent
        return agent is not None and agent.setup.has_stt and not agent.setup.manual_turns

    def stt_ends_turns(self) -> bool:
        """The STT detects the ends of turns, and reports them."""
        agent = self._core.agent
        return agent is not None and agent.setup.stt_ends_turns

    def value_whole(self) -> bool:
        """The user has said the whole expected value."""
        return self._core.expecting.extent == "whole"

    def value_partial(self) -> bool:
        """The user has said only a part of it."""
        return self._core.expecting.extent == "partial"

    def begin_voice(self, event: Event) -> None:
        """An interim transcript shows that the user speaks."""
        self.voice_started()

    def end_voice(self, event: Event) -> None:
        """Such speech has ended with a final transcript. Posts `user_stopped_speaking`."""
        if self._core.governs:
            self.voice_ended()

    def end_untranscribed_voice(self, event: Event) -> None:
        """Such speech has ended, and no transcript follows. Posts `user_stopped_speaking`, and
        `endpointing_ended` if no transcript is awaited."""
        self.end_voice(event)
        if self._core.governs and not self._host.endpointing():
            self._core.turn.post("endpointing_ended")

    def report_noise(self, event: Event) -> None:
        """The voice was noise."""
        self.noise_ended()

    @property
    def min_duration(self) -> float:
        """How long speech must last to interrupt, in seconds."""
        return self._core.session.settings.min_duration

    @property
    def timers(self) -> Mapping[str, float]:
        """The session's timers in seconds, and how long to wait for the rest of an expected
        value."""
        timers = self._core.session.settings.timers
        if not self.value_partial():
            return timers
        return {**timers, "value_wait": self._core.expecting.wait}

    def utterance_ended(self) -> None:
        """The user is silent, and no transcript is expected any more. Posts nothing."""
        self._core.log.add(UtteranceEnded())

    def utterance_moved(self, *, settled: bool) -> None:
        """Retry pending work. Posts `endpointing_ended` if no transcript is awaited and endpointing
        is not running."""
        if not self._core.governs:
            return
        if settled and not self._host.endpointing():
            self._core.turn.post("endpointing_ended")
        self._core.moved()

    def noise_ended(self) -> None:
        """The last speech got no transcript. Posts nothing; an obligation that it interrupted may
        be open again."""
        self._host.note_noise()

    def utterance_over(self) -> None:
        """No transcript is awaited any more. Posts `endpointing_ended`, unless endpointing is
        running."""
        agent = self._core.agent
        if self._core.governs and (agent is None or not agent.endpointing):
            self._core.turn.post("endpointing_ended")
            self._core.moved()
