"""The host of the turn's flow: one method for each action and each host fact."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import copy_context

import attrs

from turnfsm.fsm.flow import Names
from turnfsm.fsm.phrases import Phrases
from turnfsm.runtime.event import Event
from turnfsm.runtime.ledger import LedgerCall
from turnfsm.runtime.log import Log
from turnfsm.runtime.turn import TurnRuntime

from .floor import Floor, Step
from .limits import TurnLimitReached
from .ports import FalseInterruption, Output, Session, Source, Speech
from .progress import Progress
from .replies import Replies
from .resumption import Resumption
from .sayings import Sayings
from .speech_queue import SpeechQueue
from .tool_calls import ToolCalls
from .user_turns import UserTurns
from .utterance import Utterance
from .waits import Awaited, LongWait, TurnWaitsLong

__all__ = ["TurnHost"]

logger = logging.getLogger("turnfsm")


@attrs.frozen
class Words:
    """Words of the user.

    Attributes:
        text: The transcript.
        whole: It is final. Else more may follow, and its last word may be cut off.
    """

    text: str = ""
    whole: bool = True


OWED = "The result of {calls} has arrived, and the user has not heard of it. Tell them now."
BESIDES = (
    "The user may not have heard of the result of {calls}. If you have not told it yet, mention it "
    "with your answer."
)
ELSEWHERE = "Another reply tells what has come of {calls}; this one need not mention it."
CANCELLED = "{calls} was cancelled before it had ended. Tell the user in a sentence."
UNKNOWN = "It is not known whether {calls} took effect: tell the user so."


class TurnHost:
    """The actions and the host facts of `specs/turn.yaml`, carried out by the ports."""

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
        self._paused: Output | None = None
        self.wait = LongWait(self.tell_wait)
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
        not been said; or no agent can take the turn, because a handoff is under way."""
        agent = self._session.activity
        if agent is None or agent.phase in ("leaving", "greeting"):
            return True
        return self._speeches.comes_first(agent)

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
        """The agent can say something now: it is not being left, does not greet first, and the
        session does not close."""
        agent = self._session.activity
        says = agent is not None and agent.phase in ("greeting", "present")
        return says and not self._session.closing

    def agenda_open(self) -> bool:
        """Something is open on the agenda, and the agent can say it now."""
        return self.wants_reply and self.can_say()

    # -- the reply to the user

    def answer_turn(self, event: Event) -> None:
        """Allowed: the adapter continues with the turn that it asked about."""

    def take_deferred_turn(self, event: Event) -> None:
        """Let the agent commit the turns that were deferred, as one."""
        agent = self._session.activity
        if agent is not None and self._turns.deferred:
            self._turns.join_deferred().run(agent.take_turn)

    def drop_turn(self, event: Event) -> None:
        """Wait no longer for the reply to the open turn; one that still comes is said."""
        self.turn.post("turn_dropped", reason="overdue")

    def start_preemptive_generation(self, event: Event) -> None:
        """Allowed: the adapter continues with the speculation that it asked about."""

    def request_reply(self, event: Event) -> None:
        """Allowed: the adapter continues with the request that it asked about."""

    def request_with_results(self, event: Event) -> None:
        """Allowed: the adapter adds the missing results and continues with the request."""

    def discard_turn(self, event: Event) -> None:
        """Allowed: the adapter leaves the turn that it asked about without an answer."""

    # -- the output

    def start_output(self, event: Event) -> None:
        """Let the step's audio be played."""
        self._let_go()

    def hold_output(self, event: Event) -> None:
        """Keep the step's first frame back."""
        step = self._floor.step
        if step is not None and step.output is not None:
            self._hold(step)
            self.turn.post("output_held", step.id)

    def output_known(self, step: Step) -> None:
        """A step begins that has the floor: if it is held, it is held where it will be heard."""
        if self._paused not in (None, step.output):
            self._let_go()
            self._hold(step)

    def drop_audio(self, event: Event) -> None:
        """Clear the output: a step that failed while it was paused has left audio in it."""
        if (output := self._paused or self._output) is not None:
            output.drop()

    def release_output(self, event: Event) -> None:
        """Let the output go."""
        step = self._floor.step
        self._let_go()
        if step is not None and self.turn.holds("output_held"):
            self.turn.post("output_released", step.id)

    def pause_output(self, event: Event) -> None:
        """Cut the audio; it can go on."""
        step = self._floor.step
        if step is not None and step.output is not None:
            self._pause(step.output, heard=True)
            step.saying.pause()
            self.turn.post("output_paused", step.id)

    def resume_output(self, event: Event) -> None:
        """Let the audio that was cut go on."""
        step = self._floor.step
        if step is not None and step.output is not None:
            self._paused = None
            step.output.resume(heard=True)
            step.saying.begin()

    def report_false_interruption(self, event: Event) -> None:
        """Tell the application."""
        self._session.report(FalseInterruption())

    # -- limits

    def report_limit(self, event: Event) -> None:
        """Tell the application, and log it; the journal has it already."""
        reached = TurnLimitReached(event.trigger, self._session.settings.timers[event.trigger])
        logger.warning("%s", reached)
        self._session.report(reached)

    def report_wait(self, event: Event) -> None:
        """Report what is waited for."""
        cause, names = self._awaited()
        now, since = self.turn.now, self.turn.held_since
        if cause in ("model", "output") and self._floor.step is not None:
            since = now - self._progress.idle
        self.wait.goes_on("turn", cause, names, since=since, now=now)

    def waits_on(self) -> bool:
        """The held state still waits for what it has waited for since it was entered."""
        return self.turn.state != "listening" or self.turn.holds("turn_open")

    def tell_wait(self, wait: TurnWaitsLong) -> None:
        """Write a long wait to the log and the journal, and tell the application."""
        self.turn.note("turn_waits_long", **wait.as_note())
        logger.log(logging.INFO if wait.usual else logging.WARNING, "%s", wait)
        self._session.report(wait)

    def _awaited(self) -> tuple[Awaited, tuple[str, ...]]:
        if self.turn.state == "paused":
            return "user_has_the_floor", ()
        if self.turn.holds("output_held"):
            return "output_held", ()
        if self._floor.step is not None or self.turn.state == "thinking":
            return ("output" if self._progress.has_audio else "model"), ()
        if names := self._tools.names_of_blocking():
            return "tool_running", tuple(names)
        return "application", ("on_user_turn_completed",)

    # -- the end of a step

    def interrupt_speech(self, event: Event) -> None:
        """Interrupt the speech that holds the floor. The trigger's data says why."""
        self._stop(event.data.get("source", "audio_activity"), force=False)

    def supersede_reply(self, event: Event) -> None:
        """The reply is about to be interrupted; the agenda has its utterance and the result."""
        if (step := self._floor.step) is not None:
            self._replies.stopped(step.speech, "result")

    def force_interrupt(self, event: Event) -> None:
        """Interrupt the speech that holds the floor, even if it may not be interrupted."""
        self._stop("programmatic", force=True)

    def abandon_step(self, event: Event) -> None:
        """Stop waiting for an interrupted step that does not end."""
        step = self._floor.step
        if step is None:
            return
        logger.warning("speech %s did not end in time; it is abandoned", step.speech.id)
        step.speech.end(step=True)

    def hang_up(self, event: Event) -> None:
        """Close the session, once everything that waits for the floor has been said."""
        self._session.hang_up()

    # -- tool calls

    def release_tools(self, event: Event) -> None:
        """Stop waiting for the calls of a turn that is over.

        They run on, and their results are on the agenda.
        """
        for speech in self._tools.release():
            # Not before its step has given the floor back: the next speech would start while the
            # old one's audio is still being cleared.
            if not self._floor.holds(speech):
                speech.end()

    def unblock_tools(self, event: Event) -> None:
        """Continue without the calls that the turn waits for."""
        self._tools.unblock()

    def give_up_tools(self, event: Event) -> None:
        """Continue without them, and tell the model that they still run."""
        self._tools.give_up()

    def lift_holds(self, event: Event) -> None:
        """The time for calls with the policy finish is over: their turn may be interrupted."""
        self._tools.lift_holds()

    def let_tool_proceed(self, event: Event) -> None:
        """Allowed: the tool goes on."""

    def note_objection(self, event: Event) -> None:
        """The words that are answered are an objection to the calls that were made before."""
        self._tools.objected(besides=event.data.get("speech"))

    def request_next_reply(self, event: Event) -> None:
        """Ask for a reply that delivers what is due: an answer first, then the results."""
        agent = self._session.activity
        if agent is None:
            return
        resumes = self.resumption is not None and self.resumption.pending
        unanswered = [o.id for o in self._log.agenda.open if o.kind == "utterance"]
        if unanswered and not resumes:
            reply = agent.reply()
            self._replies.claims(reply, utterances=unanswered)
            self._turns.ask_again(unanswered, reply)
            return
        results = [o for o in self._log.agenda.due if o.kind == "result"]
        said = self._reported(self._tools.entries(o.id for o in results))
        if self.resumption is not None and self.resumption.pending:
            said = [self.resumption.deliver(), *said]
            if self.resumption.apologises:
                self.turn.note("apology")
        if said:
            calls = (self._tools.get(o.id) for o in results)
            context = next((call.context for call in calls if call is not None), copy_context())
            reply = context.run(agent.reply, " ".join(said))
            claims = unanswered if resumes else []  # its words ask for the answer, too
            self._replies.claims(reply, utterances=claims, results=[o.id for o in results])

    def _reported(self, calls: list[LedgerCall]) -> list[str]:
        """What the instructions of a reply of its own say about calls."""
        named = {
            how: _names([call for call in calls if (call.gave, how) in _WORDING])
            for how in (OWED, CANCELLED, UNKNOWN)
        }
        return [how.format(calls=names) for how, names in named.items() if names]

    def hint(self, deliver: Iterable[str], elsewhere: Iterable[str] = ()) -> str | None:
        """What a request says about results that come with something else, and of those that
        another reply delivers."""
        calls = self._tools.entries(deliver)
        unknown = _names([call for call in calls if call.gave == "unknown"])
        known = _names([call for call in calls if call.gave != "unknown"])
        others = _names(self._tools.entries(elsewhere))
        said = [BESIDES.format(calls=known)] if known else []
        said += [UNKNOWN.format(calls=unknown)] if unknown else []
        said += [ELSEWHERE.format(calls=others)] if others else []
        return " ".join(said) or None

    # -- inside

    def _stop(self, source: Source, *, force: bool) -> None:
        if (step := self._floor.step) is not None:
            if force:
                self._replies.stopped(step.speech, "limit")
            if not self.sayings.has_floor:  # a model's response may be the answer that waits
                step.agent.interrupt_model()
            step.speech.stop(source, force=force)

    def _hold(self, step: Step) -> None:
        if step.output is not None and step.output.can_pause:
            self._pause(step.output, heard=False)
        else:
            step.gate.close()

    def _pause(self, output: Output, *, heard: bool) -> None:
        self._paused = output
        output.pause(heard=heard)

    def _let_go(self) -> None:
        paused, self._paused = self._paused, None
        if (output := paused or self._output) is not None:
            output.resume(heard=False)
        if self._floor.step is not None:
            self._floor.step.gate.open()

    @property
    def _output(self) -> Output | None:
        if (step := self._floor.step) is not None:
            return step.output
        return self._floor.output


_WORDING = {
    ("result", OWED),
    ("error", OWED),
    ("cancelled", CANCELLED),
    ("unknown", UNKNOWN),
}


def _names(calls: list[LedgerCall]) -> str:
    return ", ".join(f"{call.name} ({call.id})" for call in calls)
