"""What happens in the conversation, reported to the turn's flow; what is asked, answered by it.

Every method stands for something that the framework says. Its docstring names what that is in
LiveKit and the trigger that it posts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable
from typing import Any

from turnfsm.fsm import Refused, Taken, Verdict
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.turn import TurnRuntime

from .agent_state import AgentState
from .call_ids import CallIds
from .deferred import DeferredQueue
from .floor import Floor
from .host import TurnHost
from .ports import Agent, Keeping, Lifecycle, Session, Speech
from .progress import Progress
from .tool_calls import ToolCalls
from .tuning import Tuner
from .user_turns import Outcome, Turn, UserTurns

__all__ = ["Conductor"]


WORDS_LIMIT = 3.0
"""Seconds after which voice without words was a noise."""


class Conductor:
    """The reports and questions of one session; `TurnHost` has the effects.

    Args:
        session: What carries the decisions out.
        lifecycle: The session's own flow.
        ledger: Every tool call is entered here.
        deferred: Where what begins later waits.
    """

    def __init__(
        self, session: Session, lifecycle: Lifecycle, ledger: Ledger, deferred: DeferredQueue
    ) -> None:
        self._session = session
        self._ledger = ledger
        self.lifecycle = lifecycle
        self.tools = ToolCalls(session, ledger, self._moved)
        self.progress = Progress(self._step_progressed, self._look_every)
        self.floor = Floor(self._playout_started, self._playout_finished, self.progress.audio_came)
        self.turns = UserTurns(self._turn_ended, deferred)
        self.host = TurnHost(session, self.floor, self.tools, self.turns)
        self.agent_state = AgentState(session)
        self.tuner = Tuner(session)
        self.turn: TurnRuntime
        self.keeping: Keeping | None = None
        self._ids = CallIds()
        self._last_barge_in: Verdict | None = None
        self._voice_ended = float("-inf")
        self._deferred_due = False
        self._carried = ""
        self._waiting: list[asyncio.Event] = []

    def govern(self, turn: TurnRuntime) -> None:
        """Report to this runtime, whose host is `host`."""
        self.turn = self.host.turn = self.tools.turn = self.agent_state.turn = turn
        self._ledger.note = turn.note

    def start(self) -> None:
        """The session starts."""
        self.turn.observe(self._observed)
        self.turn.start()
        self.tuner.enter(self.turn.flow.states[self.turn.state].tuning)

    async def aclose(self) -> None:
        """The session has closed."""
        await self.lifecycle.aclose()
        self.turns.close()
        self.floor.close()
        self.progress.end()
        self.agent_state.close()
        self.tuner.leave()
        await self.turn.aclose()

    @property
    def agent(self) -> Agent | None:
        """The agent that is in charge."""
        return self._session.activity

    @property
    def closing(self) -> bool:
        """The session closes."""
        return self._session.closing

    def chain_moved(self) -> None:
        """An agent was entered, handed over to, or left: LiveKit's `_update_activity` and
        `_inline_task_slot` have ended. Posts `chain_moved` to the session's flow, and to the
        turn's what is different for the agent now in charge."""
        self.lifecycle.chain_moved()
        if self._governs and self._session.started:
            self.tools.count()
            self._schedule_deferred()

    def resumed(self) -> None:
        """The session has started, perhaps in the place of one whose worker has died. Posts
        `owed_reply` when the floor is free, if something is to be said."""
        if self.host.resumption is not None:
            self.host.resumption.post("started")
            self._schedule_deferred()

    def reply_requested(self) -> None:
        """A reply is asked for, with all results that are there: LiveKit's ``speech_created``.
        Posts nothing: it tells what was owed."""
        self.tools.reply_requested()
        if self.host.resumption is not None:
            self.host.resumption.post("overtaken")

    # -- the floor

    def floor_taken(self, agent: Agent, speech: Speech) -> None:
        """LiveKit sets `AgentActivity._current_speech`. Posts `step_started`."""
        step = self.floor.take(agent, speech)
        self._last_barge_in = None
        self.host.results_need_reply = False
        self.agent_state.muted = speech.interrupted  # such a step begins for nobody
        self.progress.begin(step.id)
        self._post("step_started", step.id)
        if self.host.resumption is not None:
            self.host.resumption.post("begun_to_say")
        self.agent_state.muted = False
        if speech.interrupted:
            self._post("step_interrupted", step.id)
        self.tools.count()

    def floor_returned(self, speech: Speech) -> None:
        """LiveKit clears `AgentActivity._current_speech`. Posts `step_finished`."""
        step = self.floor.leave(speech)
        if step is not None:
            self.progress.end()
            self._post("step_finished", step.id)
        if self.tools.released_with(speech):
            speech.end()

    def speech_interrupted(self, speech: Speech) -> None:
        """LiveKit's `SpeechHandle._cancel`. Posts `step_interrupted` of the step that holds the
        floor, else `speech_interrupted` if calls of the speech run."""
        step = self.floor.step
        if step is not None and step.speech is speech:
            self._post("step_interrupted", step.id)
        elif self.tools.runs_for(speech):
            self._post("speech_interrupted", speech=speech.id)
        elif speech.steps_over:
            speech.end()  # its calls have ended: it waits for other speeches, and need not
        self._moved()

    def start_playout(self, speech: Speech) -> None:
        """LiveKit is about to play a step: `_reconcile_playout_pause`. Posts `start_playout`."""
        step = self.floor.step
        if step is not None and step.speech is speech:
            self._post("start_playout", step.id)

    def disallowed(self, speech: Speech) -> None:
        """LiveKit sets `SpeechHandle.allow_interruptions` to False. Posts
        `interruptions_disallowed`."""
        step = self.floor.step
        if step is not None and step.speech is speech:
            self._post("interruptions_disallowed", step.id)

    def _playout_started(self, step: str, created_at: float) -> None:
        if not self._governs:
            return
        verdict = self._post("playout_started", step)
        holder = self.floor.step
        if verdict and holder is not None:
            self.agent_state.project(holder.speech.turn_context, created_at)

    def tokens_came(self) -> None:
        """The agent's `llm_node` has given something."""
        self.progress.tokens_came()

    @property
    def _look_every(self) -> float:
        """A tenth of the shorter limit: so much longer than the limit a dead step is waited for."""
        timers = self._session.timers
        limits = [timers[name] for name in ("thinking_limit", "speaking_limit") if name in timers]
        return min(limits, default=60.0) / 10

    def _step_progressed(self, step: str) -> None:
        if self._governs and self.turn.ask("step_progressed", step):
            self._post("step_progressed", step)

    def _playout_finished(self, step: str) -> None:
        if self._governs:
            self._post("playout_finished", step)

    def agent_state_wanted(self, wanted: str, otel_context: Any, start_time: float | None) -> None:
        """LiveKit wants to publish an agent state; that of the flow's state is published instead.
        Posts `playout_started` where there is no audio."""
        if not self._governs or wanted == "initializing":
            self._session.publish(wanted, otel_context, start_time)
            return
        step = self.floor.step
        if wanted == "speaking" and step is not None and not step.agent.audible:
            self._post("playout_started", step.id)  # text only: its first words are its playout
        self.agent_state.wanted(wanted, otel_context, start_time)

    # -- the user

    def user_started(self) -> None:
        """LiveKit's `on_start_of_speech`. Posts `user_started_speaking`."""
        self._last_barge_in = None
        self._session.follow_options()
        self._post("user_started_speaking")

    def user_stopped(self) -> None:
        """LiveKit's `on_end_of_speech`. Posts `user_stopped_speaking`."""
        self._voice_ended = self.turn.now
        self._post("user_stopped_speaking")

    def answer_awaited(self) -> None:
        """LiveKit's `_on_input_speech_stopped`, of a model that detects turns. Posts
        `endpointing_ended` when the model has begun to answer, or will not."""
        self.host.answer_coming()

    @property
    def user_speaks(self) -> bool:
        """Voice is heard."""
        return self.turn.holds("user_speaking")

    @property
    def words_due(self) -> bool:
        """Voice has ended so recently that words of it may still be recognised."""
        return self.turn.now - self._voice_ended < WORDS_LIMIT

    def words_limit(self, voice: float) -> float:
        """The seconds after a voice in which words of it may come.

        Args:
            voice: How long it was; one that was too short to interrupt is hardly a word.
        """
        long = voice >= self._session.interruption_options["min_duration"]
        timer = "false_interruption" if long else "transcript_wait"
        return self._session.timers.get(timer, 0.0)

    def final_transcript(self) -> None:
        """LiveKit's `on_final_transcript`. Posts `final_transcript`."""
        self._post("final_transcript")

    def barge_in(self) -> None:
        """LiveKit's `_interrupt_by_audio_activity`, with every frame of an utterance. Posts
        `barge_in` when the answer is a new one."""
        verdict = self.turn.ask("barge_in")
        last, taken = self._last_barge_in, isinstance(verdict, Taken)
        # What has an effect is never a repetition: the speech may have gone on since.
        acts = isinstance(verdict, Taken) and (verdict.entered or verdict.actions)
        if not acts and (verdict is last or (last and taken)):
            return
        self._last_barge_in = verdict
        self._post("barge_in")

    def speculation(self) -> dict[str, Any]:
        """The options of preemptive generation that the held state replaces."""
        return self.tuner.speculation

    def may_speculate(self) -> bool:
        """LiveKit's `on_preemptive_generation`. Posts `preemptive_generation`."""
        return bool(self._post("preemptive_generation"))

    # -- requests to the model

    async def may_request(self, speech: Speech) -> bool:
        """LiveKit's `_pipeline_reply_task` and `_realtime_reply_task`. Posts `reply`, and waits
        until it is taken or the speech is interrupted.

        Returns:
            True if that took a wait: the conversation may have changed.
        """
        if self._post("reply", speech=speech.id):
            return False
        await self.until(lambda: self._may_request_now(speech))
        if self._governs and not speech.interrupted:
            self._post("reply", speech=speech.id)
        return True

    def request_made(self, speech: str, shown: Collection[str]) -> None:
        """LiveKit asks the model, which is shown the results of these calls. Posts nothing."""
        self.tools.told.request_made(speech, shown)

    def to_tell(self, speech: Speech, shown: Collection[str]) -> str | None:
        """What the model is to be asked for besides, if its request shows results of these calls.
        Posts nothing."""
        return self.host.wording(self.tools.to_tell(speech, shown))

    def reply_said(self, speech: str, *, whole: bool) -> None:
        """LiveKit's `SpeechHandle._item_added`, with a reply that was heard, to its end if it is
        `whole`. Posts nothing."""
        self.tools.told.said(speech, whole=whole)
        self.tools.forget_settled()

    def _may_request_now(self, speech: Speech) -> bool:
        return not self._governs or speech.interrupted or bool(self.turn.ask("reply"))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until this holds; looked at whenever something has happened."""
        moved = asyncio.Event()
        self._waiting.append(moved)
        try:
            while not holds():
                moved.clear()
                await moved.wait()
        finally:
            self._waiting.remove(moved)

    def own_id(self, item: str, given: str) -> str:
        """The id of a call, by its item; the model's, unless another call has that."""
        agent = self._session.activity
        before = agent.other_calls(item) if agent is not None else ()
        return self._ids.own(item, given, before, self._ledger)

    async def before_call(self, call: Any, turn: str) -> str | None:
        """A tool is about to begin. Posts nothing; where the session is kept, the call is kept
        first, unless it may be repeated.

        Returns:
            What the model is to read if the tool must not begin, else None.
        """
        if self.keeping is None or self.tools.is_repeatable(call.name):
            return None
        made = {"name": call.name, "arguments": call.arguments, "turn": turn}
        self.turn.note("call_intended", call=call.call_id, **made)
        if (why := await self.keeping.before_effect()) is not None:
            self.turn.note("call_given_up", call=call.call_id)
        return why

    def call_begun(self, call_id: str) -> None:
        """LiveKit has begun a tool, or has refused the call. Posts nothing."""
        if self.keeping is not None and call_id not in self._ledger:
            self.turn.note("call_given_up", call=call_id)

    async def after_call(self) -> None:
        """A tool has given something, of which nobody has heard. Posts nothing."""
        if self.keeping is not None:
            await asyncio.sleep(0)  # LiveKit reports the end in the next turn of the loop
            await self.keeping.before_reply()

    async def wait_for_calls(self, calls: Collection[str]) -> None:
        """As long as a handoff waits for these calls, which may end meanwhile."""
        limit = self._session.timers.get("tool_limit")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self.until(lambda: not self.tools.hold_up(calls))
        await asyncio.sleep(self.lifecycle.drain_limit)

    # -- the user's turns

    def may_commit(self, owner: str, info: Any) -> bool:
        """LiveKit's `on_end_of_turn`, behind its own gates. Posts `turn_committed`, and `turn_kept`
        if that is refused."""
        verdict = self._post("turn_committed", text=info.new_transcript, source="user_turn")
        if isinstance(verdict, Refused):
            self.turns.keep(info, owner, verdict.why)
            self._post("turn_kept")
            return False
        self.turns.commit(info, owner)
        if (agent := self.agent) is not None and agent.commits_audio:
            self.turns.take_in_kept()
        return True

    def cannot_take(self, owner: str, info: Any) -> bool:
        """LiveKit's `on_end_of_turn` of an agent that is about to go: the next one answers. Posts
        nothing.

        Returns:
            True if the turn is kept.
        """
        if self.closing:
            return False
        self.turns.keep(info, owner, "a handoff is under way")
        return True

    def keep_uncommitted_turn(self, owner: str, info: Any, commits_by_itself: bool) -> None:
        """LiveKit's `_close_session` while a turn is open: the next agent gets it, answered or to
        be committed. Posts nothing."""
        if commits_by_itself:
            self.turns.keep(info, owner, "its agent went before it was committed")
        else:
            self._carried = info.new_transcript

    def take_carried_transcript(self) -> str:
        """What the STT of the agent before has heard, once."""
        words, self._carried = self._carried, ""
        return words

    def turn_begun(self, task: asyncio.Task[None], items: Iterable[str]) -> None:
        """LiveKit's `_user_turn_completed_task` has been made. Posts nothing.

        Args:
            items: The ids of what the conversation holds: LiveKit copies it before it calls the
                agent's hook, and asks the model afterwards.
        """
        self.turns.follow(task, items)

    def floor_denied(self, speech: Speech, task: asyncio.Task[Any] | None) -> None:
        """LiveKit finds that a turn must not interrupt: it drops the turn, which is kept."""
        if self.floor.holds(speech):
            self.turns.mark_unanswerable(task)

    def handoff_seen(self, task: asyncio.Task[Any] | None) -> None:
        """LiveKit finds that a handoff has begun: it drops the turn, which is kept."""
        if not self.closing:  # LiveKit puts what is said into a close into the history
            self.turns.mark_unanswerable(task)

    def speech_scheduled(self, task: asyncio.Task[Any] | None, speech: Speech) -> None:
        """LiveKit's `_schedule_speech`. Posts `turn_replied` if it answers the latest turn."""
        turn = self.turns.reply(task, speech)
        if turn is not None and self.turns.is_latest(turn):
            self._post("turn_replied", turn=turn.number, speech=speech.id)

    def answer_asked(
        self, task: asyncio.Task[Any] | None, speech: Speech, info: Any, items: Iterable[str]
    ) -> None:
        """LiveKit's `_generate_reply` with words of the user, which may be typed. Posts nothing."""
        if self.turns.answered_by(task) is None:
            self.turns.typed(info, speech, items)
            if self.keeping is not None:
                self.keeping.words_came()

    def _turn_ended(self, turn: Turn, outcome: Outcome, current: bool) -> None:
        if not self._governs:
            return
        self.turn.note("turn", number=turn.number, outcome=outcome, kept=turn.kept)
        if outcome != "replied" and current:
            why = "it is answered later" if turn.unanswered else "no reply was generated"
            self._post("turn_dropped", turn=turn.number, reason=why)

    # -- inside

    @property
    def _governs(self) -> bool:
        return not self.turn.closed

    def _post(self, trigger: str, of: str | None = None, /, **data: Any) -> Verdict:
        return self.turn.post(trigger, of, **data)

    def _observed(self, seq: int, verdict: Verdict) -> None:
        """After every verdict: the agent's state, and what had to wait."""
        if not isinstance(verdict, Taken):
            return
        if verdict.entered:
            self.tuner.enter(self.turn.flow.states[verdict.dest].tuning)
            self.agent_state.project()
        self._moved()

    def _moved(self) -> None:
        for waiter in self._waiting:
            waiter.set()
        self._schedule_deferred()

    def _schedule_deferred(self) -> None:
        """In the next turn of the loop: LiveKit may be in the middle of giving the floor back."""
        if not self._deferred_due and (self.turns.kept or self.host.owes):
            self._deferred_due = True
            asyncio.get_running_loop().call_soon(self._run_deferred)

    def _run_deferred(self) -> None:
        self._deferred_due = False
        agent = self._session.activity
        if not self._governs or self.closing or agent is None:
            return
        if not agent.accepts_turns:
            return  # a handoff is under way; it is looked at again when it has ended
        step = self.floor.step
        if step is not None and self.turns.kept and not step.speech.interruptible:
            return  # it winds down, and LiveKit takes no turn before it has
        if (
            self.turns.kept
            and agent.commits_audio
            and (self.user_speaks or self.host.endpointing())
        ):
            return  # it would be cut where the user is now; the next turn has all of it
        if self.turns.kept and agent.greets:
            return  # the turn is older than what the agent says as it enters
        if self.turns.kept and self.turn.ask("turn_committed"):
            self.turns.kept[0].run(agent.take_turn)
        elif self.host.owes and self.turn.ask("owed_reply"):
            self._post("owed_reply")
