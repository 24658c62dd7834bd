"""Posts to the turn's flow what the user does: speech, transcripts and turns.

Each method corresponds to one event of the framework, or to one moment at which the framework is
about to act. Its docstring says which, and names the trigger that it posts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping

from turnfsm.fsm import Refused, Taken, Verdict
from turnfsm.fsm.agenda import AnswerDue, Answered, HeardByModel, NoiseEnded
from turnfsm.fsm.expect import Extent
from turnfsm.fsm.flow import Tuning
from turnfsm.runtime.log import Log
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.turn import TurnRuntime

from .deferred import DeferredQueue
from .expecting import Expecting
from .floor import Floor
from .host import TurnHost
from .objections import Objections
from .ports import Agent, Session, Speech, UserTurn
from .speech_queue import SpeechQueue
from .user_turns import Outcome, Turn, UserTurns
from .utterance import Utterance
from .vocabulary import actions_used

__all__ = ["UserReports"]


class UserReports:
    """Takes a session's reports and questions about the user. `Conductor` has the rest.

    Args:
        session: Carries out the decisions.
        queue: Holds deferred work.
    """

    turn: TurnRuntime
    floor: Floor
    speeches: SpeechQueue
    host: TurnHost
    log: Log
    objections: Objections
    keeping: Keeping | None = None

    def __init__(self, session: Session, queue: DeferredQueue) -> None:
        self._session = session
        self.turns = UserTurns(
            self._turn_ended, queue, lambda: session.closing, self._is_asked_again
        )
        self._last_barge_in: Verdict | None = None
        self._transcript = ""  # of the last speech, as a message
        self._carried, self._carried_commit = "", False
        self._speculation: Callable[[], None] | None = None
        self._yes: UserTurn | None = None
        self.expecting = Expecting(lambda: self._tuning.expect, lambda: self.turn.now)
        self.utterance = Utterance(self)

    @property
    def agent(self) -> Agent | None:
        """The active agent."""
        return self._session.activity

    def _is_asked_again(self, utterance: str) -> bool:
        due = self.log.agenda.find("utterance", utterance)
        return due is not None and due.state != "with_next"

    @property
    def closing(self) -> bool:
        """The session closes."""
        return self._session.closing

    # -- speech and transcripts

    def user_started(self) -> None:
        """Speech starts. If nothing else detects speech, an interim transcript shows it. Posts
        `user_started_speaking`."""
        self._last_barge_in = None
        self._transcript = ""
        self.host.words_over()
        self.expecting.voice_started()
        self.host.confirming.voice_started()
        self._post("user_started_speaking")

    def shown_voice_ended(self, *, recognised: bool) -> None:
        """Speech that only transcripts showed has ended, with or without a final transcript. Posts
        `user_stopped_speaking`, and `endpointing_ended` if no transcript is awaited."""
        if not self._governs:
            return
        self.user_stopped()
        if not (recognised or self.host.endpointing()):  # its transcript was awaited
            self._post("endpointing_ended")

    def user_stopped(self) -> None:
        """Speech has ended. Posts `user_stopped_speaking`.

        Also posts `endpointing_ended` if no interruption can follow: if only the application
        commits audio, or the speech that has the floor is uninterruptible.
        """
        self.expecting.voice_ended()
        self._post("user_stopped_speaking")
        agent = self.agent
        by_button = agent is not None and agent.setup.manual_turns and agent.setup.commits_audio
        if (by_button or self.uninterruptible) and not self.host.endpointing():
            self._post("endpointing_ended")

    def message_added(self, id: str, text: str) -> None:
        """A message of the user, transcribed by a realtime model, was added to the conversation.
        Posts `message_answered` if the model is already answering it."""
        self.turns.message_added(id)
        self._transcript = text
        self.objections.transcribed(text)

    def answer_awaited(self) -> None:
        """A realtime model with turn detection reports that the user has stopped speaking.

        Posts `endpointing_ended` once the model has begun to answer, or will not answer.
        """
        self.host.answer_pending()

    @property
    def user_speaks(self) -> bool:
        """The VAD detects speech now."""
        return self.turn.holds("user_speaking")

    @property
    def voice_holds_output(self) -> bool:
        """The flow has a state that holds back a reply while the user speaks."""
        return "hold_output" in actions_used(self.turn.flow)

    # -- what concerns an utterance

    @property
    def may_interrupt(self) -> bool:
        """The transcript has enough words to interrupt."""
        few = self._session.settings.min_words
        return few == 0 or self._last_barge_in is not None

    @property
    def ends_turns(self) -> bool:
        """The end of an utterance may end the turn."""
        agent = self.agent
        if agent is None:
            return False
        setup = agent.setup
        return setup.has_stt and not setup.manual_turns

    @property
    def min_duration(self) -> float:
        """How long speech must last to interrupt, in seconds."""
        return self._session.settings.min_duration

    @property
    def timers(self) -> Mapping[str, float]:
        """The session's timers in seconds, and how long to wait for the rest of an expected
        value."""
        timers = self._session.settings.timers
        if self.expecting.extent != "partial":
            return timers
        return {**timers, "value_wait": self.expecting.wait}

    @property
    def extent(self) -> Extent:
        """How much of the expected value the user has said."""
        return self.expecting.extent

    @property
    def _tuning(self) -> Tuning:
        tuning = self.turn.flow.states[self.turn.state].tuning
        for tool, its in self.turn.flow.tools.tuning.items():
            if self.host.waits_for((tool,)):
                tuning = its.over(tuning)
        return tuning

    @abstractmethod
    def _moved(self) -> None:
        """Something has changed: retry what waits."""

    def utterance_moved(self, *, settled: bool) -> None:
        """Retry what waits. Posts `endpointing_ended` if no transcript is awaited and endpointing
        is not running."""
        if not self._governs:
            return
        if settled and not self.host.endpointing():
            self._post("endpointing_ended")
        self._moved()

    def noise_ended(self) -> None:
        """The last speech got no transcript. Posts nothing; an obligation that it interrupted may
        be open again."""
        self.log.add(NoiseEnded())
        self.host.confirming.noise_ended()

    def utterance_over(self) -> None:
        """No transcript is awaited any more. Posts `endpointing_ended`, unless endpointing is
        running."""
        agent = self.agent
        if self._governs and (agent is None or not agent.deciding):
            self._post("endpointing_ended")
            self._moved()

    @property
    def uninterruptible(self) -> bool:
        """The speech that has the floor cannot be interrupted."""
        step = self.floor.step
        return step is not None and not step.speech.interruptible

    def transcript_received(self, text: str, *, final: bool) -> None:
        """The STT has given a transcript, which the framework has not processed yet.

        Posts `interim_transcript`, in a flow that has it, if the transcript is not final.

        Args:
            text: What the user has said since the last turn, including this transcript.
            final: The transcript is final.
        """
        self.host.transcript_received(text, final=final)
        self.expecting.heard(text, final=final)
        self.host.confirming.transcript_received()
        if not final and "interim_transcript" in self.turn.flow.triggers:
            self._post("interim_transcript")

    def endpointing_finished(self, *, cancelled: bool) -> None:
        """Endpointing has ended, or it is known whether a realtime model answers. Posts
        `endpointing_ended` if the flow has asked and nothing else is undecided.

        Args:
            cancelled: It was cancelled because the user went on speaking.
        """
        asked = self.host.decision_reported()
        if self._governs and asked and not (cancelled or self.host.endpointing()):
            self._post("endpointing_ended")
        self._moved()

    def transcript_classified(self) -> None:
        """A classifier of the application has judged the transcript so far.

        Posts `interim_transcript`, in a flow that has it, so that it decides again.
        """
        if self._governs and "interim_transcript" in self.turn.flow.triggers:
            self._post("interim_transcript")
        self._moved()

    def final_transcript(self) -> None:
        """A final transcript has arrived.

        Posts `final_transcript`, unless a speech has the floor and the transcript came after the
        end of speech, with too few words to interrupt.
        """
        if self.may_interrupt or self.user_speaks or self.floor.step is None:
            self._post("final_transcript")

    def barge_in(self) -> None:
        """The user has spoken long enough to interrupt. Called for every frame of an utterance.

        Posts `barge_in` if the verdict may have changed since the last frame.
        """
        verdict = self.turn.ask("barge_in")
        last, taken = self._last_barge_in, isinstance(verdict, Taken)
        # A post that had an effect is never skipped: the speech may have resumed since.
        acts = isinstance(verdict, Taken) and (verdict.entered or verdict.actions)
        if not acts and (verdict is last or (last and taken)):
            return
        self._last_barge_in = verdict
        self._post("barge_in")

    def may_speculate(self, again: Callable[[], None]) -> bool:
        """A speculative reply is about to be requested. Posts `preemptive_generation`.

        Args:
            again: If the flow refuses now, called as soon as it would accept, unless a turn is
                committed before.
        """
        taken = bool(self._post("preemptive_generation"))
        self._speculation = None if taken else again
        return taken

    def _speculate_again(self) -> None:
        if self._speculation is not None and self.turn.ask("preemptive_generation"):
            again, self._speculation = self._speculation, None
            again()

    # -- turns

    def defers_short_turn(self, owner: str, info: UserTurn) -> bool:
        """A turn has ended with too few words to interrupt (`min_words`).

        Posts `turn_too_short`, and `turn_deferred` if the flow chooses `defer_turn`. Otherwise the
        text becomes part of what the user says next.

        Args:
            owner: The agent that would answer it.
            info: The turn.
        """
        self._speculation = None
        with self.host.about(info.new_transcript):
            verdict = self._post("turn_too_short", text=info.new_transcript, source="user_turn")
        if not (isinstance(verdict, Taken) and "defer_turn" in verdict.actions):
            return False
        self.host.words_over()
        self.expecting.turn_complete()
        self.defer(info, owner, "it has too few words to interrupt what is about to be said")
        return True

    def may_commit(self, owner: str, info: UserTurn, *, empty_transcript: bool = False) -> bool:
        """A turn of the user is complete, after the framework's own checks.

        Posts `hold_turn` and `ignore_turn`, in a flow that has them, if the turn was not deferred.
        If neither is taken: `turn_committed`, and `turn_deferred` if that is refused.

        Args:
            owner: The agent that the turn was committed to.
            info: The turn.
            empty_transcript: It has no transcript. It is not deferred, as there is nothing to
                answer later.
        """
        self._speculation = None
        self.host.words_over()
        with self.host.about(info.new_transcript, empty_transcript=empty_transcript):
            if not self.turns.is_deferred(info) and self._ignores(info):
                self.expecting.cleared()
                return False
            verdict = self._post("turn_committed", text=info.new_transcript, source="user_turn")
        if not (empty_transcript or self.turns.is_deferred(info)):
            self.expecting.turn_complete()
        if isinstance(verdict, Refused):
            if not empty_transcript:
                self.defer(info, owner, verdict.why)
            return False
        self.turns.commit(info, owner)
        if (agent := self.agent) is not None and agent.setup.commits_audio:
            self.turns.take_in_deferred()
        return True

    def was_yes(self, info: UserTurn) -> bool:
        """The turn was not to be answered, as a call has waited for it. It belongs into the
        conversation."""
        return self._yes is info

    def defer(self, info: UserTurn, owner: str, reason: str) -> None:
        """A turn cannot be answered now. Posts `turn_deferred`.

        Args:
            owner: The agent that it was committed to.
            reason: Why it must wait.
        """
        self.turns.defer(info, owner, reason)
        self._turn_deferred()

    def _ignores(self, info: UserTurn) -> bool:
        known, text = self.turn.flow.triggers, info.new_transcript
        if "yes_said" in known and self._post("yes_said", text=text, source="user_turn"):
            self._yes = info
            return True
        if "hold_turn" in known and self._post("hold_turn", text=text, source="user_turn"):
            self.log.add(NoiseEnded())  # what it has interrupted gets no answer from it
            return True
        if "ignore_turn" not in known:
            return False
        if ignored := self._post("ignore_turn", text=text, source="user_turn"):
            self.host.confirming.words_ignored()
        return bool(ignored)

    def defer_to_next_agent(self, owner: str, info: UserTurn, complete: bool) -> None:
        """A turn has ended, and its agent is about to be replaced: the next agent answers it. Posts
        `turn_deferred`. Also posts `endpointing_ended` if the turn is complete, so that this
        agent's remaining speech need not wait for a transcript."""
        self.expecting.turn_complete()
        self.defer(info, owner, "a handoff is under way")
        if complete:
            self._post("endpointing_ended")

    def heard_by_model(self, utterances: Iterable[str]) -> None:
        """These messages of the user are new in a realtime model's conversation. Posts nothing: the
        model answers them by itself, or is asked to."""
        for id in utterances:
            self.log.add(HeardByModel(id))

    def answer_skipped(self, words: Iterable[str]) -> None:
        """A realtime model's own answer will not be played: its agent is about to be replaced, or
        the model was asked for something else. Posts nothing: the messages are answered when the
        floor is free.

        Args:
            words: The ids of the messages that the model answers.
        """
        for id in words:
            self.log.add(AnswerDue(id))

    def answered_by_model(self) -> None:
        """A realtime model was asked for something else, and has also answered the user.

        Posts nothing: no message is left to answer.
        """
        due = self.log.agenda.due
        self.log.add(Answered(o.id for o in due if o.kind == "utterance"))

    def words_settled(self, words: Iterable[str]) -> None:
        """The new agent cannot know of these messages. Posts nothing."""
        self.log.add(Answered(words))

    @property
    def with_model(self) -> list[str]:
        """The ids of the user's unanswered messages that a realtime model has heard."""
        return [o.id for o in self.log.agenda.obligations if o.state == "with_model"]

    def defer_uncommitted_turn(self, owner: str, info: UserTurn, commits_by_itself: bool) -> None:
        """An agent is closed during a turn, which the next agent gets. Posts `turn_deferred` if the
        turn needs no further commit."""
        if commits_by_itself:
            self.defer(info, owner, "its agent was closed before it was committed")
        else:
            self._carried = info.new_transcript

    def take_carried_transcript(self) -> str:
        """The transcript of the previous agent's STT. Returned only once."""
        words, self._carried = self._carried, ""
        return words

    def hearing_ends(self) -> None:
        """This agent gets no more transcripts. Posts nothing; a commit that waits for one is tried
        again."""
        self._moved()

    def carry_commit(self) -> None:
        """The agent is closed, and the application has committed a turn whose transcript may still
        arrive. The next agent commits it. Posts nothing."""
        self._carried_commit = True

    def take_carried_commit(self) -> bool:
        """Whether `carry_commit` was called. True only once."""
        carried, self._carried_commit = self._carried_commit, False
        return carried

    def turn_started(self, task: Hashable, items: Iterable[str]) -> None:
        """The task that answers the committed turn has begun. Posts nothing.

        Args:
            task: The framework's task, used only as an identity; `turn_task_ended` follows.
            items: The ids of the conversation's items when the task begins. The request may be sent
                much later.
        """
        self.turns.follow(task, items)

    def turn_task_ended(self, task: Hashable) -> None:
        """The task that answers a turn has ended. Posts `turn_dropped` if it has requested no
        reply."""
        self.turns.task_ended(task)

    def floor_denied(self, speech: Speech, task: Hashable | None) -> None:
        """The turn must not interrupt this speech. Its task ends, and the turn is deferred."""
        if self.floor.holds(speech):
            self.turns.mark_unanswerable(task)

    def handoff_seen(self, task: Hashable | None) -> None:
        """A handoff has begun. The turn's task ends, and the turn is deferred."""
        if not self.closing:  # what the user says during a close goes into the history
            self.turns.mark_unanswerable(task)

    def speech_scheduled(self, task: Hashable | None, speech: Speech, agent: Agent) -> None:
        """A speech waits for the floor. Posts `reply_requested` if it answers the latest turn.

        Args:
            task: The task that has requested it.
            speech: The speech, which takes the floor after those before it.
            agent: The agent that says it.
        """
        self.speeches.scheduled(agent, speech)
        if agent.setup.keeps_context:
            self.reply_started(speech)
        turn = self.turns.ask(task, speech)
        if turn is not None and self.turns.is_latest(turn):
            self.objections.answered(turn.info.new_transcript, speech)
            self._post("reply_requested", turn=turn.number, speech=speech.id)

    @abstractmethod
    def reply_started(self, speech: Speech) -> None:
        """A reply needs the floor in order to continue."""

    def speech_heard(self, speech: Speech) -> None:
        """A step starts to play. Posts `turn_replied` if it is the first audible part of the reply
        to a turn."""
        turn = self.turns.hear(speech)
        if turn is not None:
            self._post("turn_replied", turn=turn.number, speech=speech.id)

    def answer_asked(
        self, task: Hashable | None, speech: Speech, info: UserTurn, items: Iterable[str]
    ) -> None:
        """A reply to the user is requested. Posts `user_typed`, in a flow that has it, if the user
        typed."""
        if self.turns.answered_by(task) is None:
            self.turns.typed(info, speech, items)
            if "yes_said" in self.turn.flow.triggers:
                with self.host.about(info.new_transcript):
                    self._post("yes_said", text=info.new_transcript)
            if "user_typed" in self.turn.flow.triggers:
                self._post("user_typed", speech=speech.id)
            if self.keeping is not None:
                self.keeping.transcript_received()

    def _turn_ended(self, turn: Turn, outcome: Outcome, why: str, current: bool) -> None:
        if not self._governs:
            return
        if outcome != "superseded":
            self.expecting.answered()
        said = {"why": why} if why else {}
        self.turn.note("turn", number=turn.number, outcome=outcome, deferred=turn.deferred, **said)
        if turn.unanswered:
            self._turn_deferred()
        if outcome in ("superseded", "dropped") and current:
            self._post("turn_dropped", turn=turn.number, reason=why)

    def _turn_deferred(self) -> None:
        self.speeches.turn_deferred(self.agent)
        if self._governs:
            self._post("turn_deferred")

    @property
    def _governs(self) -> bool:
        return not self.turn.closed

    def _post(self, trigger: str, of: str | None = None, /, **data: object) -> Verdict:
        return self.turn.post(trigger, of, **data)
