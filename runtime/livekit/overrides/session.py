"""The overrides of a session. `TurnSession` is the public class."""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

from livekit.agents import Agent, AgentFalseInterruptionEvent, ConversationItemAddedEvent, llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.agent_session import Userdata_T
from livekit.agents.voice.io import AudioOutput, PlaybackFinishedEvent, PlaybackStartedEvent

from turnfsm.fsm.flow import Tuning
from turnfsm.runtime.conversation.ports import Report, Settings, Speech
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.conversation.waits import TurnLimitReached, TurnWaitsLong
from turnfsm.runtime.livekit.tuning import Tuner

from .activity import GovernedActivity, adopt
from .closing import ClosingSession
from .handoff import results_when_copied
from .history import conversation_of
from .output import StepOutput
from .run import GovernedRun
from .speech import GovernedHandle

__all__ = ["GovernedSession"]

RECENT = 64
"""The number of remembered commit times of results; the next agent's copies are not older."""


class GovernedSession(ClosingSession[Userdata_T]):
    """An `AgentSession` whose private methods report to a conductor."""

    tuner: Tuner
    vad_given: bool
    """The application has given a VAD to the session."""
    _adopted: WeakSet[GovernedActivity]
    _commits: deque[tuple[str, float]]
    _listened_to: AudioOutput | None = None
    _handing_over = 0
    _handoffs = 0

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

    def _tool_items_added(self, items: Sequence[llm.FunctionCall | llm.FunctionCallOutput]) -> None:
        super()._tool_items_added(items)
        self.show_to_next(items)
        results = [item for item in items if item.type == "function_call_output"]
        if results:
            commits = self.__dict__.setdefault("_commits", deque(maxlen=RECENT))
            commits.extend((item.call_id, time.time()) for item in results)
            for activity in tuple(self.__dict__.get("_adopted", ())):
                activity.send_results(results)
        self._conductor.tools.committed(
            Result(item.call_id, not (item.output or item.is_error)) for item in results
        )

    def show_to_next(self, items: Sequence[Any]) -> None:
        """Give the active agent the late calls and results of a replaced agent, to deliver them."""
        if (activity := self.activity) is None:
            return
        conversation = conversation_of(activity)
        for item in items:
            call = self._conductor.tools.get(item.call_id.removesuffix("_final"))
            agent = call.agent if call is not None else None
            late = isinstance(agent, GovernedActivity) and agent.left
            if late and conversation.get_by_id(item.id) is None:
                conversation.insert(item)

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
        """Report the playout of this output only."""
        before, self._listened_to = self._listened_to, None if output is None else output.audio
        if before is not None:
            before.off("playback_started", self._playout_started)
            before.off("playback_finished", self._playout_finished)
        if self._listened_to is not None:
            self._listened_to.on("playback_started", self._playout_started)
            self._listened_to.on("playback_finished", self._playout_finished)

    def _playout_started(self, ev: PlaybackStartedEvent) -> None:
        self._conductor.floor.playout_started(ev.created_at)

    def _playout_finished(self, ev: PlaybackFinishedEvent) -> None:
        self._conductor.floor.playout_finished()

    async def session_closed(self) -> None:
        """LiveKit has closed the session: report no more playout."""
        self.listen_to(None)
        await super().session_closed()

    def tune(self, tuning: Tuning) -> None:
        """Apply the tuning of a state."""
        self.tuner.enter(tuning)

    def add_transcript(self, info: Any) -> None:
        """Add a turn that gets no answer to the conversation."""
        message = llm.ChatMessage(
            role="user",
            content=[info.new_transcript],
            transcript_confidence=info.transcript_confidence,
        )
        activity: Any = self._activity
        conversation_of(activity).items.append(message)
        self.history.insert(message)
        self.emit("conversation_item_added", ConversationItemAddedEvent(item=message))

    def interrupt(self, *, force: bool = False) -> asyncio.Future[None]:
        """As `AgentSession.interrupt`. If the agent waits for a yes, nothing is to be stopped: only
        `force=True` ends the call."""
        if force or not self._conductor.commits.continues_to_wait():
            return super().interrupt(force=force)
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def clear_user_turn(self) -> None:
        """As `AgentSession.clear_user_turn`. During the close it does nothing: the turn ends with
        the session, and LiveKit would begin an STT stream that nobody closes."""
        if self.closing:
            return
        activity = self.activity
        with activity.clearing() if activity is not None else contextlib.nullcontext():
            super().clear_user_turn()

    def clear_uncommitted(self, committed: Any = None) -> None:
        """As `clear_user_turn`, but a turn that the application has committed counts, also if its
        transcript is late. Nothing is cleared if the microphone is open by then."""
        if (activity := self.activity) is None:
            return
        if (commit := activity.pending_commit) is not None:
            commit.add_done_callback(self.clear_uncommitted)
        elif committed is None or not self.input.audio_enabled:
            self.clear_user_turn()

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

    def follow_microphone(self) -> None:
        """Report when the user's audio is turned on or off."""
        turn = self.input.set_audio_enabled

        def set_audio_enabled(enable: bool) -> None:
            before = self.input.audio_enabled
            turn(enable)
            if enable != before and not self.tuner.muted:  # otherwise the flow did it
                self._conductor.microphone_turned(on=enable)

        self.input.set_audio_enabled = set_audio_enabled  # type: ignore[method-assign]

    def report(self, report: Report) -> None:
        """Notify the application."""
        if isinstance(report, TurnLimitReached):
            self.emit("turn_limit_reached", report)  # type: ignore[arg-type]
        elif isinstance(report, TurnWaitsLong):
            self.emit("turn_waits_long", report)  # type: ignore[arg-type]
        else:
            self.emit("agent_false_interruption", AgentFalseInterruptionEvent(resumed=True))

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

    def speech_left_floor(self) -> None:
        """A speech has returned the floor."""
        self._life.speech_left_floor()

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

    @property
    def run_is_active(self) -> bool:
        """A run has not ended."""
        return self._global_run_state is not None and not self._global_run_state.done()
