"""Where turnfsm meets the private names of livekit-agents; no other module touches them.

Each override turns what LiveKit is about to do into a question to the governor, or what it has
done into a report. `_contract` checks the names at import. An override stays only while a scenario
fails without it (tests/livekit/test_ablation.py).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Protocol

from livekit.agents import AgentSession, llm
from livekit.agents.voice.agent import _get_activity_task_info
from livekit.agents.voice.agent_activity import AgentActivity, _SpeechHandleContextVar
from livekit.agents.voice.events import RunContext
from livekit.agents.voice.io import AudioOutput
from livekit.agents.voice.speech_handle import SpeechHandle
from livekit.agents.voice.tool_executor import _RunningTasks

from .errors import SpeechInterrupted

__all__ = [
    "GovernedActivity",
    "GovernedHandle",
    "GovernedSession",
    "Governor",
    "current_speech",
    "running_call",
]


class Governor(Protocol):
    """Decides what the seams ask and hears what they report."""

    def floor_taken(self, activity: GovernedActivity, handle: SpeechHandle) -> None: ...
    def floor_returned(self, activity: GovernedActivity, handle: SpeechHandle) -> None: ...
    def speech_interrupted(self, handle: SpeechHandle) -> None: ...
    def user_started(self) -> None: ...
    def user_stopped(self) -> None: ...
    def user_voice(self, voiced: bool) -> None: ...
    def final_transcript(self) -> None: ...
    def barge_in(self) -> None: ...
    def may_speculate(self) -> bool: ...
    async def may_ask(self, handle: SpeechHandle) -> bool: ...
    def may_commit(self, activity: GovernedActivity, info: Any) -> bool: ...
    def cannot_take(self, activity: GovernedActivity, info: Any) -> bool: ...
    def start_playout(self, handle: SpeechHandle) -> None: ...
    def disallowed(self, handle: SpeechHandle) -> None: ...
    def turn_begun(self, task: asyncio.Task[None]) -> None: ...
    def speech_scheduled(self, task: asyncio.Task[Any] | None, handle: SpeechHandle) -> None: ...
    def detached_tasks(self) -> Iterable[asyncio.Task[Any]]: ...
    def call_ended_interrupted(self, call_id: str) -> None: ...


class _GatesPassed(Exception):
    """LiveKit's gates before a barge-in let it through; the machine decides from here."""


class _CommitRefused(Exception):
    """The machine does not take the committed turn now."""


class GovernedHandle(SpeechHandle):
    """A speech whose interruption is reported at once, and whose waits end with it."""

    _governor: Governor

    def _cancel(self) -> SpeechHandle:
        first = not self.done() and not self.interrupted
        super()._cancel()
        if first:
            self._governor.speech_interrupted(self)
        return self

    async def _wait_for_generation(self, step_idx: int = -1) -> None:
        # LiveKit itself waits for the last step; a step index means RunContext.wait_for_playout.
        if step_idx >= 0 and (call := _blocking_call()) is not None:
            played = super()._wait_for_generation(step_idx=step_idx)
            await self._race(played, call, (self,))
        else:
            await super()._wait_for_generation(step_idx=step_idx)

    async def wait_for_playout(self) -> None:
        call = _blocking_call()
        if call is None:
            await super().wait_for_playout()
            return
        owner = _SpeechHandleContextVar.get(None)
        await self._race(super().wait_for_playout(), call, (self, owner or self))

    async def _race(
        self, played: Coroutine[Any, Any, None], call: llm.FunctionCall, by: Iterable[SpeechHandle]
    ) -> None:
        wait = asyncio.ensure_future(played)
        interrupts = {handle._interrupt_fut for handle in by}
        try:
            await asyncio.wait({wait, *interrupts}, return_when=asyncio.FIRST_COMPLETED)
            cut = next((handle for handle in by if handle.interrupted), None)
            if cut is not None:
                self._governor.call_ended_interrupted(call.call_id)
                raise SpeechInterrupted(cut.id)
            await wait
        finally:
            wait.cancel()

    @property
    def turn_context(self) -> Any:
        """The OpenTelemetry context of the agent's turn."""
        return self._agent_turn_context

    def end_step(self) -> None:
        """Stop waiting for the generation that runs."""
        self._mark_generation_done()

    def end(self) -> None:
        """Stop waiting for what the speech still does; its tasks go on."""
        self._mark_done()

    @property
    def tasks(self) -> list[asyncio.Task[Any]]:
        """The tasks that carry the speech."""
        return self._tasks


def _blocking_call() -> llm.FunctionCall | None:
    """The tool call that the current task runs, if its turn waits for it."""
    task = asyncio.current_task()
    info = _get_activity_task_info(task) if task is not None else None
    call = info.function_call if info is not None else None
    if call is None or call.extra.get("__livekit_agents_tool_non_blocking", False):
        return None
    return call


def running_call(session: AgentSession[Any], call_id: str) -> RunContext[Any] | None:
    """The context of a tool call that is running, of whichever executor."""
    task = _RunningTasks.get(session, {}).get(call_id)
    return task.ctx if task is not None else None


def current_speech() -> SpeechHandle | None:
    """The speech on whose behalf the current task runs."""
    return _SpeechHandleContextVar.get(None)


class GovernedActivity(AgentActivity):
    """An agent's activity that asks before it acts."""

    _governor: Governor
    _probing = False
    _deciding: Any = None

    # -- the floor

    @property
    def _current_speech(self) -> SpeechHandle | None:
        return self.__dict__.get("_current_speech")

    @_current_speech.setter
    def _current_speech(self, handle: SpeechHandle | None) -> None:
        previous = self.__dict__.get("_current_speech")
        self.__dict__["_current_speech"] = handle
        if previous is not None and previous is not handle:
            self._governor.floor_returned(self, previous)
        if handle is not None:
            self._governor.floor_taken(self, handle)

    def _create_speech_task(
        self, coro: Any, *, speech_handle: SpeechHandle | None = None, name: str | None = None
    ) -> asyncio.Task[Any]:
        if speech_handle is not None and not isinstance(speech_handle, GovernedHandle):
            speech_handle.__class__ = GovernedHandle
            speech_handle._governor = self._governor  # type: ignore[attr-defined]
        return super()._create_speech_task(coro, speech_handle=speech_handle, name=name)

    def _schedule_speech(self, speech: SpeechHandle, priority: int, force: bool = False) -> None:
        super()._schedule_speech(speech, priority, force)
        self._governor.speech_scheduled(asyncio.current_task(), speech)

    async def _pipeline_reply_task(self, **request: Any) -> None:
        known = {item.id for item in self._agent._chat_ctx.items}
        if await self._governor.may_ask(request["speech_handle"]):
            # The wait was for something to be committed; the request's own copy must have it.
            news = [item for item in self._agent._chat_ctx.items if item.id not in known]
            request["chat_ctx"] = context = request["chat_ctx"].copy()
            context.insert([item for item in news if context.get_by_id(item.id) is None])
        await super()._pipeline_reply_task(**request)

    # -- the user

    def on_start_of_speech(self, ev: Any, speech_start_time: float) -> None:
        super().on_start_of_speech(ev, speech_start_time)
        self._governor.user_started()

    def on_end_of_speech(self, ev: Any) -> None:
        super().on_end_of_speech(ev)
        self._governor.user_stopped()

    def on_vad_inference_done(self, ev: Any) -> None:
        super().on_vad_inference_done(ev)
        self._governor.user_voice(not self._user_silence_event.is_set())

    def on_final_transcript(self, ev: Any, *, speaking: bool | None = None) -> None:
        super().on_final_transcript(ev, speaking=speaking)
        if ev.alternatives and ev.alternatives[0].text:
            self._governor.final_transcript()

    def on_preemptive_generation(self, info: Any) -> None:
        if self._governor.may_speculate():
            super().on_preemptive_generation(info)
        else:
            self._cancel_preemptive_generation()

    # -- barge-in: LiveKit's gates first (echo warm-up, min_words, server-side turn detection);
    # it asks whether the output can pause once they have let the interruption through

    def _interrupt_by_audio_activity(self) -> None:
        self._probing = True
        try:
            super()._interrupt_by_audio_activity()
        except _GatesPassed:
            self._governor.barge_in()
        finally:
            self._probing = False

    def _pause_enabled(self) -> bool:
        if self._probing:
            raise _GatesPassed
        return False  # the machine owns the pause: LiveKit never pauses by itself

    @property
    def can_pause(self) -> bool:
        """The output can pause and the session wants false interruptions resumed."""
        return super()._pause_enabled()

    def _reconcile_playout_pause(self, speech_handle: SpeechHandle) -> None:
        self._governor.start_playout(speech_handle)

    def _disallow_interruptions(self, speech_handle: SpeechHandle) -> None:
        super()._disallow_interruptions(speech_handle)
        self._governor.disallowed(speech_handle)

    # -- the end of a turn: LiveKit's gates first (too few words, a backchannel); it cancels the
    # timer of a false interruption once they have let the commit through

    def on_end_of_turn(self, info: Any) -> bool:
        if info.skip_reply:
            return super().on_end_of_turn(info)
        if (self._scheduling_paused or self._new_turns_blocked) and self._governor.cannot_take(
            self, info
        ):
            self._cancel_preemptive_generation()
            return True
        self._deciding = info
        before = self._user_turn_completed_atask
        try:
            committed = super().on_end_of_turn(info)
        except _CommitRefused:
            self._cancel_preemptive_generation()
            return True
        finally:
            self._deciding = None
        task = self._user_turn_completed_atask
        if task is not None and task is not before:
            self._governor.turn_begun(task)
        return committed

    def _cancel_false_interruption_timer(self) -> None:
        super()._cancel_false_interruption_timer()
        info, self._deciding = self._deciding, None
        if info is not None and not self._governor.may_commit(self, info):
            raise _CommitRefused

    @property
    def turn_decision(self) -> asyncio.Task[None] | None:
        """The task that decides on the end of the user's turn, while it is open."""
        recognition = self._audio_recognition
        task = recognition._end_of_turn_task if recognition is not None else None
        return task if task is not None and not task.done() else None

    @property
    def accepts_turns(self) -> bool:
        """No handoff is in progress."""
        return not (self._scheduling_paused or self._new_turns_blocked or self._closed)

    # -- effects

    @property
    def audio_output(self) -> AudioOutput | None:
        """The output, if audio is enabled."""
        output = self._session.output
        return output.audio if output.audio_enabled else None

    def audio_cut(self) -> None:
        """Tell the recogniser that the agent is no longer heard."""
        self._on_end_of_agent_speech(ended_at=time.time())
        if self.interruption_enabled:
            self.interruption_by_audio_activity_enabled = True

    def audio_goes_on(self) -> None:
        """Tell the recogniser that the agent is heard again."""
        if self._audio_recognition is not None:
            self._audio_recognition._on_start_of_agent_speech(started_at=time.time())
        if self.interruption_enabled:
            self._disable_vad_interruption_soon()

    def interrupt_model(self) -> None:
        """Interrupt a realtime model's response."""
        if self._rt_session is not None:
            self._rt_session.interrupt()

    # -- handoffs do not wait for speeches that the turn has let go of

    async def _pause_scheduling_task(
        self, *, blocked_tasks: list[asyncio.Task[Any]] | None = None
    ) -> None:
        detached = [task for task in self._governor.detached_tasks() if task in self._speech_tasks]
        await super()._pause_scheduling_task(blocked_tasks=[*(blocked_tasks or ()), *detached])


def _adopt(activity: AgentActivity, governor: Governor) -> None:
    """Make an activity that LiveKit has built a governed one.

    By assignment of the class: the constructor's arguments stay LiveKit's business.
    """
    activity.__class__ = GovernedActivity
    assert isinstance(activity, GovernedActivity)
    activity._governor = governor


class GovernedSession(AgentSession[Any]):
    """The seams of a session; `TurnSession` is the public face."""

    _governor: Any

    @property
    def _next_activity(self) -> AgentActivity | None:
        return self.__dict__.get("_next_activity")

    @_next_activity.setter
    def _next_activity(self, activity: AgentActivity | None) -> None:
        # Set at one place, right after LiveKit has built the activity and before it is used.
        if activity is not None and not isinstance(activity, GovernedActivity):
            _adopt(activity, self._governor)
        self.__dict__["_next_activity"] = activity

    @property
    def activity(self) -> GovernedActivity | None:
        """The activity of the agent that is in charge."""
        activity = self._activity
        return activity if isinstance(activity, GovernedActivity) else None

    def _update_agent_state(
        self, state: Any, *, otel_context: Any = None, start_time: float | None = None
    ) -> None:
        self._governor.label_wanted(state, otel_context, start_time)

    def publish(
        self, state: Any, otel_context: Any = None, start_time: float | None = None
    ) -> None:
        """Make a label the agent's state."""
        super()._update_agent_state(state, otel_context=otel_context, start_time=start_time)

    def _tool_items_added(self, items: Sequence[llm.FunctionCall | llm.FunctionCallOutput]) -> None:
        super()._tool_items_added(items)
        self._governor.results_committed(items)

    async def _aclose_locked(self, **how: Any) -> None:
        try:
            await super()._aclose_locked(**how)
        finally:
            await self._governor.aclose()

    @property
    def closing(self) -> bool:
        """The session closes or has closed."""
        return self._is_closing()

    @property
    def started(self) -> bool:
        """`start` has returned and `aclose` has not."""
        return self._started
