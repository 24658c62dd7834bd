"""What happens in LiveKit, reported to the machine; what LiveKit asks, answered by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm import Taken, Verdict
from turnfsm.runtime.livekit.lifecycle import SessionLifecycle
from turnfsm.runtime.livekit.overrides import GovernedActivity, GovernedHandle, current_speech

from .agent_state import AgentState
from .call_ids import CallIds
from .floor import Floor
from .host import TurnHost
from .told_results import ToldResults
from .tool_calls import ToolCalls
from .tool_reports import ToolReports
from .tuning import Tuner
from .user_turns import Outcome, Turn, UserTurns

if TYPE_CHECKING:
    from turnfsm.runtime.livekit.session import TurnSession

__all__ = ["Conductor"]

COMMIT_LIMIT = 1.0
"""Seconds that a request waits for LiveKit to commit what has ended; it takes some loop turns."""


class Conductor(ToolReports):
    """The sensors of one session; `TurnHost` has its effects."""

    def __init__(self, session: TurnSession[Any]) -> None:
        self.session = session
        self.tools = ToolCalls()
        self.told = ToldResults(lambda: session.ledger, lambda *a, **k: session.turn.note(*a, **k))
        self.ids = CallIds()
        self.floor = Floor(self._playout_started, self._playout_finished)
        self.host = TurnHost(session, self.floor, self.tools)
        self.turns = UserTurns(self._turn_ended)
        self.label = AgentState(session)
        self.tuner = Tuner(session)
        self.life = SessionLifecycle(session, self)
        self._last_barge_in: Verdict | None = None
        self._deferred_due = False
        self._carried = ""
        self._waiting: list[asyncio.Event] = []

    @property
    def _governs(self) -> bool:
        return not self.session.turn.closed

    def post(self, trigger: str, of: str | None = None, /, **data: Any) -> Verdict:
        """Post to the session's runtime."""
        return self.session.turn.post(trigger, of, **data)

    def observed(self, seq: int, verdict: Verdict) -> None:
        """After every verdict: the label, and what had to wait."""
        if not isinstance(verdict, Taken):
            return
        if verdict.entered:
            self.tuner.enter(self.session.turn.flow.states[verdict.dest].tuning)
            self.label.project()
        for waiter in self._waiting:
            waiter.set()
        self._schedule_deferred()

    def chain_moved(self) -> None:
        """An agent was entered, handed over to, or left."""
        self.life.chain_moved()
        if self._governs and self.session.started:
            self._count_tools()
            self._schedule_deferred()

    def run_moved(self) -> None:
        self.life.run_moved()

    async def aclose(self) -> None:
        """The session has closed."""
        await self.life.aclose()
        self.turns.close()
        self.floor.close()
        self.label.close()
        self.tuner.leave()
        await self.session.turn.aclose()

    # -- the floor

    def floor_taken(self, activity: GovernedActivity, handle: SpeechHandle) -> None:
        step = self.floor.take(activity, handle)
        self._last_barge_in = None
        self.host.results_need_reply = False
        self.label.muted = handle.interrupted  # such a step begins for nobody
        self.post("step_started", step.id)
        self.label.muted = False
        if handle.interrupted:
            self.post("step_interrupted", step.id)
        self._count_tools()

    def floor_returned(self, activity: GovernedActivity, handle: SpeechHandle) -> None:
        step = self.floor.leave(handle)
        if step is not None:
            self.post("step_finished", step.id)
        if isinstance(handle, GovernedHandle):
            self.host.on_step_finished(handle)

    def speech_interrupted(self, handle: SpeechHandle) -> None:
        step = self.floor.step
        if step is not None and step.handle is handle:
            self.post("step_interrupted", step.id)
        elif self.tools.of(handle):
            self.post("speech_interrupted", speech=handle.id)
        elif isinstance(handle, GovernedHandle) and handle.steps_over:
            handle.end()  # its calls have ended: it waits for other speeches, and need not

    def start_playout(self, handle: SpeechHandle) -> None:
        step = self.floor.step
        if step is not None and step.handle is handle:
            self.post("start_playout", step.id)

    def disallowed(self, handle: SpeechHandle) -> None:
        step = self.floor.step
        if step is not None and step.handle is handle:
            self.post("interruptions_disallowed", step.id)

    def _playout_started(self, step: str, created_at: float) -> None:
        if not self._governs:
            return
        verdict = self.post("playout_started", step)
        holder = self.floor.step
        if verdict and holder is not None and isinstance(holder.handle, GovernedHandle):
            self.label.project(holder.handle.turn_context, created_at)

    def _playout_finished(self, step: str) -> None:
        if self._governs:
            self.post("playout_finished", step)

    def label_wanted(self, label: str, otel_context: Any, start_time: float | None) -> None:
        """LiveKit wants to publish an agent state; the machine's is published instead."""
        if not self._governs or label == "initializing":
            self.session.publish(label, otel_context, start_time)
            return
        step = self.floor.step
        audible = step is not None and step.activity.audio_output is not None
        if label == "speaking" and step is not None and not audible:
            self.post("playout_started", step.id)  # text only: its first words are its playout
        self.label.project(otel_context, start_time)

    # -- the user

    def user_started(self) -> None:
        self._last_barge_in = None
        self.post("user_started_speaking")

    def user_stopped(self) -> None:
        self.post("user_stopped_speaking")

    def final_transcript(self) -> None:
        self.post("final_transcript")

    def barge_in(self) -> None:
        """Asked with every frame of an utterance; journalled when the answer is a new one."""
        verdict = self.session.turn.ask("barge_in")
        last, same = self._last_barge_in, verdict is self._last_barge_in
        if same or (
            last and isinstance(verdict, Taken) and not (verdict.entered or verdict.actions)
        ):
            return
        self._last_barge_in = verdict
        self.post("barge_in")

    def speculation(self) -> dict[str, Any]:
        """The options of preemptive generation that the held state replaces."""
        return self.tuner.speculation

    def may_speculate(self) -> bool:
        return bool(self.post("preemptive_generation"))

    async def may_ask(self, handle: SpeechHandle) -> bool:
        """Wait until the LLM may be asked; True if that took a wait."""
        if self.post("reply", speech=handle.id):
            return False
        try:
            async with asyncio.timeout(COMMIT_LIMIT):
                await self.moved_until(lambda: self._may_be_asked(handle))
        except TimeoutError:
            self.tools.uncommitted.clear()
            self.post("results_committed", reason="overdue")
        self.post("reply", speech=handle.id)
        return True

    def _may_be_asked(self, handle: SpeechHandle) -> bool:
        return not self._governs or handle.interrupted or bool(self.session.turn.ask("reply"))

    async def moved_until(self, holds: Callable[[], bool]) -> None:
        moved = asyncio.Event()
        self._waiting.append(moved)
        try:
            while not holds():
                moved.clear()
                await moved.wait()
        finally:
            self._waiting.remove(moved)

    # -- the user's turns

    def may_commit(self, activity: GovernedActivity, info: Any) -> bool:
        if not self.post("turn_committed", text=info.new_transcript):
            self.turns.keep(info)
            self.post("turn_kept")
            return False
        self.turns.commit(info)
        return True

    def cannot_take(self, activity: GovernedActivity, info: Any) -> bool:
        """An agent that is about to go cannot answer; the next one will."""
        if self.session.closing:
            return False
        self.turns.keep(info)
        return True

    @property
    def closing(self) -> bool:
        """The session closes."""
        return self.session.closing

    def keep_uncommitted_turn(self, info: Any, commits_by_itself: bool) -> None:
        """An agent goes while a turn is open: the next one gets it, answered or to be committed."""
        if commits_by_itself:
            self.turns.keep(info)
        else:
            self._carried = info.new_transcript

    def take_carried_transcript(self) -> str:
        """What the recogniser of the agent before has heard, once."""
        words, self._carried = self._carried, ""
        return words

    def turn_begun(self, task: asyncio.Task[None]) -> None:
        self.turns.follow(task)

    def floor_denied(self, handle: SpeechHandle, task: asyncio.Task[Any] | None) -> None:
        if self.floor.holds(handle):
            self.turns.mark_unanswerable(task)

    def handoff_seen(self, task: asyncio.Task[Any] | None) -> None:
        if not self.closing:  # LiveKit puts what is said into a close into the history
            self.turns.mark_unanswerable(task)

    def speech_scheduled(self, task: asyncio.Task[Any] | None, handle: SpeechHandle) -> None:
        turn = self.turns.reply(task)
        if turn is not None and self.turns.is_latest(turn):
            self.post("turn_replied", turn=turn.number, speech=handle.id)

    def _turn_ended(self, turn: Turn, outcome: Outcome, current: bool) -> None:
        if not self._governs:
            return
        self.session.turn.note("turn", number=turn.number, outcome=outcome, kept=turn.kept)
        if outcome != "replied" and current:
            why = "it is answered later" if turn.unanswered else "no reply was generated"
            self.post("turn_dropped", turn=turn.number, reason=why)

    # -- tools: see ToolReports

    def detached_tasks(self) -> Iterable[asyncio.Task[Any]]:
        return self.tools.detached_tasks()

    def turn_is_over(self) -> bool:
        """The speech on whose behalf LiveKit acts was interrupted."""
        handle = current_speech()
        return handle is not None and handle.interrupted

    def speech_created(self) -> None:
        """A reply is generated, with all that the conversation holds."""
        if not self.host.delivering:
            self.tools.reply_made()

    # -- what had to wait

    def _schedule_deferred(self) -> None:
        """In the next turn of the loop: LiveKit may be in the middle of giving the floor back."""
        if not self._deferred_due and (self.tools.owed or self.turns.kept):
            self._deferred_due = True
            asyncio.get_running_loop().call_soon(self._run_deferred)

    def _run_deferred(self) -> None:
        self._deferred_due = False
        activity = self.session.activity
        if not self._governs or self.session.closing or activity is None:
            return
        if not activity.accepts_turns:
            return  # a handoff is under way; it is looked at again when it has ended
        step = self.floor.step
        if step is not None and self.turns.kept and not step.interruptible:
            return  # it winds down, and LiveKit takes no turn before it has
        if self.turns.kept and self.session.turn.ask("turn_committed"):
            info = self.turns.kept[0]
            activity.on_end_of_turn(info)
        elif self.tools.owed and self.session.turn.ask("owed_reply"):
            self.post("owed_reply")
