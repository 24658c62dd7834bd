"""The close of a session, which waits for calls and hooks within limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import abstractmethod
from collections.abc import Mapping, Set
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from livekit.agents import Agent, AgentTask
from livekit.agents.utils import aio
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm.flow import NEVER
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.waits import LongWait
from turnfsm.runtime.livekit.stock import AgentSession

from .components import closed_by

__all__ = ["ClosingSession"]

logger = logging.getLogger("turnfsm")

GIVEN_UP = 5.0
"""Seconds that a close may still take after the application has cancelled it. Nothing signals
when the event loop ends."""


class Lifecycle(Protocol):
    """The session's own flow: its start, its runs, its end."""

    waiting: dict[str, Any] | None
    """The reply of the run that waits until the agents are settled."""

    def agent_phase_changed(self) -> None:
        """An agent was entered, handed over to, or left."""

    def speech_left_floor(self) -> None:
        """A speech has returned the floor. If it was a question to the user, a run may end."""

    def closing(self) -> None:
        """The session closes."""

    async def aclose(self) -> None:
        """The session has closed."""


class ClosingSession(AgentSession[Userdata_T]):
    """An `AgentSession` whose close waits for calls and hooks within limits."""

    _conductor: Conductor
    _life: Lifecycle
    inline_tasks: WeakKeyDictionary[Agent, Agent]
    """The tasks that agents have awaited, each with the agent that it hands back to."""
    _tearing_down: asyncio.Timeout | None = None
    _left_behind: Set[asyncio.Task[Any]] = frozenset()
    _toolsets_reported: asyncio.Task[None] | None = None

    @property
    @abstractmethod
    def timers(self) -> Mapping[str, float]:
        """The seconds of the timers in this session."""

    @abstractmethod
    def add_transcript(self, info: Any) -> None:
        """Add a turn that gets no answer to the conversation."""

    def hang_up(self) -> None:
        """Close after all queued speech."""
        self.shutdown(drain=True)

    @property
    def closing(self) -> bool:
        """The session closes or has closed."""
        return self._is_closing()

    async def _aclose_locked(self, **how: Any) -> None:
        self._conductor.outages.closing(closed_by(how["reason"], how["error"]))
        self._life.closing()
        if (turn := self._conductor.close_started()) is not None:
            self.add_transcript(turn)
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
        await self._conductor.aclose()

    async def _teardown_activity(self, **how: Any) -> None:
        limit = self._tearing_down = asyncio.timeout(None)
        try:
            async with limit:
                await super()._teardown_activity(**how)
                await self._end_left_behind()
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

    async def _end_left_behind(self) -> None:
        """Wait for the calls that handoffs stopped waiting for."""
        running = {call for call in self._left_behind if call is not asyncio.current_task()}
        if running:
            await asyncio.wait(running, timeout=self.timers["drain_limit"])
            await aio.cancel_and_wait(*running)

    def agent_left(self) -> None:
        """The active agent was closed. In a close only the session's own toolsets remain."""
        if self._tearing_down is None or isinstance(self.current_agent, AgentTask):
            return
        if self._toolsets_reported is None:
            self._toolsets_reported = asyncio.create_task(self._report_toolsets())
        if (limit := self.timers["cleanup_limit"]) != NEVER:
            self._tearing_down.reschedule(asyncio.get_running_loop().time() + limit)

    async def _report_toolsets(self) -> None:
        """Report while the close waits for the session's own toolsets."""
        turn, wait = self._conductor.turn, LongWait(self._conductor.host.publish_wait)
        since, every = turn.now, self.timers.get("report_after", NEVER)
        try:
            while every != NEVER:
                await asyncio.sleep(every)
                wait.goes_on("close", "application", ("toolsets",), since=since, now=turn.now)
        finally:
            wait.over(turn.now)

    async def _close_the_rest(self) -> None:
        # A tool may await a task that the application has replaced with another agent.
        tasks, self.inline_tasks = self.inline_tasks, WeakKeyDictionary()
        awaited: list[Any] = [task for task in tasks if isinstance(task, AgentTask)]
        awaited = [task for task in awaited if not AgentTask.done(task)]
        for task in awaited:
            AgentTask.cancel(task)
        for task in awaited:  # its tool closes the agent first, without waiting for its own call
            await task._AgentTask__inactive_ev.wait()
        # After a close during a handoff an agent may still be listening.
        for activity in tuple(self.__dict__.pop("_adopted", ())):
            await activity.aclose()
