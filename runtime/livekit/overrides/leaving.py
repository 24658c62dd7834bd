"""An agent that is replaced or closed. A handoff and a close wait for its tools and hooks, as in
LiveKit.

These waits are reported. They are bounded only if the session has limits (`drain_limit`,
`cleanup_limit`).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, cast

from livekit.agents import llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm.flow import NEVER
from turnfsm.fsm.journal import AgentEntryFailed
from turnfsm.runtime.conversation.open_calls import RUNNING
from turnfsm.runtime.conversation.waits import LongWait, Waiting

from .realtime import Handler, RealtimeActivity
from .speech import GovernedHandle, govern, running_for

__all__ = ["LeavingActivity"]

logger = logging.getLogger("turnfsm")

UNKNOWN = ""
"""Speech whose message the model has not reported yet."""

_ENTERING = "on_enter"
_HOOKS = {"AgentTask_on_enter": _ENTERING, "AgentTask_on_exit": "on_exit"}
"""The hook of the application that a task runs, by LiveKit's name of the task."""


class LeavingActivity(RealtimeActivity):
    """An agent's activity that can be replaced even if its tools and hooks hang."""

    _hooks_running: dict[asyncio.Task[Any], tuple[str, asyncio.Timeout]]
    _running: list[asyncio.Task[Any]]
    """The tasks that a handoff waits for."""
    _blocked: list[asyncio.Task[Any]]
    """The tasks that wait for a task of this agent, and for which a handoff does not wait."""
    _entering: asyncio.Task[Any] | None = None
    _has_started = False
    left = False
    """The agent was replaced for good, or the session has closed."""

    def _create_speech_task(
        self, coro: Any, *, speech_handle: SpeechHandle | None = None, name: str | None = None
    ) -> asyncio.Task[Any]:
        hook = _HOOKS.get(name or "")
        coro = self._until_limit(coro, hook) if hook is not None else coro
        with running_for(speech_handle):
            task = super()._create_speech_task(coro, speech_handle=speech_handle, name=name)
        self._running.append(task)
        task.add_done_callback(self._running.remove)
        if speech_handle is not None:
            govern(speech_handle, self._conductor).runs(task)
        if hook == _ENTERING:
            self._entering = task
            task.add_done_callback(self._entered)
        return task

    async def _until_limit(self, hook: Coroutine[Any, Any, Any], name: str) -> Any:
        task, hooks = asyncio.current_task(), self.__dict__.setdefault("_hooks_running", {})
        assert task is not None
        try:
            async with asyncio.timeout(None) as limit:
                hooks[task] = name, limit
                return await hook
        except TimeoutError:
            if not limit.expired():
                raise
        finally:
            del hooks[task]

    def _entered(self, entering: asyncio.Task[Any]) -> None:
        if not entering.cancelled() and (error := entering.exception()) is not None:
            failure = AgentEntryFailed(self.agent.label, type(error).__name__, str(error))
            self._conductor.record(failure)

    def generation_created(self, livekit: Handler, ev: llm.GenerationCreatedEvent) -> None:
        """The model begins a reply."""
        # LiveKit does not play a reply that a model begins by itself during a handoff.
        leaving = self._scheduling_paused or self._new_turns_blocked
        if leaving and not (ev.user_initiated or self._conductor.closing):
            self.turn_decided()
            self.answer_later(self._unanswered_utterances())
            self._create_speech_task(self._skip_reply(ev), name="turnfsm.skipped_reply")
        else:
            super().generation_created(livekit, ev)

    @property
    def leaves_audio(self) -> bool:
        """The next agent answers the audio that is committed now."""
        leaving = self._rt_session is not None and self._scheduling_paused
        return leaving and not self._conductor.closing

    def audio_left(self) -> None:
        """Audio was committed for the next agent."""
        self.answer_later(self._unanswered_utterances() or [UNKNOWN])

    async def _skip_reply(self, ev: llm.GenerationCreatedEvent) -> None:
        """The next agent answers. The model's unheard reply is removed from its conversation."""
        self.interrupt_model()
        messages = [message.message_id async for message in ev.message_stream]
        await self._forget([*messages, *[call.id async for call in ev.function_stream]])

    async def drain(self, **how: Any) -> Any:
        following = self.session._next_activity
        if following is not None and self._never_starts(following):
            self._end_handoff()
        self._conductor.agent_phase_changed()  # it leaves now, not after the drain
        async with self._bounded():
            return await super().drain(**how)

    def _end_handoff(self) -> None:
        """The session closes during a handoff, which stops waiting for calls, since no agent
        follows.

        LiveKit's close waits for the handoff, and only then for the user's last transcript.
        """
        self._add_drain_blocked_tasks(self._released_tasks())
        if not self._close_waits.done():
            self._close_waits.set_result(None)

    async def _calls_or_close(self) -> None:
        """Wait for the calls, unless the session closes: then `aclose` waits for them."""
        following = self.session._next_activity
        if following is None or self._never_starts(following):
            return
        drained = asyncio.ensure_future(self._tool_executor.drain())
        try:
            await asyncio.wait({drained, self._close_waits}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            drained.cancel()
            raise
        if drained.done():  # otherwise let it run: cancelling it would cancel the calls
            drained.result()

    def _never_starts(self, following: AgentActivity) -> bool:
        """The session closes before this next agent has started, so it will never start."""
        assert isinstance(following, LeavingActivity)
        return self._conductor.closing and not following._has_started

    @functools.cached_property
    def _close_waits(self) -> asyncio.Future[None]:
        return asyncio.get_running_loop().create_future()

    def _released_tasks(self) -> list[asyncio.Task[Any]]:
        """This agent's tasks that wait for released calls."""
        speeches = {call.speech for call in self._conductor.tools if call.turn_over}
        tasks = [t for s in speeches if isinstance(s, GovernedHandle) for t in s.tasks]
        return [task for task in tasks if not task.done() and task in self._running]

    async def aclose(self) -> None:
        self._conductor.speeches.leaving(self)
        self.left = True
        try:
            async with asyncio.timeout(None) as limit, self._bounded(limit):
                await super().aclose()
        except TimeoutError:
            if not limit.expired():
                raise
            logger.warning(
                "toolsets of %s did not close in time; the agent is closed without them", self.label
            )
            await self._tool_executor.aclose()
            self.agent._activity = None
        finally:
            self._conductor.speeches.left(self)
            self._conductor.tools.left(self)
            self._free_floor()
            cast(Any, self.session).agent_left()

    def _free_floor(self) -> None:
        """Interrupt the speeches that have the floor or wait for it.

        LiveKit has cancelled the task that passes the floor on, so a wait for the free floor
        would never end.
        """
        waiting = [speech for _, _, speech in self._speech_q]
        self._speech_q.clear()
        for speech in (self._current_speech, *waiting):
            if speech is not None and not speech.done():
                speech.interrupt(force=True)
        self._current_speech = None

    @property
    def label(self) -> str:
        """The agent's name."""
        return self.agent.label

    def cancel_hooks(self, *, entering: bool) -> None:
        """Cancel an `on_enter` that has not returned, or the other hooks, unless a speech of the
        agent is not finished."""
        if self._silent:
            self._give_up_hooks(entering=entering)

    @property
    def _silent(self) -> bool:
        """No speech has the floor or waits for it."""
        speech = self._current_speech
        return not self._speech_q and (speech is None or speech.done())

    @contextlib.asynccontextmanager
    async def _bounded(self, limit: asyncio.Timeout | None = None) -> AsyncIterator[None]:
        """Cancel hooks and calls that take too long. `limit` applies to the toolsets, when no call
        runs. They close after LiveKit's wait for the user's last transcript."""

        def soon() -> None:
            self._give_up_hooks(entering=True)
            self._give_up_calls()

        def late() -> None:
            self._give_up_hooks(entering=False)
            if limit is not None and not self._calls_run:
                limit.reschedule(asyncio.get_running_loop().time())

        timers = cast(Any, self.session).timers
        wait = LongWait(self._conductor.host.publish_wait)

        def report(since: float) -> None:
            self._report_wait(wait, since, closes=limit is not None)

        last = self._last_commit
        watched = (
            (timers.get("report_after", NEVER), report, None),
            (timers["drain_limit"], lambda since: soon(), None),
            (timers["cleanup_limit"], lambda since: late(), last),
        )
        watches = [
            asyncio.create_task(self._after_silence(seconds, call, after))
            for seconds, call, after in watched
            if seconds != NEVER
        ]
        try:
            yield
        finally:
            wait.over(self._conductor.turn.now)
            for watch in watches:
                watch.cancel()

    @property
    def _calls_run(self) -> bool:
        calls = self._conductor.tools.find(RUNNING)
        return any(cast(Any, call.agent) is self for call in calls)

    @property
    def _last_commit(self) -> asyncio.Task[Any] | None:
        """The session closes, and LiveKit waits for the user's last transcript."""
        recognition = self._audio_recognition if self._conductor.closing else None
        commit = recognition._commit_user_turn_atask if recognition is not None else None
        return None if commit is None or commit.done() else commit

    def _report_wait(self, wait: LongWait, since: float, *, closes: bool) -> None:
        now = self._conductor.turn.now
        waiting: Waiting = "close" if self._conductor.closing else "handoff"
        if calls := self._conductor.tools.names_of(self._tool_executor._running_tasks):
            wait.goes_on(waiting, "tool_running", tuple(calls), since=since, now=now)
            return
        running = self.__dict__.get("_hooks_running", {})
        spared = (*self._blocked, *self._released_tasks())
        awaited = [task for task in self._running if task not in spared]
        names = [running[t][0] if t in running else t.get_name() for t in awaited]
        awaited_names = ("toolsets",) if closes else tuple(names)
        wait.goes_on(waiting, "application", awaited_names, since=since, now=now)

    async def _after_silence(
        self, seconds: float, call: Callable[[float], None], after: asyncio.Task[Any] | None
    ) -> None:
        """Call a function after each silence of this length, with the start of the silence. The
        silence counts from the end of the task `after`."""
        if after is not None:
            await asyncio.wait({after})
        while True:
            await self._conductor.until(lambda: self._silent)
            silent_since = self._conductor.turn.now
            while self._silent:
                if not await self._conductor.until(lambda: not self._silent, seconds):
                    call(silent_since)

    def _give_up_hooks(self, *, entering: bool) -> None:
        for task, (name, limit) in tuple(self.__dict__.get("_hooks_running", {}).items()):
            if (name == _ENTERING) is entering and task not in self._blocked:
                if not limit.expired():
                    logger.warning(
                        "%s of %s did not end in time; it is cancelled", name, self.label
                    )
                limit.reschedule(asyncio.get_running_loop().time())

    def _give_up_calls(self) -> None:
        self._conductor.tools.leave(self)
        self._add_drain_blocked_tasks(self._released_tasks())
