"""The overrides of a session. `TurnSession` is the public class."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from livekit.agents import (
    Agent,
    AgentFalseInterruptionEvent,
    AgentTask,
    ConversationItemAddedEvent,
    llm,
)
from livekit.agents.utils import aio
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm.flow import NEVER, Tuning
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.limits import TurnLimitReached
from turnfsm.runtime.conversation.ports import Report, Settings, Speech
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.conversation.waits import LongWait, TurnWaitsLong
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.livekit.tuning import Tuner

from .activity import GovernedActivity, adopt
from .arriving import results_when_copied
from .components import closed_by
from .history import conversation_of
from .output import StepOutput, nothing
from .run import GovernedRun
from .speech import GovernedHandle

__all__ = ["GovernedSession"]

logger = logging.getLogger("turnfsm")

GIVEN_UP = 5.0
"""Seconds that a close may still take after the application has cancelled it. There is no signal
how long the event loop still runs."""

RECENT = 64
"""How many results to remember the commit times of; copies for the next agent are not older."""


class Lifecycle(Protocol):
    """The session's own flow: its start, its runs, its end."""

    def agent_phase_changed(self) -> None:
        """An agent was entered, handed over to, or left."""

    def closing(self) -> None:
        """The session closes."""

    async def aclose(self) -> None:
        """The session has closed."""


class GovernedSession(AgentSession[Userdata_T]):
    """An `AgentSession` whose private methods report to a conductor."""

    _conductor: Conductor
    _life: Lifecycle
    tuner: Tuner
    vad_given: bool
    """The application has given a VAD to the session."""
    _stop_listening: Callable[[], None] = staticmethod(nothing)
    _adopted: WeakSet[GovernedActivity]
    inline_tasks: WeakKeyDictionary[Agent, Agent]
    """The tasks that agents have awaited, each with the agent that it hands back to."""
    _commits: deque[tuple[str, float]]
    _tearing_down: asyncio.Timeout | None = None
    _handing_over = 0
    _handoffs = 0
    _left_behind: Set[asyncio.Task[Any]] = frozenset()
    _toolsets_reported: asyncio.Task[None] | None = None

    @property
    def _next_activity(self) -> AgentActivity | None:
        return self.__dict__.get("_next_activity")

    @_next_activity.setter
    def _next_activity(self, activity: AgentActivity | None) -> None:
        # LiveKit sets it in one place, after building the activity and before using it.
        if activity is not None and not isinstance(activity, GovernedActivity):
            adopt(activity, self._conductor)
            assert isinstance(activity, GovernedActivity)
            activity.results_when_copied = results_when_copied(
                self.history, conversation_of(activity), dict(self.__dict__.get("_commits", ()))
            )
            self.__dict__.setdefault("_adopted", WeakSet()).add(activity)
        self.__dict__["_next_activity"] = activity

    @property
    def activity(self) -> GovernedActivity | None:
        """The activity of the active agent."""
        activity = self._activity
        return activity if isinstance(activity, GovernedActivity) else None

    def _update_agent_state(
        self, state: Any, *, otel_context: Any = None, start_time: float | None = None
    ) -> None:
        publish = partial(
            super()._update_agent_state, otel_context=otel_context, start_time=start_time
        )
        self._conductor.speech.agent_state_wanted(state, publish)

    def publish(self, state: Any, heard: Speech | None = None, at: float | None = None) -> None:
        """Publish this agent state, in the trace context of the speech that starts to play."""
        context = heard.turn_context if isinstance(heard, GovernedHandle) else None
        super()._update_agent_state(state, otel_context=context, start_time=at)

    def tools_executed(self, calls: Iterable[Any], outputs: Sequence[Any]) -> None:
        """Calls and their outputs are in the conversation."""
        self.show_to_next([*calls, *outputs])
        commits = self.__dict__.setdefault("_commits", deque(maxlen=RECENT))
        commits.extend((output.call_id, time.time()) for output in outputs)
        for activity in tuple(self.__dict__.get("_adopted", ())):
            activity.tell(outputs)
        self._conductor.tools.committed(
            Result(output.call_id, not (output.output or output.is_error)) for output in outputs
        )

    def show_to_next(self, items: Sequence[Any]) -> None:
        """Give the active agent the late calls and results of a replaced agent, since the active
        agent says them."""
        if (activity := self.activity) is None:
            return
        conversation = conversation_of(activity)
        for item in items:
            call = self._conductor.tools.get(item.call_id.removesuffix("_final"))
            agent = call.agent if call is not None else None
            late = isinstance(agent, GovernedActivity) and agent.left
            if late and conversation.get_by_id(item.id) is None:
                conversation.insert(item)

    async def _aclose_locked(self, **how: Any) -> None:
        self._conductor.outages.closing(closed_by(how["reason"], how["error"]))
        self._life.closing()
        if (turn := self._conductor.close_started()) is not None:
            self.add_words(turn)
        limit = None
        try:
            await super()._aclose_locked(**how)
        except asyncio.CancelledError:
            limit = GIVEN_UP
            raise
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._close_the_rest()
            await self.session_closed()

    async def session_closed(self) -> None:
        """LiveKit has closed the session."""
        await self._life.aclose()
        self._stop_listening()
        await self._conductor.aclose()

    async def _teardown_activity(self, **how: Any) -> None:
        limit = self._tearing_down = asyncio.timeout(None)
        try:
            async with limit:
                await super()._teardown_activity(**how)
                await self._calls_left_behind()
        except TimeoutError:
            if not limit.expired():
                raise
            logger.warning("the session's toolsets did not close in time; it closes without them")
        finally:
            self._tearing_down = None
            if self._toolsets_reported is not None:
                self._toolsets_reported.cancel()
                self._toolsets_reported = None

    def leave_behind(self, call: asyncio.Task[Any]) -> None:
        """A handoff stops waiting for this call, which continues. The close waits for it."""
        self._left_behind = {*self._left_behind, call}

    async def _calls_left_behind(self) -> None:
        """Wait for the calls that handoffs stopped waiting for."""
        left = {call for call in self._left_behind if call is not asyncio.current_task()}
        if left:
            await asyncio.wait(left, timeout=self.timers["drain_limit"])
            await aio.cancel_and_wait(*left)

    def agent_left(self) -> None:
        """The active agent was closed. When the session closes, only the session's own toolsets
        remain."""
        if self._tearing_down is None or isinstance(self.current_agent, AgentTask):
            return
        if self._toolsets_reported is None:
            self._toolsets_reported = asyncio.create_task(self._report_toolsets())
        if (limit := self.timers["cleanup_limit"]) != NEVER:
            self._tearing_down.reschedule(asyncio.get_running_loop().time() + limit)

    async def _report_toolsets(self) -> None:
        """Report that the close waits for the session's own toolsets, until it does not."""
        turn, wait = self._conductor.turn, LongWait(self._conductor.host.publish_wait)
        since, every = turn.now, self.timers.get("report_after", NEVER)
        try:
            while every != NEVER:
                await asyncio.sleep(every)
                wait.goes_on("close", "application", ("toolsets",), since=since, now=turn.now)
        finally:
            wait.over(turn.now)

    @property
    @abstractmethod
    def timers(self) -> Mapping[str, float]:
        """The seconds of the timers in this session."""

    async def _close_the_rest(self) -> None:
        # A tool can await a task that the application has replaced with another agent.
        tasks, self.inline_tasks = self.inline_tasks, WeakKeyDictionary()
        awaited: list[Any] = [task for task in tasks if isinstance(task, AgentTask)]
        awaited = [task for task in awaited if not AgentTask.done(task)]
        for task in awaited:
            AgentTask.cancel(task)
        for task in awaited:  # its tool closes the agent first, which waits for no call of its own
            await task._AgentTask__inactive_ev.wait()
        # After a close during a handoff an agent may still be listening.
        for activity in tuple(self.__dict__.pop("_adopted", ())):
            await activity.aclose()

    @property
    def settings(self) -> Settings:
        """The current settings."""
        interruption = self.options.interruption
        return Settings(
            timers=self.timers,
            min_duration=interruption["min_duration"],
            min_words=interruption["min_words"],
            expects_audio=self.input.audio is not None and self.input.audio_enabled,
        )

    @abstractmethod
    def follow_options(self) -> None:
        """Apply the options that the application has changed."""

    def listen_to(self, output: StepOutput | None) -> None:
        """Report the playout of this output, and of no other."""
        self._stop_listening()
        self._stop_listening = nothing
        if output is None:
            return
        floor = self._conductor.floor
        self._stop_listening = output.listen(floor.playout_started, floor.playout_finished)

    def tune(self, tuning: Tuning) -> None:
        """Apply the tuning of a state."""
        self.tuner.enter(tuning)

    def add_words(self, info: Any) -> None:
        """Add a turn that gets no answer to the conversation."""
        said = llm.ChatMessage(
            role="user",
            content=[info.new_transcript],
            transcript_confidence=info.transcript_confidence,
        )
        activity: Any = self._activity
        conversation_of(activity).items.append(said)
        self.history.insert(said)
        self.emit("conversation_item_added", ConversationItemAddedEvent(item=said))

    def clear_user_turn(self) -> None:
        """As `AgentSession.clear_user_turn`."""
        activity = self.activity
        with activity.clearing() if activity is not None else contextlib.nullcontext():
            super().clear_user_turn()

    def commit_user_turn(
        self,
        *,
        transcript_timeout: float = 2.0,
        stt_flush_duration: float = 2.0,
        skip_reply: bool = False,
    ) -> asyncio.Future[str]:
        """As `AgentSession.commit_user_turn`; during a handoff the next agent answers the turn."""
        activity = self.activity
        leaves = activity is not None and activity.leaves_audio and not skip_reply
        if activity is not None:
            self._conductor.commit_requested()
        committed = super().commit_user_turn(
            transcript_timeout=transcript_timeout,
            stt_flush_duration=stt_flush_duration,
            skip_reply=skip_reply or leaves,
        )
        if activity is not None and leaves:
            activity.audio_left()
        return committed

    def _on_audio_enabled_changed(self, enabled: bool) -> None:
        super()._on_audio_enabled_changed(enabled)
        if not self.tuner.muted:  # otherwise the flow has done it
            self._conductor.microphone_turned(on=enabled)

    def report(self, report: Report) -> None:
        """Notify the application."""
        if isinstance(report, TurnLimitReached):
            self.emit("turn_limit_reached", report)  # type: ignore[arg-type]
        elif isinstance(report, TurnWaitsLong):
            self.emit("turn_waits_long", report)  # type: ignore[arg-type]
        else:
            self.emit("agent_false_interruption", AgentFalseInterruptionEvent(resumed=True))

    def hang_up(self) -> None:
        """Close after all queued speech."""
        self.shutdown(drain=True)

    @property
    def closing(self) -> bool:
        """The session closes or has closed."""
        return self._is_closing()

    # -- handoffs and runs

    def agent_comes(self, agent: Agent) -> None:
        """This agent is about to become active."""

    async def _update_activity(self, agent: Agent, **how: Any) -> None:
        self.agent_comes(agent)
        if how.get("previous_activity") == "pause" and self.activity is not None:
            self.inline_tasks[agent] = self.activity.agent
        self._handing_over += 1
        try:
            await super()._update_activity(agent, **how)
        finally:
            self._handing_over -= 1
            self._handoffs += 1
            self.agent_phase_changed()

    def agent_phase_changed(self) -> None:
        """An agent was entered, handed over to, or left."""
        self._life.agent_phase_changed()
        self._conductor.agent_phase_changed()

    @property
    def agents_settled(self) -> bool:
        """No handoff is in progress, and `on_enter` of the active agent has returned."""
        return not self._handing_over and self.activity is not None and self.activity.settled

    @property
    def agent_position(self) -> tuple[object, ...]:
        """The active agent, whether it leaves, and the handoffs in progress and before. It changes
        with each handoff."""
        leaves = self.activity is not None and self.activity.leaving
        return self.activity, leaves, self._handing_over, self._handoffs

    def begin_run(self, run: GovernedRun, **reply: Any) -> None:
        """Make a run active, and generate its reply."""
        self._global_run_state = run
        self.generate_reply(**reply)

    def cancel_released_calls(self) -> None:
        """Cancel the released tool calls."""
        self._conductor.tools.cancel_released()

    def cancel_entering(self) -> None:
        """Cancel an `on_enter` that a close would wait for."""
        if self.activity is not None:
            self.activity.cancel_entering()

    def cancel_hooks(self) -> None:
        """Cancel the other hooks that a close would wait for."""
        if self.activity is not None:
            self.activity.cancel_hooks()

    @property
    def run_is_active(self) -> bool:
        """A run has not ended."""
        return self._global_run_state is not None and not self._global_run_state.done()
