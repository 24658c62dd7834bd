"""An agent's activity that asks the flow before it acts."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from livekit.agents import Agent, AgentTask
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.speech_handle import SpeechHandle
from livekit.agents.voice.turn import PreemptiveGenerationOptions

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.ports import Phase

from .generating import let_tools_end
from .hearing import MOST_FRAMES
from .overlap import VERDICTS
from .requests import RequestingActivity
from .speech import UNKNOWN, govern
from .tools import GovernedExecutor
from .watched import Watched

__all__ = ["GovernedActivity", "adopt"]


class _GatesPassed(Exception):
    """LiveKit's own checks of a barge-in have passed, so the flow decides. LiveKit has no hook
    between them and the interruption of a realtime model."""


class GovernedActivity(RequestingActivity):
    """An agent's activity that asks the flow before it acts."""

    _conductor: Conductor
    _probing = False
    _ending: Any = None
    """The turn that LiveKit ends, until the task that answers it exists."""
    _answer_task: asyncio.Task[Any] | None = None
    """The task that answers the latest turn."""
    _refused = False
    """The flow does not take that turn now."""

    # -- the floor

    def _gives_floor(self, handle: SpeechHandle | None) -> None:
        previous = self.__dict__.get("_current_speech")
        self.__dict__["_current_speech"] = handle
        if previous is not None and previous is not handle:
            self._conductor.speech.floor_released(govern(previous, self._conductor))
            cast(Any, self.session).speech_left_floor()
        if handle is not None:
            governed = govern(handle, self._conductor)
            output = self.output if governed.output is UNKNOWN else governed.output
            cast(Any, self.session).listen_to(output)
            self._conductor.speech.floor_taken(self, governed, output)

    _current_speech: Any = Watched(_gives_floor)

    def _schedule_speech(self, speech: SpeechHandle, priority: int, force: bool = False) -> None:
        governed = govern(speech, self._conductor)
        if governed.interrupted and governed.steps_over:
            return  # LiveKit's late reply to a result whose turn is over
        if force and self.left:
            speech.interrupt(force=True)  # the agent was replaced during the call
            return
        super()._schedule_speech(speech, priority, force)
        self._conductor.speech.scheduled(asyncio.current_task(), governed, self)
        if governed.done():
            self._conductor.speech.finished(governed, failed=governed.failed)

    def wait_again(self, speech: SpeechHandle) -> None:
        """The speech that holds the floor releases it, and waits behind the queued ones."""
        priority = SpeechHandle.SPEECH_PRIORITY_NORMAL
        AgentActivity._schedule_speech(self, speech, priority, force=True)
        self._current_speech = None

    # -- speculation

    def on_preemptive_generation(self, info: Any) -> None:
        if self._conductor.commits.may_speculate(partial(self._speculate_again, info)):
            text = self._conductor.turns.with_deferred(info.new_transcript)
            super().on_preemptive_generation(replace(info, new_transcript=text))
        elif not self._conductor.turns.reply_due:  # otherwise it answers a committed turn
            self._cancel_preemptive_generation()

    def _speculate_again(self, info: Any) -> None:
        self._create_speech_task(self._speculate_later(info), name="turnfsm.speculate")

    async def _speculate_later(self, info: Any) -> None:
        await let_tools_end()  # the request gets their results
        if info.new_transcript == self.uncommitted_transcript:
            self.on_preemptive_generation(info)

    @property
    def preemptive_generation_opts(self) -> PreemptiveGenerationOptions:
        """The agent's options, unless the current state replaces them."""
        options = super().preemptive_generation_opts
        tuned = cast(Any, self.session).tuner.speculation
        return cast(PreemptiveGenerationOptions, {**options, **tuned})

    # -- barge-in: LiveKit's gates come first (echo warm-up, min_words, server-side turn
    # detection); if they pass, LiveKit asks whether the output can pause

    def _interrupt_by_audio_activity(self) -> None:
        self._probing = True
        try:
            super()._interrupt_by_audio_activity()
        except _GatesPassed:
            self._conductor.user.barge_in()
        finally:
            self._probing = False

    def _pause_enabled(self) -> bool:
        if self._probing:
            raise _GatesPassed
        return False  # the flow decides on a pause; LiveKit never pauses by itself

    # -- the end of a turn: LiveKit's gates come first (too few words, a backchannel); if they
    # pass, LiveKit creates the task that answers the turn

    def on_end_of_turn(self, info: Any) -> bool:
        if info.skip_reply:
            self._conductor.commits.left_unanswered()
            return self._end_turn(info)
        empty = self._empty_transcript(info)
        hands_over = self._scheduling_paused or self._new_turns_blocked
        if hands_over and not self._conductor.closing:
            if not empty:
                if self._transcribed:
                    self.turn_decided()
                self._conductor.commits.defer_to_next_agent(info, self._transcribed)
            self._cancel_preemptive_generation()
            return True
        deferred = self._conductor.turns.is_deferred(info)
        before, committed = self._answer_task, self._end_turn(info)
        if self._refused:
            if not empty:  # otherwise it answers another message
                self._cancel_preemptive_generation()
                if not deferred and self._transcribed:
                    self.turn_decided()
            return True
        if not (committed or deferred or self.stt is None):
            committed = self._conductor.commits.defers_short_turn(info)
        if not deferred:  # otherwise a transcript of later speech may still arrive
            self.turn_decided()
        if (task := self._answer_task) is not None and task is not before:
            self._conductor.turns.answer_started(task, self._item_ids)
            task.add_done_callback(self._conductor.turns.answer_ended)
        return committed

    def _end_turn(self, info: Any) -> bool:
        self._ending, self._refused = info, False
        try:
            return super().on_end_of_turn(info)
        finally:
            self._ending = None

    # LiveKit drops a committed turn if a handoff has begun before or after the agent's hook. When
    # the session closes, it checks only after the agent has stopped speaking.

    @property
    def _scheduling_paused(self) -> bool:
        return self._sees_handoff("_scheduling_paused")

    @_scheduling_paused.setter
    def _scheduling_paused(self, paused: bool) -> None:
        self.__dict__["_scheduling_paused"] = paused

    @property
    def _new_turns_blocked(self) -> bool:
        return self._sees_handoff("_new_turns_blocked") or self._conductor.closing

    @_new_turns_blocked.setter
    def _new_turns_blocked(self, blocked: bool) -> None:
        self.__dict__["_new_turns_blocked"] = blocked

    def _sees_handoff(self, name: str) -> bool:
        handoff: bool = self.__dict__[name]
        if handoff:
            self._conductor.commits.handoff_seen(asyncio.current_task())
        return handoff

    def _create_speech_task(self, coro: Any, **how: Any) -> asyncio.Task[Any]:
        if self._ending is None or how.get("speech_handle") is not None:
            return super()._create_speech_task(coro, **how)
        info, self._ending = self._ending, None
        if not (info.skip_reply or self._may_answer(info)):
            coro.close()
            info.user_turn_span_adopted = False  # no task ends the span
            self._refused = True
            return cast(asyncio.Task[Any], self._answer_task)  # LiveKit's attribute stays
        hook = self._until_limit(coro, "on_user_turn_completed")
        self._answer_task = super()._create_speech_task(hook, **how)
        return self._answer_task

    def _may_answer(self, info: Any) -> bool:
        if self._rt_turn_detection_enabled:
            return True  # the model answers by itself
        if not self._remove_answered_text(info):
            return False
        empty = self._empty_transcript(info)
        may = self._conductor.commits.may_commit(info, empty_transcript=empty)
        if not may and self._conductor.commits.was_yes(info):
            cast(Any, self.session).add_transcript(info)
        return may

    def _empty_transcript(self, info: Any) -> bool:
        # Without an STT the agent's own nodes may hear the audio.
        recognises = self.stt is not None and not self.commits_audio
        return recognises and not info.new_transcript

    @property
    def _transcribed(self) -> bool:
        # A realtime model gets the last speech with the turn, and its transcript later.
        return self._conductor.utterance.ask("turn_transcribed") or self.commits_audio

    @property
    def accepts_turns(self) -> bool:
        """No handoff is in progress."""
        return not (self._scheduling_paused or self._new_turns_blocked or self.left)

    @property
    def phase(self) -> Phase:
        """The agent's phase."""
        if not self.accepts_turns:
            return "leaving"
        if self.may_greet:
            return "entering"
        return "greeting" if self.greets else "present"

    def take_turn(self, info: Any) -> None:
        """Commit a deferred turn."""
        self.on_end_of_turn(info)

    # -- handoffs do not wait for speeches whose calls were released

    async def _pause_scheduling_task(
        self, *, blocked_tasks: list[asyncio.Task[Any]] | None = None
    ) -> None:
        spared = [*(blocked_tasks or ()), *self._released_tasks()]
        await super()._pause_scheduling_task(blocked_tasks=spared)
        if blocked_tasks is None and self.__dict__["_new_turns_blocked"]:
            # The agent is being replaced. Once the next agent has the STT or the realtime session,
            # this one need not wait for a transcript.
            await self._calls_or_close()

    @contextlib.asynccontextmanager
    async def _inline_task_slot(self, **slot: Any) -> AsyncIterator[None]:
        blocked, speech = slot["blocked_tasks"], slot["speech_handle"]
        if self._entering in blocked:
            # The context belongs to the speech whose tool handed over to this agent. That speech
            # is over, and its interruption must not end this agent's work.
            speech = None
        if speech is not None and speech.interrupted:
            raise RuntimeError("the speech that awaited the inline task is interrupted")
        # Not LiveKit's own hold: the user is heard, as with the policy hold.
        slot["speech_handle"] = None
        self._blocked += blocked
        if speech is not None:
            speech.hold(True)
        try:
            async with super()._inline_task_slot(**slot):
                yield
        finally:
            if speech is not None:
                speech.hold(False)
            self._blocked = [task for task in self._blocked if task not in blocked]
            self._end_active_task()
            cast(Any, self.session).agent_phase_changed()

    def _end_active_task(self) -> None:
        # LiveKit's close waits until the active task has handed back, which never happens if its
        # tool was cancelled.
        active = self.session._activity
        task = active.agent if active is not None else None
        if isinstance(task, AgentTask) and self._returns_to(task) is self.agent:
            task._AgentTask__inactive_ev.set()  # type: ignore[attr-defined]

    def _returns_to(self, task: AgentTask[Any]) -> Agent | None:
        tasks: Mapping[Any, Agent] = cast(Any, self.session).inline_tasks
        return tasks.get(task)

    @property
    def settled(self) -> bool:
        """This agent is active, its `on_enter` has returned, and no handoff is running."""
        task = self.agent if isinstance(self.agent, AgentTask) else None
        over = task is not None and AgentTask.done(task) and self._returns_to(task) is not None
        # After the session's `drain` its speeches are paused for good.
        return not (self.entering or self.leaving or over)

    @property
    def leaving(self) -> bool:
        """Another agent replaces it or has replaced it, or the session closes."""
        return self.__dict__["_new_turns_blocked"] or self.left

    @property
    def entering(self) -> bool:
        """The agent's `on_enter` has not returned."""
        return self._entering is not None and not self._entering.done()

    def when_entered(self, call: Callable[[], object]) -> None:
        """Call a function once the agent's `on_enter` has returned."""
        if self.entering and self._entering is not None:
            self._entering.add_done_callback(lambda _: call())


def adopt(activity: AgentActivity, conductor: Conductor) -> None:
    """Turn an activity that LiveKit has built into a governed one.

    Only its class is replaced, so LiveKit's constructor is used.
    """
    activity.__class__ = GovernedActivity
    assert isinstance(activity, GovernedActivity)
    activity._conductor, activity._messages, activity._followed = conductor, [], set()
    activity._running, activity._blocked = [], []
    activity.untranscribed_audio = deque(maxlen=MOST_FRAMES)
    if not conductor.turn.flow.triggers.keys().isdisjoint(VERDICTS):
        activity.take_detector()
    executor = activity._tool_executor
    executor.__class__ = GovernedExecutor
    assert isinstance(executor, GovernedExecutor)
    executor._conductor, executor.activity = conductor, activity
