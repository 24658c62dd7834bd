"""The host facts of the turn's flow: what is true at the moment of a decision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from turnfsm.fsm.flow import Names
from turnfsm.fsm.phrases import Phrases, words_of
from turnfsm.runtime.log import Log
from turnfsm.runtime.turn import TurnRuntime

from .floor import Floor
from .ports import Output, Session, Setup, Speech
from .progress import Progress
from .replies import Replies
from .resumption import Resumption
from .sayings import Sayings
from .speech_queue import SpeechQueue
from .tool_calls import ToolCalls
from .user_turns import UserTurns
from .utterance import Utterance

__all__ = ["HostFacts"]


@attrs.frozen
class Words:
    """Words of the user.

    Attributes:
        text: The transcript.
        whole: It is final. Else more may follow, and its last word may be cut off.
    """

    text: str = ""
    whole: bool = True


class HostFacts:
    """The host facts of `specs/turn.yaml`. `TurnHost` has the actions."""

    def __init__(
        self,
        session: Session,
        floor: Floor,
        speeches: SpeechQueue,
        progress: Progress,
        tools: ToolCalls,
        turns: UserTurns,
        log: Log,
        replies: Replies,
        sayings: Sayings,
    ) -> None:
        self._session = session
        self._floor = floor
        self._speeches = speeches
        self._progress = progress
        self._tools = tools
        self._turns = turns
        self._log = log
        self._replies = replies
        self.sayings = sayings
        self.turn: TurnRuntime
        self.utterance: Utterance
        self.results_need_reply = self._asked_of_decision = False
        self._button_pressed = False
        self._wordless = False
        self.transcript_awaited: Speech | None = None
        """The reply of a realtime model to words whose transcript has not come."""
        self._about = Words()
        self._said = Words()
        self.resumption: Resumption | None = None

    @property
    def button_held(self) -> bool:
        """Only the application commits turns, and it has turned the microphone on for this one: a
        button is held, and the user is about to speak."""
        return self._button_pressed and self.manual_turns()

    def button_moved(self, *, pressed: bool) -> None:
        """The application has turned the microphone on; or off, or has committed the turn."""
        self._button_pressed = pressed

    @property
    def wants_reply(self) -> bool:
        """There is something to say that nobody else asks for."""
        pending = self.resumption is not None and self.resumption.pending
        return pending or bool(self._log.agenda.open)

    @property
    def superseded(self) -> bool:
        """The step that has the floor answers an utterance, and a result is there that its request
        did not have."""
        step = self._floor.step
        return step is not None and self._log.agenda.superseded(step.speech.id)

    @contextmanager
    def about(self, words: str, *, wordless: bool = False) -> Iterator[None]:
        """What is posted meanwhile is about these words of the user, or about a turn without."""
        self._about, self._wordless = Words(words), wordless
        try:
            yield
        finally:
            self._about, self._wordless = Words(), False

    def words_came(self, words: str, *, whole: bool) -> None:
        """These are the words so far of what the user is saying. `whole`: the transcript of the
        last ones is final."""
        self._said = Words(words, whole)

    def words_over(self) -> None:
        """A voice begins, or what was said is decided on: no words of the next are known."""
        self._said = Words()

    def has_said(self, phrases: Phrases) -> bool:
        """The words that a trigger is about, or else those that the user is saying, are such as
        these phrases stand for: the host facts of `phrases` in a flow."""
        words = self._about if self._about.text else self._said
        return phrases.match(words.text, whole=words.whole)

    # -- host facts: asked at the moment of a decision

    def interruptible(self) -> bool:
        """The speech that holds the floor may be interrupted."""
        step = self._floor.step
        return step is not None and step.speech.interruptible

    def agent_asked(self) -> bool:
        """The last sentence of the step is a question, and its beginning was heard."""
        step = self._floor.step
        return step is not None and step.saying.asks

    def between_sentences(self) -> bool:
        """The end of a sentence of the step was heard, and the next one has not begun."""
        step = self._floor.step
        return step is not None and step.saying.between_sentences

    def user_silent(self) -> bool:
        """The user pauses inside an utterance for so long that the agent may begin."""
        step = self._floor.step
        agent = step.agent if step is not None else self._session.activity
        return agent is not None and agent.user_silent

    def holdable(self) -> bool:
        """The step's first frame can be kept back: the output can pause, or has not got it."""
        step = self._floor.step
        if step is None or step.output is None or step.agent.setup.overlaps:
            return False
        return step.output.can_pause or not step.gate.passed

    def pausable(self) -> bool:
        """The output can pause, and the session wants false interruptions resumed."""
        output = self._output
        return output is not None and output.can_pause

    def endpointing(self) -> bool:
        """The end of the user's turn is being decided. The end of the decision is reported.

        A session that closes decides nothing: it does not answer what the user says.
        """
        if self._session.closing:
            return False
        agent = self._session.activity
        deciding = agent is not None and agent.deciding
        self._asked_of_decision |= deciding
        return self.utterance.ask("end_open") or deciding

    def decision_reported(self) -> bool:
        """A decision is over. Whether the flow had been told that it was not."""
        asked, self._asked_of_decision = self._asked_of_decision, False
        return asked

    def words_waiting(self) -> bool:
        """Earlier words of the user are not in the conversation yet: for example of a line that
        was typed and waits for the floor. Those of deferred turns begin the next
        turn."""
        return bool(self._turns.begun())

    def user_may_go_on(self) -> bool:
        """The end of the user's turn is being decided, or the words of their last voice may still
        come at once, or they hold a button.

        Words of a slow STT are not waited for: the voice may have been a noise. The output is held
        for them.
        """
        agent = self._session.activity
        deciding = agent is not None and agent.deciding
        return self.button_held or deciding or self.utterance.ask("end_near")

    def others_first(self) -> bool:
        """The agent greets, or something that waited for the floor when the turn was deferred has
        not been said; or the agent cannot take the turn: a handoff is under way, or the turn has
        too few words to interrupt what is said (`min_words`)."""
        agent = self._session.activity
        if agent is None or agent.phase in ("leaving", "greeting"):
            return True
        return self._speeches.comes_first(agent) or self._too_few_words(agent.setup)

    def _too_few_words(self, setup: Setup) -> bool:
        step, least = self._floor.step, self._session.settings.min_words
        if step is None or not setup.hears_words or setup.manual_turns:
            return False
        goes_on = step.speech.interruptible and not step.speech.interrupted
        return goes_on and len(words_of(self._turns.with_deferred(""))) < least

    def answer_coming(self) -> bool:
        """Words of the user may still come, or a realtime model may answer by itself. When neither
        has come, that is reported."""
        agent = self._session.activity
        coming = agent is not None and agent.answer_coming
        self._asked_of_decision |= coming
        return self.button_held or self.utterance.ask("answer_open") or coming

    def manual_turns(self) -> bool:
        """Only the application commits turns."""
        agent = self._session.activity
        return agent is not None and agent.setup.manual_turns

    def wordless(self) -> bool:
        """The turn that is asked about has no words, and the model does not hear its audio."""
        return self._wordless

    def can_ask_anew(self) -> bool:
        """The step is the reply to a turn, and its model can be asked for another one."""
        step = self._floor.step
        if step is None or step.agent.setup.keeps_context:
            return False
        return self._turns.is_asked(step.speech)

    def tools_held(self) -> bool:
        """A call runs whose turn cannot be interrupted."""
        return self._tools.held

    def results_at_hand(self) -> bool:
        """Every result that the conversation does not have yet can be added to a request."""
        return self._tools.results_at_hand

    def effect_pending(self) -> bool:
        """A tool waits until it is known whether the user objects."""
        return self._tools.any_waits

    def transcript_due(self) -> bool:
        """The transcript of words that a realtime model answers has not come."""
        return self.transcript_awaited is not None

    def model_replies(self) -> bool:
        """A realtime model replies to tool results without being asked."""
        agent = self._session.activity
        return self.results_need_reply and agent is not None and agent.setup.replies_to_results

    def waits_for(self, tools: Names) -> bool:
        """The turn waits for one of these tools: the host facts with `tools` in a flow."""
        return self._tools.blocks(tools)

    def can_say(self) -> bool:
        """The agent can say something now."""
        return self.sayings.can_say

    def agenda_open(self) -> bool:
        """Something is open on the agenda, and the agent can say it now."""
        return self.wants_reply and self.can_say()

    @property
    def _output(self) -> Output | None:
        if (step := self._floor.step) is not None:
            return step.output
        return self._floor.output
