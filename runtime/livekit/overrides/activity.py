"""An agent's activity that asks before it acts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextvars import ContextVar
from typing import Any, cast

from livekit.agents import AgentTask, llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.events import RunContext
from livekit.agents.voice.io import AudioOutput, PlaybackFinishedEvent, PlaybackStartedEvent
from livekit.agents.voice.speech_handle import SpeechHandle
from livekit.agents.voice.turn import PreemptiveGenerationOptions

from turnfsm.runtime.conversation.conductor import Conductor

from .conversation import results_in
from .hearing import HearingActivity
from .progress import count_audio, count_tokens
from .realtime import let_tools_end
from .speech import GovernedHandle, govern, items_of_call
from .tools import GovernedExecutor

__all__ = ["GovernedActivity", "activity_of", "adopt"]


TOOL_ITEMS = ("function_call", "function_call_output")


_CUT_INTO: ContextVar[str] = ContextVar("cut_into", default="")
"""What the user had said when the agent cut in, in the task that does."""


class _GatesPassed(Exception):
    """LiveKit's gates before a barge-in let it through; the machine decides from here."""


class _CommitRefused(Exception):
    """The machine does not take the committed turn now."""


class GovernedActivity(HearingActivity):
    """An agent's activity that asks before it acts."""

    _conductor: Conductor
    _probing = False
    _deciding: Any = None
    _replies: list[tuple[GovernedHandle, frozenset[str]]]
    _cut_in: tuple[SpeechHandle, str] | None = None

    # -- the floor

    @property
    def _current_speech(self) -> SpeechHandle | None:
        return self.__dict__.get("_current_speech")

    @_current_speech.setter
    def _current_speech(self, handle: SpeechHandle | None) -> None:
        previous = self.__dict__.get("_current_speech")
        self.__dict__["_current_speech"] = handle
        if previous is not None and previous is not handle:
            self._conductor.floor_returned(govern(previous, self._conductor))
        if handle is not None:
            self._conductor.floor_taken(self, govern(handle, self._conductor))

    def _schedule_speech(self, speech: SpeechHandle, priority: int, force: bool = False) -> None:
        super()._schedule_speech(speech, priority, force)
        self._conductor.speech_scheduled(asyncio.current_task(), govern(speech, self._conductor))

    def _pipeline_reply_task(self, **request: Any) -> Coroutine[Any, Any, None]:
        # LiveKit has copied the conversation: now, or before the agent's hook.
        turn = self._conductor.turns.answered_by(asyncio.current_task())
        known = turn.items if turn is not None else self._item_ids
        said, asked = _CUT_INTO.get(), request.get("new_message")
        if said and asked is not None and asked.text_content == said:
            self._cut_in = request["speech_handle"], said
        return self._complete_and_request(known, super()._pipeline_reply_task, request)

    async def _complete_and_request(
        self,
        known: frozenset[str],
        ask: Callable[..., Coroutine[Any, Any, None]],
        request: dict[str, Any],
    ) -> None:
        handle: SpeechHandle = request["speech_handle"]
        if self._conductor.tools.any_runs:
            await let_tools_end()
        asked: llm.ChatMessage | None = request.get("new_message")
        waited = asked is not None and await self._wait_for_calls_of_replies(handle)
        waited |= await self._conductor.may_request(govern(handle, self._conductor))
        if handle.interrupted and not handle.scheduled:
            return  # nobody will hear it; LiveKit would ask the LLM first and look then
        news = [
            item
            for item in self._agent._chat_ctx.items
            if item.id not in known and (waited or item.type in TOOL_ITEMS)
        ]
        # LiveKit commits the calls of a step together, when the step has been heard and the slowest
        # has ended: a request before that gets what is there.
        calls = self._conductor.tools.uncommitted()
        news += [item for call in calls for item in items_of_call(call.speech, call.id)]
        context = request["chat_ctx"]
        if news := [item for item in news if context.get_by_id(item.id) is None]:
            request["chat_ctx"] = context = context.copy()
            context.insert(news)
        if hidden := {id for reply, ids in self._open_replies if reply is not handle for id in ids}:
            request["chat_ctx"] = context = context.copy()
            context.items[:] = [item for item in context.items if item.id not in hidden]
        if asked is not None:
            if waited or news or self._conductor.tools.any_runs:
                # It comes last: a model answers a result that stands behind it.
                asked.created_at = time.time()
            answered = frozenset({asked.id, *_unanswered(context)})
            self._replies.append((govern(handle, self._conductor), answered))
        besides = self._conductor.to_tell(govern(handle, self._conductor), results_in(context))
        if besides is not None and not request.get("instructions"):
            request["chat_ctx"] = context = context.copy()
            at = {} if asked is None else {"created_at": asked.created_at}  # what is asked is last
            context.add_message(role="system", content=besides, **at)
        if handle.scheduled:
            self._conductor.tools.shown(calls)
        self._conductor.request_made(handle.id, results_in(context))
        if self._conductor.keeping is not None:
            await self._conductor.keeping.before_reply()
        await ask(**request)

    # A reply to the user whose calls are not known yet: another request that saw the same words
    # would make the calls a second time. The next reply to the user is spoken after those that are
    # scheduled when it is asked for, and waits for them; any other may have to be spoken before,
    # and does not see the words.

    @property
    def _open_replies(self) -> list[tuple[GovernedHandle, frozenset[str]]]:
        self._replies = [reply for reply in self._replies if reply[0].calls_unknown]
        return self._replies

    async def _wait_for_calls_of_replies(self, handle: SpeechHandle) -> bool:
        before = [reply for reply, _ in self._open_replies if reply.scheduled]
        await self._conductor.until(
            lambda: handle.interrupted or not any(reply.calls_unknown for reply in before)
        )
        if before:
            await asyncio.sleep(0.001)  # what is asked now is later than those calls
        return bool(before)

    # -- speculation

    def on_preemptive_generation(self, info: Any) -> None:
        if self._conductor.may_speculate():
            super().on_preemptive_generation(info)
        else:
            self._cancel_preemptive_generation()

    @property
    def preemptive_generation_opts(self) -> PreemptiveGenerationOptions:
        """The agent's, as far as the held state does not replace them."""
        options = super().preemptive_generation_opts
        return cast(PreemptiveGenerationOptions, {**options, **self._conductor.speculation()})

    # -- barge-in: LiveKit's gates first (echo warm-up, min_words, server-side turn detection);
    # it asks whether the output can pause once they have let the interruption through

    def _interrupt_by_audio_activity(self) -> None:
        self._probing = True
        try:
            super()._interrupt_by_audio_activity()
        except _GatesPassed:
            self._conductor.barge_in()
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
        self._conductor.start_playout(govern(speech_handle, self._conductor))

    # -- the end of a turn: LiveKit's gates first (too few words, a backchannel); it cancels the
    # timer of a false interruption once they have let the commit through

    def on_end_of_turn(self, info: Any) -> bool:
        if info.skip_reply:
            return super().on_end_of_turn(info)
        if (self._scheduling_paused or self._new_turns_blocked) and self._conductor.cannot_take(
            self.label, info
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
        self.turn_decided()
        task = self._user_turn_completed_atask
        if task is not None and task is not before:
            self._conductor.turn_begun(task, self._item_ids)
        return committed

    # LiveKit drops a committed turn where it finds, before the agent's hook or after it, that a
    # handoff has begun.

    @property
    def _scheduling_paused(self) -> bool:
        return self._turn_sees("_scheduling_paused")

    @_scheduling_paused.setter
    def _scheduling_paused(self, paused: bool) -> None:
        self.__dict__["_scheduling_paused"] = paused

    @property
    def _new_turns_blocked(self) -> bool:
        return self._turn_sees("_new_turns_blocked")

    @_new_turns_blocked.setter
    def _new_turns_blocked(self, blocked: bool) -> None:
        self.__dict__["_new_turns_blocked"] = blocked

    def _turn_sees(self, name: str) -> bool:
        handoff: bool = self.__dict__[name]
        if handoff:
            self._conductor.handoff_seen(asyncio.current_task())
        return handoff

    def _cancel_false_interruption_timer(self) -> None:
        super()._cancel_false_interruption_timer()
        info, self._deciding = self._deciding, None
        if info is None:
            return
        if not self._take_out_what_the_agent_cut_into(info):
            raise _CommitRefused
        if not self._conductor.may_commit(self.label, info):
            raise _CommitRefused

    # The agent cuts in (`user_turn_limit`) with a reply to what the user has said so far; the turn
    # that is committed afterwards begins with these words.

    def on_user_turn_exceeded(self, ev: Any) -> None:
        token = _CUT_INTO.set(ev.transcript)
        try:
            super().on_user_turn_exceeded(ev)
        finally:
            _CUT_INTO.reset(token)

    def _take_out_what_the_agent_cut_into(self, info: Any) -> bool:
        """Whether anything is left that is not answered yet."""
        (handle, said), self._cut_in = self._cut_in or (None, ""), None
        if handle is None or handle.done() or not info.new_transcript.startswith(said):
            return True
        info.new_transcript = info.new_transcript.removeprefix(said).strip()
        return bool(info.new_transcript)

    @property
    def accepts_turns(self) -> bool:
        """No handoff is in progress."""
        return not (self._scheduling_paused or self._new_turns_blocked or self._closed)

    def take_turn(self, info: Any) -> None:
        """Commit a turn that was kept."""
        self.complete_conversation()
        self.on_end_of_turn(info)

    # -- the output

    @property
    def _audio_output(self) -> AudioOutput | None:
        output = self._session.output
        return output.audio if output.audio_enabled else None

    @property
    def audible(self) -> bool:
        """Audio is enabled."""
        return self._audio_output is not None

    def listen(
        self,
        started: Callable[[float], None],
        finished: Callable[[], None],
        given: Callable[[float], None],
    ) -> Callable[[], None]:
        """Call when playout starts and when it finishes, and with the seconds of each frame that
        the output is given; returns a function that ends it."""
        output = self._audio_output
        if output is None:
            return _nothing

        def on_started(ev: PlaybackStartedEvent) -> None:
            started(ev.created_at)

        def on_finished(_: PlaybackFinishedEvent) -> None:
            finished()

        stop_counting = count_audio(output, given)

        def stop() -> None:
            stop_counting()
            output.off("playback_started", on_started)
            output.off("playback_finished", on_finished)

        output.on("playback_started", on_started)
        output.on("playback_finished", on_finished)
        return stop

    def pause_audio(self, *, heard: bool) -> None:
        """Pause; the STT is told that what was heard is no longer."""
        if (output := self._audio_output) is not None:
            output.pause()
        if heard:
            self._on_end_of_agent_speech(ended_at=time.time())
            if self.interruption_enabled:
                self.interruption_by_audio_activity_enabled = True

    def resume_audio(self, *, heard: bool) -> None:
        """Go on; the STT is told that the agent is heard again."""
        if heard:
            if self._audio_recognition is not None:
                self._audio_recognition._on_start_of_agent_speech(started_at=time.time())
            if self.interruption_enabled:
                self._disable_vad_interruption_soon()
        if (output := self._audio_output) is not None:
            output.resume()

    def end_playout(self, played: float) -> None:
        """Report, in the place of an output that does not, that it plays no more.

        Args:
            played: Seconds that may have been heard.
        """
        sink = self._audio_output
        while sink is not None and sink.next_in_chain is not None:
            sink = sink.next_in_chain
        while sink is not None and sink._pending_playback_count:
            sink.on_playback_finished(playback_position=played, interrupted=True)

    def drop_audio(self) -> None:
        """What the output has taken and not played is not to be heard any more."""
        sink = self._audio_output
        if sink is not None and sink._pending_playback_count:
            sink.flush()  # a sink reports the end of a segment that is whole
            sink.clear_buffer()

    def other_calls(self, item: str) -> frozenset[str]:
        """The ids of the calls of the conversation, save that of this item."""
        return frozenset(
            other.call_id
            for items in (self._agent._chat_ctx.items, self._session.history.items)
            for other in items
            if other.type in ("function_call", "function_call_output") and other.id != item
        )

    @property
    def shown_results(self) -> frozenset[str]:
        """The ids of the results that stand in the agent's conversation."""
        return results_in(self._agent._chat_ctx)

    # -- tool calls

    def tool(self, name: str) -> Any:
        """The agent's tool of this name, wherever it comes from; None if there is none."""
        return llm.ToolContext(self.tools).function_tools.get(name)

    # -- handoffs do not wait for speeches that the turn has let go of

    async def _pause_scheduling_task(
        self, *, blocked_tasks: list[asyncio.Task[Any]] | None = None
    ) -> None:
        detached = [
            task for task in self._conductor.tools.detached_tasks() if task in self._speech_tasks
        ]
        await super()._pause_scheduling_task(blocked_tasks=[*(blocked_tasks or ()), *detached])

    @contextlib.asynccontextmanager
    async def _inline_task_slot(self, **slot: Any) -> AsyncIterator[None]:
        try:
            async with super()._inline_task_slot(**slot):
                yield
        finally:
            self._conductor.chain_moved()

    @property
    def at_rest(self) -> bool:
        """This agent is in charge, has entered, and no handoff or task of it is under way."""
        entered = self._on_enter_task is None or self._on_enter_task.done()
        over = isinstance(self._agent, AgentTask) and self._agent.done()
        return self.accepts_turns and entered and not over and not self.in_task

    @property
    def in_task(self) -> bool:
        """A task of this agent is under way."""
        return self._inline_task_lock.locked()

    def when_entered(self, call: Callable[[], object]) -> None:
        """Call once the agent's `on_enter` has returned."""
        if self._on_enter_task is not None and not self._on_enter_task.done():
            self._on_enter_task.add_done_callback(lambda _: call())


def _nothing() -> None:
    """End nothing."""


def _unanswered(context: llm.ChatContext) -> Iterator[str]:
    """What the user has said since the assistant last did something."""
    for item in reversed(context.items):
        if item.type in TOOL_ITEMS or (item.type == "message" and item.role == "assistant"):
            return
        if item.type == "message" and item.role == "user":
            yield item.id


def activity_of(context: RunContext[Any]) -> GovernedActivity | None:
    """The activity whose turn a tool call belongs to."""
    activity = context._activity
    return activity if isinstance(activity, GovernedActivity) else None


def adopt(activity: AgentActivity, conductor: Conductor) -> None:
    """Make an activity that LiveKit has built a governed one.

    By assignment of the class: the constructor's arguments stay LiveKit's business.
    """
    activity.__class__ = GovernedActivity
    assert isinstance(activity, GovernedActivity)
    activity._conductor, activity._replies = conductor, []
    count_tokens(activity._agent, conductor.tokens_came)
    executor = activity._tool_executor
    executor.__class__ = GovernedExecutor
    executor._conductor = conductor  # type: ignore[attr-defined]
