"""The host facts of the turn's flow, read during a decision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from turnfsm.fsm.flow import Names
from turnfsm.fsm.phrases import Phrases, words_of
from turnfsm.runtime.turn import TurnRuntime

from .classifying import Classifiers, Transcript
from .confirming import Confirming
from .core import Core
from .open_calls import HOLDING
from .ports import Output, Speech
from .resumption import Resumption
from .speeches import Speeches
from .utterance import Utterance

__all__ = ["HostFacts"]


@attrs.frozen
class UserText:
    """What the user said.

    Attributes:
        text: The transcript.
        whole: If not, more may follow, and the last word may be incomplete.
    """

    text: str = ""
    whole: bool = True


class HostFacts:
    """The host facts of `specs/turn.yaml`. `TurnHost` has the actions."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.utterance: Utterance
        self.confirming: Confirming
        self.classifiers: Classifiers
        self.results_need_reply = self._decision_read = False
        self.button_pressed = False
        """The application has turned the microphone on, and has not turned it off or committed the
        turn since."""
        self._empty_transcript = False
        self.transcript_awaited: Speech | None = None
        """A realtime model's reply to an utterance whose transcript is still missing."""
        self._about = UserText()
        self._said = UserText()
        self.resumption: Resumption | None = None

    @property
    def turn(self) -> TurnRuntime:
        """Runs the flow."""
        return self._core.turn

    @property
    def speeches(self) -> Speeches:
        """The speeches that have not ended."""
        return self._core.speeches

    @property
    def button_held(self) -> bool:
        """Push to talk: only the application commits turns, and it has turned the microphone on for
        this one."""
        return self.button_pressed and self.manual_turns()

    @property
    def wants_reply(self) -> bool:
        """The flow must request a reply."""
        pending = self.resumption is not None and self.resumption.pending
        return pending or bool(self._core.log.agenda.open)

    @property
    def outdated(self) -> bool:
        """The step that has the floor answers an utterance, and a result has arrived that its
        request lacks."""
        step = self._core.floor.step
        return step is not None and self._core.log.agenda.outdated(step.speech.id)

    @contextmanager
    def about(self, text: str, *, empty_transcript: bool = False) -> Iterator[None]:
        """Inside this context, triggers are about this text of the user, or a turn without text."""
        self._about, self._empty_transcript = UserText(text), empty_transcript
        try:
            yield
        finally:
            self._about, self._empty_transcript = UserText(), False

    def transcript_received(self, text: str, *, final: bool) -> None:
        """The current utterance's transcript so far. `final`: its last part is final."""
        self._said = UserText(text, final)

    def utterance_over(self) -> None:
        """Speech starts, or the turn was decided: clear the transcript."""
        self._said = UserText()

    def has_said(self, phrases: Phrases) -> bool:
        """Whether the text of the trigger, or else of the current utterance, matches these
        phrases. For the host facts with `phrases`."""
        said = self._about if self._about.text else self._said
        return phrases.match(said.text, whole=said.whole)

    def said_so_far(self, by_phrases: bool) -> Transcript:
        """The input of a classifier: the text of the trigger, or else of the current utterance."""
        said, step = self._about if self._about.text else self._said, self._core.floor.step
        agent_text = "" if step is None else step.saying.text
        return Transcript(said.text.strip(), said.whole, by_phrases, agent_text)

    # -- host facts, read during a decision

    def interruptible(self) -> bool:
        """The speech that holds the floor may be interrupted."""
        step = self._core.floor.step
        return step is not None and step.speech.interruptible

    def agent_asked(self) -> bool:
        """The last sentence that the user has heard of the agent is a question: it ends with a
        question mark, or is one of the flow's `questions`. Also true after the end of the step,
        even if the user has answered since. The question of a call that needs a yes is one whatever
        its text, until it is known whether the call runs."""
        heard, declared = self._core.floor.heard, self.turn.flow.questions.values()
        if self._core.log.asked.begun:
            return heard.ending and self.confirming.question_asked()
        return heard.asks or any(question.is_in(heard.last_sentence) for question in declared)

    def between_sentences(self) -> bool:
        """Playout is between two sentences of the step."""
        step = self._core.floor.step
        return step is not None and step.saying.between_sentences

    def user_silent(self) -> bool:
        """The user has paused inside an utterance, long enough for the agent to begin."""
        step = self._core.floor.step
        agent = step.agent if step is not None else self._core.agent
        return agent is not None and agent.user_silent

    def holdable(self) -> bool:
        """The step can be held back: the output can pause, or has not received the first frame."""
        step = self._core.floor.step
        if step is None or step.output is None or step.agent.setup.overlaps:
            return False
        return step.output.can_pause or not step.gate.passed

    def pausable(self) -> bool:
        """The output can pause, and the session resumes after false interruptions."""
        output = self._output
        return output is not None and output.can_pause

    def endpointing(self) -> bool:
        """Endpointing is running. Its end will be reported.

        False while the session closes, as nothing is answered.
        """
        if self._core.closing:
            return False
        agent = self._core.agent
        deciding = agent is not None and agent.endpointing
        self._decision_read |= deciding
        return self.utterance.ask("end_open") or deciding

    def decision_reported(self) -> bool:
        """Endpointing has ended. Returns whether the flow has read that it was running."""
        asked, self._decision_read = self._decision_read, False
        return asked

    def message_pending(self) -> bool:
        """An earlier message of the user is not in the conversation yet, such as a typed line that
        waits for the floor. The text of deferred turns becomes part of the next turn."""
        return bool(self._core.turns.begun())

    def user_may_continue(self) -> bool:
        """Endpointing is running, or the transcript of the last speech is about to arrive, or the
        user holds the push-to-talk button.

        A slow STT does not delay this, as the sound may be noise; the output is held back instead.
        """
        agent = self._core.agent
        deciding = agent is not None and agent.endpointing
        return self.button_held or deciding or self.utterance.ask("end_near")

    def deferred_turn_blocked(self) -> bool:
        """Something comes before the deferred turn: a greeting, or speech that was queued when the
        turn was deferred. Or the agent cannot take the turn: a handoff is running, the turn has too
        few words to interrupt (`min_words`), or endpointing runs for a later turn that includes
        it."""
        agent = self._core.agent
        if agent is None or agent.phase in ("leaving", "greeting") or agent.endpointing:
            return True
        held = agent.setup.has_stt and not agent.setup.manual_turns
        first = self._core.speeches.comes_first(agent)
        return first or (held and self.too_few_words(self._core.turns.with_deferred("")))

    def too_few_words(self, text: str) -> bool:
        """A turn with this text has too few words to interrupt what the agent says
        (`min_words`)."""
        step, least = self._core.floor.step, self._core.session.settings.min_words
        if step is None or not step.speech.interruptible or step.speech.interrupted:
            return False
        return len(words_of(text)) < least

    def answer_pending(self) -> bool:
        """A transcript may still arrive, or a realtime model may answer by itself. If neither
        happens, the adapter reports it."""
        agent = self._core.agent
        coming = agent is not None and agent.answer_pending
        self._decision_read |= coming
        return self.button_held or self.utterance.ask("answer_open") or coming

    def manual_turns(self) -> bool:
        """Only the application commits turns."""
        agent = self._core.agent
        return agent is not None and agent.setup.manual_turns

    def empty_transcript(self) -> bool:
        """The trigger's turn has no transcript, and the model does not get its audio."""
        return self._empty_transcript

    def can_regenerate(self) -> bool:
        """The step replies to a turn, and its model can be asked again."""
        step = self._core.floor.step
        if step is None or step.agent.setup.keeps_context:
            return False
        return self._core.log.turns.answered_by(step.speech.id) is not None

    def tools_held(self) -> bool:
        """A running call makes its turn uninterruptible."""
        return bool(self._core.tools.find(HOLDING))

    def results_available(self) -> bool:
        """All results outside the conversation can be added to a request."""
        return self._core.tools.results_available

    def effect_pending(self) -> bool:
        """A tool waits to learn whether the user objects."""
        return self._core.tools.any_waits

    def transcript_pending(self) -> bool:
        """A realtime model answers an utterance whose transcript is still missing."""
        return self.transcript_awaited is not None

    def model_replies(self) -> bool:
        """The realtime model replies to tool results without being asked."""
        agent = self._core.agent
        return self.results_need_reply and agent is not None and agent.setup.replies_to_results

    def waits_for(self, tools: Names) -> bool:
        """The turn waits for one of these tools: the host facts with `tools` in a flow."""
        return self._core.tools.blocks(tools)

    def can_say(self) -> bool:
        """The agent can say something now."""
        return self._core.speeches.can_say

    def model_silent(self) -> bool:
        """The model has produced nothing for the step that holds the floor, and no speech waits."""
        step = self._core.floor.step
        waits = step is not None and self._core.speeches.of(step.speech).silent
        return waits and self._core.speeches.none_queued

    def agenda_open(self) -> bool:
        """An obligation on the agenda is open, and the agent can deliver it now."""
        return self.wants_reply and self.can_say()

    def interruption_open(self) -> bool:
        """An obligation waits until it is known whether the interruption of its reply is answered,
        and the agent can deliver it now. Endpointing is not running: it runs if the interruption
        has a transcript."""
        agent = self._core.agent
        deciding = agent is not None and agent.endpointing
        return self._core.log.agenda.undecided and self.can_say() and not deciding

    def agreed(self) -> bool:
        """The turn is a yes, and nothing else."""
        return self.confirming.agrees(self._about.text)

    @property
    def _output(self) -> Output | None:
        if (step := self._core.floor.step) is not None:
            return step.output
        return self._core.floor.output
