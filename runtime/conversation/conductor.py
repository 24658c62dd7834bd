"""Reports to the turn's flow what happens in a conversation, and asks it before the framework acts.

`user_reports` has the methods for the user. Each method stands for one event of the framework, or
for one moment at which it is about to act. Its docstring says which, and names the trigger that is
posted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Hashable, Iterable
from functools import partial

from turnfsm.fsm import Taken, Verdict
from turnfsm.fsm.agenda import CallInBackground, CallMade, ResultReady
from turnfsm.fsm.flow import NEVER, Tuning
from turnfsm.fsm.journal import ReplyAudio, SessionEvent
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import Log
from turnfsm.runtime.turn import TurnRuntime

from .agent_state import AgentState, Publish
from .call_ids import CallIds
from .deferred import DeferredQueue
from .floor import Floor
from .host import TurnHost
from .objections import Objections
from .outages import Outages
from .ports import Agent, Output, Session, Speech, UserTurn
from .progress import Progress
from .replies import Replies
from .sayings import Sayings
from .speech_queue import SpeechQueue
from .tool_calls import ToolCalls
from .user_reports import UserReports

__all__ = ["Conductor"]


class Conductor(UserReports):
    """What a session reports and asks. `TurnHost` has the effects.

    Args:
        session: Carries the decisions out.
        ledger: Has an entry for every tool call.
        queue: Holds what begins later.
    """

    def __init__(self, session: Session, ledger: Ledger, queue: DeferredQueue) -> None:
        super().__init__(session, queue)
        self._ledger = ledger
        self.log = Log(self._moved)
        self.replies = Replies(self.log)
        self.tools = ToolCalls(session, ledger, self.log, self.replies, self._moved)
        self.progress = Progress(self._step_progressed, self._look_every)
        self.floor = Floor(
            self._playout_started,
            self._playout_finished,
            self.progress.audio_came,
            lambda speech: self.record(ReplyAudio(speech.id)),
        )
        self.speeches = SpeechQueue(self.floor)
        self.outages = Outages(
            self.record,
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
        self.objections = Objections(session, self.host, self.tools, self.until)
        self.agent_state = AgentState(session)
        self._ids = CallIds()
        self._look_due = self._started = False
        self._waiting: list[asyncio.Event] = []

    def govern(self, turn: TurnRuntime) -> None:
        """Report to this runtime, whose host is `host`."""
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

    def close_begun(self) -> list[UserTurn]:
        """The session closes: nothing is answered any more. Posts `endpointing_ended` if a reply
        is held: it waits for no words.

        Returns:
            What the user has said and nobody answers any more. It belongs into the conversation.
        """
        if self._governs and self.turn.holds("output_held"):
            self._post("endpointing_ended")
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
        await self.turn.aclose()

    def chain_moved(self) -> None:
        """An agent was entered, handed over to, or left. Posts what is different for the new
        agent."""
        if self._governs and self._started:
            self.tools.count()
            self._look_again()

    def resumed(self) -> None:
        """The session has started, perhaps after a worker has died.

        Posts `next_reply` when the floor is free, if something must be said.
        """
        self._started = True
        self.outages.start()
        if self.host.resumption is not None:
            self.host.resumption.post("started")
            self._look_again()

    def reply_requested(self) -> None:
        """The application has asked for a reply. Posts nothing."""
        if self.host.resumption is not None:
            self.host.resumption.post("overtaken")

    def microphone_turned(self, *, on: bool) -> None:
        """The application has turned the microphone on or off. Posts nothing; what waits for a
        button goes on."""
        self.host.button_moved(pressed=on)
        self._moved()

    def commit_requested(self) -> None:
        """The application commits the turn. Posts nothing; a button is released."""
        self.host.button_moved(pressed=False)

    # -- the floor

    def floor_taken(self, agent: Agent, speech: Speech, output: Output | None) -> None:
        """A step of this speech has the floor. Posts `step_started`.

        Args:
            agent: Its agent.
            speech: What the step belongs to.
            output: What it is heard on, as far as that is known: `output_known` may follow. None if
                it is text only: its first words are its playout.
        """
        self.speeches.left(speech)
        step = self.floor.take(agent, speech, output)
        self.host.sayings.has_come(speech)
        self._last_barge_in = None
        self.host.results_need_reply = False
        self.agent_state.muted = speech.interrupted  # nobody waits for such a step
        self.progress.begin(step.id)
        self._post("step_started", step.id)
        if self.host.resumption is not None:
            self.host.resumption.post("begun_to_say")
        self.agent_state.muted = False
        if speech.interrupted:
            self._post("step_interrupted", step.id)
        self.tools.count()
        self._answer_may_wait()

    def output_known(self, speech: Speech, output: Output | None) -> None:
        """The task that plays a step begins: it is heard on this. Posts nothing.

        The step may have the floor already, and be held.
        """
        if (step := self.floor.output_known(speech, output)) is not None:
            self.host.output_known(step)

    def floor_returned(self, speech: Speech) -> None:
        """The step of this speech gives the floor back. Posts `step_finished`."""
        step = self.floor.leave(speech)
        if speech.interrupted:
            self.replies.over(speech)  # what was heard of it is in the conversation
        if step is not None:
            self.progress.end()
            self._post("step_finished", step.id)
        if self.tools.released_with(speech):
            speech.end()

    def speech_interrupted(self, speech: Speech) -> None:
        """A speech is interrupted. Posts `step_interrupted` if a step of it holds the floor, else
        `speech_interrupted` if calls of it run."""
        step = self.floor.step
        if step is not None and step.speech is speech:
            self._post("step_interrupted", step.id)
            return
        self.replies.over(speech)
        if self.tools.runs_for(speech):
            self._post("speech_interrupted", speech=speech.id)
        elif speech.steps_over:
            speech.end()  # its calls have ended: it need not wait for other speeches
        self._moved()

    def speech_over(self, speech: Speech, *, failed: bool = False) -> None:
        """Nothing more of a speech is heard. Posts `turn_dropped` if a turn has waited for it.

        Args:
            failed: An error has ended it.
        """
        self.speeches.left(speech)
        self.host.sayings.over(speech)
        self.replies.over(speech, failed=failed)
        asyncio.get_running_loop().call_soon(self.turns.speech_over, speech)

    def interrupted_by_code(self, speech: Speech, task: Hashable | None) -> None:
        """Code has interrupted a speech. Posts nothing.

        It is the application, unless the session closes, or the task answers a turn of the user,
        which interrupts what waits for its calls.
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
        """A speech may be interrupted from now on, or not any more. Posts
        `interruptions_disallowed`; or again `start_playout`, if the output has got nothing of the
        step: it may be held now."""
        step = self.floor.step
        if step is None or step.speech is not speech:
            return
        if not on:
            self._post("interruptions_disallowed", step.id)
        elif not step.gate.passed:
            self._post("start_playout", step.id)

    def playout_started(self, at: float) -> None:
        """What the step that has the floor is heard on begins to play. Posts `playout_started`.

        Args:
            at: The wall clock's time.
        """
        self.floor.playout_started(at)

    def playout_finished(self) -> None:
        """It has played what it got of a segment, or was cleared. Posts `playout_finished`."""
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
        """The flow looks at what a step says."""
        return self.needs_sound or "agent_asked" in self.turn.flow.host_facts

    @property
    def needs_sound(self) -> bool:
        """The flow looks for the pauses in how a step sounds."""
        return "between_sentences" in self.turn.flow.host_facts

    def tokens_came(self) -> None:
        """The agent's `llm_node` has produced something."""
        self.progress.tokens_came()

    def record(self, event: SessionEvent) -> None:
        """Note something in the journal that is no trigger."""
        if self._governs:
            self.turn.note(event.KIND, **event.fields())

    def reply_began(self, speech: Speech) -> None:
        """The model has given the first words of a reply that waits for the floor; or it is asked
        as soon as the reply has it. Posts `reply_ready`, in a flow that has it, if a text of the
        flow has the floor."""
        self.host.sayings.began(speech)
        self._answer_may_wait()

    def _answer_may_wait(self) -> None:
        step = self.floor.step
        if step is None or not self._governs or not self.host.sayings.delays_answer:
            return
        if "reply_ready" in self.turn.flow.triggers:
            self._post("reply_ready", step.id)

    def calls_known(self, speech: Speech, calls: int) -> None:
        """The `llm_node` of a reply has ended, with so many calls. Posts nothing."""
        self.replies.calls_known(speech, calls)

    @property
    def _look_every(self) -> float:
        """A tenth of the shorter limit: so much longer than the limit a dead step is waited for.
        Half of the time after which a wait is reported."""
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
        """The framework wants to publish an agent state; that of the flow's state is published.

        Posts `playout_started` where there is no audio.

        Args:
            wanted: The agent state that the framework wants.
            publish: Publishes one as the framework would have published this one.
        """
        if not self._governs or wanted == "initializing":
            publish(wanted)
            return
        step = self.floor.step
        if wanted == "speaking" and step is not None and step.output is None:
            verdict = self._post("playout_started", step.id)  # its first words are its playout
            if verdict:
                self.speech_heard(step.speech)
        self.agent_state.wanted(wanted, publish)

    # -- requests to the model

    async def may_request(self, speech: Speech) -> bool:
        """The model is about to be asked. Posts `reply`, and waits until it is taken or the speech
        is interrupted.

        Returns:
            True if that took a wait: the conversation may have changed.
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
        """The model is asked for a step of a reply. Posts nothing.

        Args:
            shown: The ids of the results in the request.
            instructions: The reply's own instructions.
            answers: It answers what the user has said; as a rule one without instructions does.
            unanswered: What stands last in it, of what the user has said.
        """
        calls = self.tools.with_results(shown)
        if answers is None:
            answers = instructions is None
        self.replies.request_sent(
            speech, self.agent, calls, instructions, answers=answers, unanswered=unanswered
        )

    def hint(self, speech: Speech) -> str | None:
        """What the last request of a reply says about the results of other replies that it is to
        deliver."""
        return self.host.hint(self.log.agenda.delivers(speech.id))

    def answers_by_itself(self, speech: Speech) -> None:
        """A realtime model that detects turns answers the user by itself. Nobody has asked it to
        deliver anything. Posts `words_answered`, perhaps when the transcript has come."""
        self.replies.answers_by_itself(speech, self.agent)
        self.tools.overtaken_by(speech)
        self.objections.answered(self._transcript, speech)

    def reply_heard(self, speech: str, *, whole: bool) -> None:
        """A reply that was heard is in the conversation. Posts nothing.

        `whole`: it was heard to its end.
        """
        self.replies.heard(speech, whole=whole)
        self.tools.forget_settled()

    def _may_request_now(self, speech: Speech) -> bool:
        return not self._governs or speech.interrupted or bool(self.turn.ask("reply"))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds. It is checked whenever something has happened."""
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

        If the session is kept, the call is stored first.

        Returns:
            What the model is to read if the tool must not begin, else None.
        """
        if self.keeping is None:
            return None
        made = {"name": name, "arguments": arguments, "turn": turn}
        self.turn.note("call_intended", call=call_id, **made)
        if (why := await self.keeping.before_effect()) is not None:
            self.turn.note("call_given_up", call=call_id)
        return why

    def call_begun(self, call_id: str) -> None:
        """A tool has begun, or the call was refused. Posts nothing."""
        if self.keeping is not None and call_id not in self._ledger:
            self.turn.note("call_given_up", call=call_id)

    async def after_call(self) -> None:
        """The end of a tool is reported, and nobody has heard of its value yet. Posts nothing."""
        if self.keeping is not None:
            await self.keeping.before_reply()

    async def wait_for_calls(self, calls: Collection[str]) -> None:
        """Wait as long as a handoff or a close may wait for these calls."""
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
        """After every verdict: the agent's state, and what had to wait."""
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
        """In the next turn of the loop: the floor may be about to be given back."""
        host = self.host
        waits = self._speculation or host.wants_reply or self.turns.deferred or host.superseded
        if waits and not self._look_due:
            self._look_due = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        # due until its end: what it posts itself is no reason to look again
        try:
            self._ask_what_waits()
        finally:
            self._look_due = False

    def _ask_what_waits(self) -> None:
        """Ask the flow about what waits. Its guards say what comes before what."""
        agent = self._session.activity
        if not self._governs or self.closing or agent is None or agent.phase == "leaving":
            return  # a handoff is tried again when it has ended
        self._speculate_again()
        step, ask = self.floor.step, self.turn.ask
        if step is not None and self.host.superseded and ask("newer_result", step.id):
            self._post("newer_result", step.id, source="programmatic")
        if self.turns.deferred and ask("deferred_turn") and ask("turn_committed"):
            self._post("deferred_turn")
        if self.host.wants_reply and ask("next_reply"):
            self._post("next_reply")
