"""Posts what happens in a conversation to the turn's flow, and asks the flow before the framework
acts.

The methods about the user are in `user_reports`. Each method corresponds to one event of the
framework, or to one moment at which the framework is about to act. Its docstring says which, and
names the trigger that it posts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Hashable, Iterable
from functools import partial

from turnfsm.fsm import Taken, Verdict
from turnfsm.fsm.agenda import CallInBackground, CallMade, ResultReady
from turnfsm.fsm.flow import NEVER, Tuning
from turnfsm.fsm.journal import (
    AudioResumed,
    AudioStopped,
    ReplyAudio,
    SessionEvent,
    VoiceUnrecognised,
)
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import Log
from turnfsm.runtime.turn import TurnRuntime

from .agent_state import AgentState, Publish
from .call_ids import CallIds
from .classifying import Classifiers
from .confirming import Confirming
from .deferred import DeferredQueue
from .floor import Floor, Step
from .host import TurnHost
from .objections import Objections
from .outages import Outages
from .ports import Agent, Output, Session, Source, Speech, UserTurn
from .progress import Progress
from .replies import Replies
from .sayings import Sayings
from .speech_queue import SpeechQueue
from .tool_calls import ToolCalls
from .user_reports import UserReports

__all__ = ["Conductor"]


class Conductor(UserReports):
    """Takes a session's reports and questions. The actions are in `TurnHost`.

    Args:
        session: Carries out the decisions.
        ledger: Has an entry for every tool call.
        queue: Holds deferred work.
    """

    def __init__(self, session: Session, ledger: Ledger, queue: DeferredQueue) -> None:
        super().__init__(session, queue)
        self._ledger = ledger
        self.log = Log(self._moved)
        self.replies = Replies(self.log)
        self.progress = Progress(self._step_progressed, self._look_every)
        self.floor = Floor(
            self._playout_started,
            self._playout_finished,
            self.progress.audio_came,
            lambda speech: self.record(ReplyAudio(speech.id)),
        )
        self.tools = ToolCalls(session, ledger, self.log, self.floor, self.replies, self._moved)
        self.speeches = SpeechQueue(self.floor)
        self.outages = Outages(
            self._outage,
            lambda: self.turn.now,
            lambda: session.settings.expects_audio,
            self.turns.fail,
        )
        self.host = TurnHost(
            session,
            self.floor,
            self.speeches,
            self.progress,
            self.tools,
            self.turns,
            self.log,
            self.replies,
            Sayings(session, self.floor),
        )
        self.host.utterance = self.utterance
        self.host.confirming = Confirming(
            session, self.tools, self.expecting, self.floor, self.host.can_say
        )
        self.host.classifiers = Classifiers(self.host.said_so_far, self.transcript_classified)
        self.objections = Objections(session, self.host, self.tools, self.until)
        self.agent_state = AgentState(session)
        self._ids = CallIds()
        self._look_due = self._started = False
        self._waiting: list[asyncio.Event] = []

    def govern(self, turn: TurnRuntime) -> None:
        """Post to this runtime from now on. Its host is `host`."""
        self.turn = self.host.turn = self.tools.turn = self.agent_state.turn = turn
        self.objections.turn = turn
        self._ledger.note = turn.note
        self.log.govern(turn.flow, turn.note)
        for call in self._ledger.undelivered:
            self.log.add(CallMade(call, ""))
            self.log.add(CallInBackground(call))  # delivered with the next reply that shows it
            self.log.add(ResultReady(call))
        self._ledger.delivers = lambda call: self.log.agenda.find("result", call) is not None

    def start(self) -> None:
        """The session starts."""
        self.turn.observe(self._observed)
        self.turn.start()
        self._session.tune(self._tuning)

    def close_started(self) -> list[UserTurn]:
        """The session starts to close, and no turn is answered from now on. Posts
        `endpointing_ended` if a reply is held back, as no transcript is awaited any more.

        Returns:
            The user's text that will get no answer, to be added to the conversation.
        """
        if self._governs and self.turn.holds("output_held"):
            self._post("endpointing_ended")
        if self._governs:
            self.tools.refuse_left()
        dropped = self.turns.drop_deferred()
        return [turn for turn in dropped if turn.new_transcript]  # there may be only audio

    async def aclose(self) -> None:
        """The session has closed."""
        self._started = False
        self.host.wait.over(self.turn.now)
        self.turns.close()
        self.outages.end()
        self.objections.close()
        self.progress.end()
        self.agent_state.close()
        self._session.tune(Tuning())
        await self.utterance.aclose()
        await self.host.classifiers.aclose()
        await self.turn.aclose()

    def agent_phase_changed(self) -> None:
        """`Agent.phase` has changed: an agent was entered, or hands over. Posts what differs for
        the new agent."""
        if self._governs and self._started:
            self.tools.refuse_left()
            self.tools.count()
            self._look_again()

    def started(self) -> None:
        """The session has started, perhaps after a worker has died.

        Posts `next_reply` when the floor is free, if the agent has something to say.
        """
        self._started = True
        self.outages.start()
        if self.host.resumption is not None:
            self.host.resumption.post("started")
            self._look_again()

    def stop_older_replies(self) -> None:
        """The reply to a new turn is about to be requested. It takes the place of replies that wait
        for their tools or for the floor. Posts `speech_interrupted` for those with running calls.

        For a framework that does not interrupt them itself.
        """
        for speech in self.replies.live:
            waits = self.floor.returned_by(speech) or self.turns.is_asked(speech)
            if waits and not self.floor.holds(speech):
                speech.stop("user_turn")

    def reply_requested(self) -> None:
        """The application has asked for a reply. Posts nothing."""
        if self.host.resumption is not None:
            self.host.resumption.post("overtaken")

    def microphone_turned(self, *, on: bool) -> None:
        """The application has turned the microphone on or off. Posts nothing; requests that wait
        for the push-to-talk button are tried again."""
        self.host.button_moved(pressed=on)
        self._moved()

    def commit_requested(self) -> None:
        """The application commits the turn: the push-to-talk button is released. Posts nothing."""
        self.host.button_moved(pressed=False)

    # -- the floor

    def floor_taken(self, agent: Agent, speech: Speech, output: Output | None) -> Step:
        """A step of this speech has the floor. Posts `step_started`.

        Args:
            agent: Its agent.
            speech: The speech that the step belongs to.
            output: Its audio output, if known; otherwise `output_known` follows. None if it is text
                only: then its first text counts as playout.

        Returns:
            The step.
        """
        self.speeches.left(speech)
        step = self.floor.take(agent, speech, output)
        self.host.sayings.has_come(speech)
        self.host.confirming.floor_taken(speech)
        self._last_barge_in = None
        self.host.results_need_reply = False
        self.agent_state.muted = speech.interrupted  # nothing waits for such a step
        self.progress.begin(step.id)
        self._post("step_started", step.id)
        if self.host.resumption is not None:
            self.host.resumption.post("reply_started")
        self.agent_state.muted = False
        if speech.interrupted:
            self._post("step_interrupted", step.id)
        self.tools.count()
        self._answer_may_wait()
        return step

    def output_known(self, speech: Speech, output: Output | None) -> None:
        """The task that plays a step starts, with this output. Posts nothing.

        The step may already have the floor, and be held back.
        """
        if (step := self.floor.output_known(speech, output)) is not None:
            self.host.output_known(step)

    def floor_released(self, speech: Speech) -> None:
        """The step of this speech returns the floor. Posts `step_finished`."""
        step = self.floor.leave(speech)
        if step is not None and self.host.sayings.has_yielded(speech):
            self.floor.over(speech)  # as if the step had never had the floor
            self.speeches.scheduled(step.agent, speech)
        if speech.interrupted:
            self.replies.over(speech)  # the heard part is in the conversation
        if step is not None:
            self.progress.end()
            self._post("step_finished", step.id)
        if self.tools.released_with(speech):
            speech.end()

    def speech_interrupted(self, speech: Speech, by: Source | None) -> None:
        """A speech is interrupted. Posts `step_interrupted` if a step of it holds the floor, else
        `speech_interrupted` if calls of it run.

        Args:
            by: What has interrupted it; None if it is a speculation that is not used.
        """
        self.replies.interrupted(speech, by)
        self.turns.reply_interrupted(speech, by)
        step = self.floor.step
        if step is not None and step.speech is speech:
            self._post("step_interrupted", step.id)
            return
        self.replies.over(speech)
        if self.tools.runs_for(speech):
            self._post("speech_interrupted", speech=speech.id)
        elif self.floor.returned_by(speech):
            speech.end()  # its calls have ended, so it need not wait for other speeches
        self._moved()

    def speech_finished(self, speech: Speech, *, failed: bool = False) -> None:
        """A speech has ended; none of it is played from now on. Posts `turn_dropped` if a turn
        waited for it.

        Args:
            failed: An error has ended it.
        """
        self.speeches.left(speech)
        self.floor.over(speech)
        self.host.sayings.over(speech)
        self.replies.over(speech, failed=failed)
        asyncio.get_running_loop().call_soon(self.turns.speech_finished, speech)

    def interrupted_by_code(self, speech: Speech, task: Hashable | None) -> None:
        """Code has interrupted a speech. Posts nothing.

        That code is the application's, unless the session is closing or the current task answers a
        user turn. Such a task interrupts speeches that wait for their calls.
        """
        if not self.closing and self.turns.answered_by(task) is None:
            self.tools.stopped(speech)

    def start_playout(self, speech: Speech) -> None:
        """A step is about to be played. Posts `start_playout`."""
        step = self.floor.step
        if step is not None and step.speech is speech:
            step.gate.begin()
            self._post("start_playout", step.id)

    def interruptions_turned(self, speech: Speech, *, on: bool) -> None:
        """Interruptions of a speech were allowed or disallowed. Posts `interruptions_disallowed`,
        or posts `start_playout` again if the output has received none of the step and the step can
        now be held back."""
        step = self.floor.step
        if step is None or step.speech is not speech:
            return
        if not on:
            self._post("interruptions_disallowed", step.id)
        elif not step.gate.passed:
            self._post("start_playout", step.id)

    def playout_started(self, at: float) -> None:
        """The output of the step that has the floor starts to play. Posts `playout_started`.

        Args:
            at: The wall clock's time.
        """
        self.floor.playout_started(at)

    def playout_finished(self) -> None:
        """The output has played its audio, or was cleared. Posts `playout_finished`."""
        self.floor.playout_finished()

    def _playout_started(self, step: str, created_at: float) -> None:
        if not self._governs:
            return
        verdict = self._post("playout_started", step)
        holder = self.floor.step
        if verdict and holder is not None:
            self.speech_heard(holder.speech)
            publish = partial(self._session.publish, heard=holder.speech, at=created_at)
            self.agent_state.project(publish)

    @property
    def needs_text(self) -> bool:
        """The flow reads the text of a step."""
        return self.needs_sound or "agent_asked" in self.turn.flow.host_facts

    @property
    def needs_sound(self) -> bool:
        """The flow looks for pauses in the audio of a step."""
        return "between_sentences" in self.turn.flow.host_facts

    def tokens_received(self) -> None:
        """The agent's `llm_node` has produced output."""
        self.progress.tokens_received()

    def record(self, event: SessionEvent) -> None:
        """Add a note to the journal."""
        if self._governs:
            self.turn.note(event.KIND, **event.fields())

    def _outage(self, event: SessionEvent) -> None:
        """Posts `voice_unrecognised`, `audio_stopped` or `audio_resumed`, in a flow that has it."""
        self.record(event)
        if not self._governs or event.KIND not in self.turn.flow.triggers:
            return
        match event:
            case VoiceUnrecognised() if event.long:
                self._post("voice_unrecognised")
            case AudioStopped():
                self._post("audio_stopped")
            case AudioResumed():
                self._post("audio_resumed")

    def reply_started(self, speech: Speech) -> None:
        """The model has produced the first text of a reply that waits for the floor, or is asked
        once the reply has the floor. Posts `reply_ready`, in a flow that has it, if a scripted text
        has the floor."""
        self.host.sayings.began(speech)
        self._answer_may_wait()

    def _answer_may_wait(self) -> None:
        step = self.floor.step
        if step is None or not self._governs or not self.host.sayings.delays_answer:
            return
        if "reply_ready" in self.turn.flow.triggers:
            self._post("reply_ready", step.id)

    def response_awaited(self, speech: Speech) -> None:
        """The model is about to be asked for a step of a reply to the user. Posts nothing."""
        if "yield_floor" in self.turn.flow.actions:
            self.host.sayings.response_awaited(speech)

    def awaits_model(self, speech: Speech) -> bool:
        """The model has produced nothing for the step of this reply, which may have to let a
        filler go first."""
        return self.host.sayings.awaits_model(speech)

    def response_began(self, speech: Speech) -> None:
        """The model has produced text or a call for such a step. As `reply_started`, if this is the
        first of it, and the reply has released the floor for a filler."""
        if self.awaits_model(speech) and self.host.sayings.has_yielded(speech):
            self.reply_started(speech)
        self.response_over(speech)

    def response_over(self, speech: Speech) -> None:
        """The model has failed, or has nothing more to say. Posts nothing."""
        if self.awaits_model(speech):
            self.host.sayings.response_over(speech)
            self._moved()

    def calls_received(self, speech: Speech, calls: int) -> None:
        """The `llm_node` of a reply has ended, with this number of calls. Posts nothing."""
        self.replies.calls_received(speech, calls)

    @property
    def _look_every(self) -> float:
        """A tenth of the shorter limit, which bounds how late a stuck step is noticed; and at most
        half of the time after which a wait is reported."""
        timers = self._session.settings.timers
        limits = [timers[name] for name in ("thinking_limit", "speaking_limit") if name in timers]
        return min([*(limit / 10 for limit in limits), timers.get("report_after", 60.0) / 2])

    def _step_progressed(self, step: str) -> None:
        if self._governs and self.turn.ask("step_progressed", step):
            self._post("step_progressed", step)

    def _playout_finished(self, step: str) -> None:
        if self._governs:
            self._post("playout_finished", step)

    def agent_state_wanted(self, wanted: str, publish: Publish) -> None:
        """The framework wants to publish an agent state. The one of the flow's state is published
        instead.

        Posts `playout_started` where there is no audio.

        Args:
            wanted: The agent state that the framework wants.
            publish: Publishes an agent state as the framework would have done.
        """
        if not self._governs or wanted == "initializing":
            publish(wanted)
            return
        step = self.floor.step
        if wanted == "speaking" and step is not None and step.output is None:
            verdict = self._post("playout_started", step.id)  # its first text counts as playout
            if verdict:
                self.speech_heard(step.speech)
        self.agent_state.wanted(wanted, publish, None if step is None else step.id)

    # -- requests to the model

    async def may_request(self, speech: Speech) -> bool:
        """A request is about to be sent to the model. Posts `reply`, and waits until the flow takes
        it or the speech is interrupted.

        Returns:
            True if it had to wait, so the conversation may have changed.
        """
        if self._post("reply", speech=speech.id):
            return False
        await self.until(lambda: self._may_request_now(speech))
        if self._governs and not speech.interrupted:
            self._post("reply", speech=speech.id)
        return True

    def request_sent(
        self,
        speech: Speech,
        shown: Collection[str],
        instructions: str | None = None,
        *,
        answers: bool | None = None,
        unanswered: Iterable[str] = (),
    ) -> None:
        """The request for a step of a reply is sent to the model. Posts nothing.

        Args:
            shown: The ids of the results in the request.
            instructions: The reply's own instructions.
            answers: The reply answers the user; usually true if it has no instructions.
            unanswered: The ids of the user's messages at the end of the request.
        """
        calls = self.tools.with_results(shown)
        if answers is None:
            answers = instructions is None
        self.replies.request_sent(
            speech, self.agent, calls, instructions, answers=answers, unanswered=unanswered
        )

    def hint(self, speech: Speech) -> str | None:
        """The hint in a reply's last request about results of other replies that it should
        deliver."""
        return self.host.hint(self.log.agenda.delivers(speech.id))

    def answers_by_itself(self, speech: Speech) -> None:
        """A realtime model with turn detection answers the user by itself, and was not asked to
        deliver any result. Posts `message_answered`, perhaps only when the transcript arrives."""
        self.replies.answers_by_itself(speech, self.agent)
        self.tools.overtaken_by(speech)
        self.objections.answered(self._transcript, speech)

    def reply_heard(self, speech: str, *, whole: bool) -> None:
        """A reply that the user heard was added to the conversation. Posts nothing.

        `whole`: it was played to the end.
        """
        self.replies.heard(speech, whole=whole)
        self.tools.forget_settled()

    def _may_request_now(self, speech: Speech) -> bool:
        return not self._governs or speech.interrupted or bool(self.turn.ask("reply"))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds. It is checked after every event."""
        moved = asyncio.Event()
        self._waiting.append(moved)
        try:
            while not holds():
                moved.clear()
                await moved.wait()
        finally:
            self._waiting.remove(moved)

    def own_id(self, item: str, given: str, others: Collection[str]) -> str:
        """The id of a call: the model's id, unless another call has it.

        Args:
            item: The id of the call's item, which no other call has.
            given: The id that the model gave.
            others: The ids of all other calls in the conversation.
        """
        return self._ids.own(item, given, others, self._ledger)

    async def before_call(self, call_id: str, name: str, arguments: str, turn: str) -> str | None:
        """A tool is about to begin. Posts nothing.

        With a store, the call is stored first.

        Returns:
            The output for the model if the tool must not begin, else None.
        """
        if self.keeping is None:
            return None
        made = {"name": name, "arguments": arguments, "turn": turn}
        self.turn.note("call_intended", call=call_id, **made)
        if (why := await self.keeping.before_effect()) is not None:
            self.turn.note("call_given_up", call=call_id)
        return why

    def call_started(self, call_id: str) -> None:
        """A tool has begun, or the call was refused. Posts nothing."""
        if self.keeping is not None and call_id not in self._ledger:
            self.turn.note("call_given_up", call=call_id)

    async def after_call(self) -> None:
        """A tool has ended, and its value was not passed on yet. Posts nothing."""
        if self.keeping is not None:
            await self.keeping.before_reply()

    async def wait_for_calls(self, calls: Collection[str]) -> None:
        """Wait for these calls, as long as a handoff or a close may."""
        timers = self._session.settings.timers
        limit = timers.get("tool_limit", NEVER)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if limit == NEVER else limit):
                await self.until(lambda: not self.tools.hold_up(calls))
        if (limit := timers["drain_limit"]) == NEVER:
            await self.until(lambda: False)
        await asyncio.sleep(limit)

    # -- inside

    def _observed(self, seq: int, verdict: Verdict) -> None:
        """After every verdict: update the agent state, and retry what had to wait."""
        if self.turn.flow.tools.tuning:  # a call may have begun or ended
            self._session.tune(self._tuning)
        if not isinstance(verdict, Taken):
            return
        begins = verdict.entered or "report_after" in verdict.restarts
        if self.host.wait.told and (begins or not self.host.waits_on()):
            self.host.wait.over(self.turn.now)
        if verdict.entered:
            self._session.tune(self._tuning)
            self.agent_state.project()
        self._moved()

    def _moved(self) -> None:
        for waiter in self._waiting:
            waiter.set()
        self._look_again()

    def _look_again(self) -> None:
        """Retry in the next iteration of the event loop: the floor may be about to be returned."""
        host = self.host
        waits = self._speculation or host.wants_reply or self.turns.deferred or host.superseded
        asks = host.confirming.due or host.confirming.settled
        if (waits or asks) and not self._look_due:
            self._look_due = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        # stays set until the end: its own posts must not schedule another retry
        try:
            self._ask_what_waits()
        finally:
            self._look_due = False

    def _ask_what_waits(self) -> None:
        """Offer all pending work to the flow. Its guards define the order."""
        agent = self._session.activity
        if not self._governs or self.closing or agent is None or agent.phase == "leaving":
            return  # when it has ended, the handoff is tried again
        self._speculate_again()
        step, ask = self.floor.step, self.turn.ask
        if step is not None and self.host.superseded and ask("newer_result", step.id):
            self._post("newer_result", step.id, source="programmatic")
        if self.turns.deferred and ask("deferred_turn") and ask("turn_committed"):
            self._post("deferred_turn")
        if self.host.wants_reply and ask("next_reply"):
            self._post("next_reply")
        if self.host.confirming.due and ask("question_due"):
            self._post("question_due")
        if self.host.confirming.settled and ask("question_over"):
            self._post("question_over")
