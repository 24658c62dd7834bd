"""A speech whose interruption is reported at once and ends the waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeGuard

import attrs
from livekit.agents import llm
from livekit.agents.voice.events import RunContext
from livekit.agents.voice.speech_handle import SpeechHandle
from livekit.agents.voice.tool_executor import _RunningTasks

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.ports import Source
from turnfsm.runtime.conversation.tool_calls import Result

__all__ = [
    "UNKNOWN",
    "GovernedHandle",
    "OwnRequest",
    "current_speech",
    "govern",
    "own_id",
    "printed_as",
    "running_for",
    "tool_interrupts",
]


_SPEECH: ContextVar[SpeechHandle | None] = ContextVar("turnfsm_speech", default=None)

UNKNOWN: Any = object()
"""The output of a step that has not begun."""


@attrs.frozen
class OwnRequest:
    """A request that is about to be sent to the model.

    Attributes:
        known: The ids of the items in the conversation when LiveKit copied it.
        waited: It had to wait since then, so it must include newer items.
        instructions: Its own instructions.
    """

    known: frozenset[str]
    waited: bool
    instructions: str | None


class GovernedHandle(SpeechHandle):
    """A speech whose interruption is reported at once and ends the waits for it."""

    _conductor: Conductor
    answers_audio: bool = False
    """It answers messages that a realtime model has heard."""
    instructed: bool = False
    """It follows instructions of the application, and does not answer the user."""
    delivers_only: bool = False
    """It asks a realtime model to deliver results, not to answer the user."""
    output: Any = UNKNOWN
    """The output of its latest step, once that has begun; None if it is text only."""
    known: frozenset[str] = frozenset()
    """The ids of the items in the conversation when LiveKit copied it for its next step."""
    request: OwnRequest | None = None
    """The request for its next step, until it is sent."""
    tasks: tuple[asyncio.Task[Any], ...] = ()
    """The tasks that run for it."""
    turn_context: Any = None
    """The OpenTelemetry context of the agent's turn, once that has begun."""
    failed: bool = False
    """An error ends it; set before it is done."""

    _interruption: asyncio.Future[None] | None = None  # for waits for its interruption
    _over: asyncio.Future[None] | None = None  # for waits for its end
    _source: Source | None = None
    _holds = 0

    def __repr__(self) -> str:
        return printed_as(SpeechHandle, self)

    @property
    def allow_interruptions(self) -> bool:
        """As `SpeechHandle.allow_interruptions`."""
        if not self.interruptible:
            # LiveKit drops a committed turn if an uninterruptible speech has taken the floor.
            self._conductor.commits.floor_denied(self, asyncio.current_task())
        return self.interruptible

    @allow_interruptions.setter
    def allow_interruptions(self, value: bool) -> None:
        before = self.interruptible
        SpeechHandle.allow_interruptions.fset(self, value)  # type: ignore[attr-defined]
        self._interruptions_turned(before)

    def _interruptions_turned(self, before: bool) -> None:
        if (now := self.interruptible) != before:
            self._conductor.speech.interruptions_turned(self, on=now)

    @property
    def interruptible(self) -> bool:
        """As `allow_interruptions`, without asking the conductor."""
        free = self._conductor.tuned.interruptible is not False
        return super().allow_interruptions and free and not self._holds

    def interrupt(self, *, force: bool = False, source: Source = "programmatic") -> SpeechHandle:
        """As `SpeechHandle.interrupt`.

        A tool may always interrupt its own turn, whatever its policy. A newer user turn may always
        replace a reply that has not begun; LiveKit would raise if that is uninterruptible.
        """
        tool_interrupts(self)
        active = not (self.interrupted or self.done())
        self.stop(source, force=force or (source == "user_turn" and self.waits))
        if active and source == "programmatic":
            self._conductor.speech.interrupted_by_code(self, asyncio.current_task())
        return self

    def _cancel(self) -> SpeechHandle:
        first = not self.done() and not self.interrupted
        super()._cancel()
        if first:
            _set(self._interruption)
            self._conductor.speech.interrupted(self, self._source)
        return self

    def _item_added(self, items: Sequence[llm.ChatItem]) -> None:
        for item in items:
            if item.type == "function_call":  # it begins now, and its id is unused
                item.call_id = own_id(self._conductor, item.id, item.call_id)
        outputs = [item for item in items if item.type == "function_call_output"]
        for output in outputs:  # LiveKit gives a cancelled call an empty output
            call = self._conductor.tools.get(output.call_id)
            if call is not None:
                output.output = call.output_of(output.output, output.is_error)
                output.is_error |= call.cancellation is not None
        super()._item_added(items)
        # A handoff has no text; after an interruption LiveKit still has to report its outcome.
        results = [item for item in outputs if item.output or not self.interrupted]
        activity: Any = self._conductor.agent
        if results and activity is not None:
            activity.send_results(results)
        if outputs:
            self._conductor.tools.given(Result(item.call_id, not item.output) for item in outputs)
        if replies := [item for item in items if _is_heard_reply(item)]:
            whole = not (self.failed or any(item.interrupted for item in replies))
            self._conductor.requests.reply_heard(self.id, whole=whole)

    def _mark_done(self, error: BaseException | None = None) -> None:
        self.failed |= error is not None and not self.done()
        super()._mark_done(error)
        _set(self._over)
        self.known, self.turn_context = GovernedHandle.known, None  # LiveKit keeps the speech
        self._conductor.speech.finished(self, failed=self.failed)

    async def unless_interrupted(self, wait: Coroutine[Any, Any, None]) -> None:
        """Wait for this until the speech is interrupted."""
        task = asyncio.ensure_future(wait)
        self._interruption = self._interruption or _future(self.interrupted)
        try:
            await asyncio.wait({task, self._interruption}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()

    async def wait_for_playout(self) -> None:
        # If the user interrupts a tool's turn, the tool's queued speech is dropped too. The tool
        # itself continues, as in LiveKit.
        call = None
        if (context := _running_tool()) is not None:
            call = self._conductor.tools.get(context.function_call.call_id)
        owner = call.speech if call is not None and call.state != "reported" else None
        if isinstance(owner, GovernedHandle) and owner is not self:
            try:
                self._over = self._over or _future(self.done())
                owner._interruption = owner._interruption or _future(owner.interrupted)
                over = {self._over, owner._interruption}
                await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
            finally:  # also if the tool is cancelled with its turn
                by_user = owner.interrupted and owner._source not in (None, "programmatic")
                if by_user and not self.done() and self.interruptible:
                    self.interrupt()
        await super().wait_for_playout()

    def runs(self, task: asyncio.Task[Any]) -> None:
        """Add a task of this speech."""
        self.tasks += (task,)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks = tuple(other for other in self.tasks if other is not task)

    @property
    def held_by_tools(self) -> bool:
        """The application allows interruptions, but tool calls prevent them."""
        return self._holds > 0 and super().allow_interruptions

    def stop(self, source: Source, *, force: bool = False, model: bool = False) -> None:
        """Interrupt it, and before it a realtime model's response."""
        floor: Any = self._conductor.floor
        if model and floor.holds(self):
            floor.step.agent.interrupt_model()
        if not (self.interrupted or self.done()):
            if not (force or self.interruptible):
                raise RuntimeError("This generation handle does not allow interruptions")
            self._source = source
        super().interrupt(force=force, source=source)

    def hold(self, on: bool) -> None:
        """Disallow interruptions until every hold is released."""
        before = self.interruptible
        self._holds += 1 if on else -1
        self._interruptions_turned(before)

    async def _wait_for_authorization(self) -> None:
        # Once LiveKit's task has the floor, it cannot wait for the floor again.
        await super()._wait_for_authorization()
        speeches = self._conductor.speeches
        while speeches.of(self).silent or speeches.of(self).yielded:  # a filler may go first
            await self._conductor.until(lambda: not speeches.of(self).silent)
            if speeches.of(self).yielded:
                self._clear_authorization()  # it does not have the floor
            await super()._wait_for_authorization()

    def end(self, *, step: bool = False) -> None:
        """Stop waiting for the rest of the speech, or only for the current generation. Its tasks
        keep running. A speech that was not interrupted waits for the floor again."""
        if not step:
            self._mark_done()
            return
        floor: Any = self._conductor.floor
        if not self.interrupted:  # the model has produced nothing yet
            self._release_floor()  # at once, unless LiveKit is about to begin the step
            return
        output = floor.step.output if floor.step is not None else None
        if output is not None:
            output.end_playout(floor.heard_for)
        self._mark_generation_done()

    def _authorize_generation(self) -> None:
        super()._authorize_generation()
        if self._conductor.speeches.of(self).yielded:  # a filler was due when it got the floor
            self._clear_authorization()
            asyncio.get_running_loop().call_soon(self._release_floor)  # LiveKit waits for it now

    def _release_floor(self) -> None:
        step: Any = self._conductor.floor.step_of(self)
        if step is not None and self.in_step and not self.interrupted:
            self._clear_authorization()
            self._generations.pop().set_result(None)
            step.agent.wait_again(self)

    @property
    def in_step(self) -> bool:
        """It holds the floor."""
        return not all(step.done() for step in self._generations)

    @property
    def held(self) -> bool:
        """It holds the floor, and waits for the user to be quiet before it starts to play."""
        conductor = self._conductor
        return conductor.floor.holds(self) and conductor.turn.holds("output_held")

    @property
    def waits(self) -> bool:
        """It has not held the floor, and may still hold it."""
        return not (self._generations or self.interrupted or self.done())

    @property
    def steps_over(self) -> bool:
        """It has held the floor, and has returned it."""
        return bool(self._generations) and not self.in_step

    @property
    def finished(self) -> bool:
        """Its tasks have ended."""
        return all(task.done() for task in self.tasks)


def _is_heard_reply(item: llm.ChatItem) -> TypeGuard[llm.ChatMessage]:
    return item.type == "message" and item.role == "assistant" and bool(item.text_content)


def printed_as(original: type, value: object) -> str:
    """The repr of an overriding object, with the name of LiveKit's class."""
    return f"<{original.__module__}.{original.__qualname__} object at {id(value):#x}>"


def _future(done: bool) -> asyncio.Future[None]:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if done:
        future.set_result(None)
    return future


def _set(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)


def govern(handle: SpeechHandle, conductor: Conductor) -> GovernedHandle:
    """Turn a speech that LiveKit has built into a governed one."""
    if isinstance(handle, GovernedHandle):
        return handle
    handle.__class__ = GovernedHandle
    assert isinstance(handle, GovernedHandle)
    handle._conductor = conductor
    return handle


def own_id(conductor: Conductor, item: str, given: str) -> str:
    """The id of a call: the model's id, unless it is taken."""
    activity: Any = conductor.agent
    others = activity.other_calls(item) if activity is not None else ()
    return conductor.requests.own_id(item, given, others)


def _running_tool() -> RunContext[Any] | None:
    """The context of the tool call that the current task runs."""
    task = asyncio.current_task()
    calls = (call for calls in _RunningTasks.values() for call in calls.values())
    return next((call.ctx for call in calls if call.exe_task is task), None)


def tool_interrupts(only: SpeechHandle | None = None) -> None:
    """If the current task runs a tool, let it interrupt its own turn.

    Args:
        only: The speech that is interrupted; None means every speech.
    """
    if (context := _running_tool()) is None:
        return
    speech = context.speech_handle
    if only is not None and only is not speech:
        return
    if isinstance(speech, GovernedHandle) and not (speech.interrupted or speech.done()):
        speech._conductor.tools.interrupts(context.function_call.call_id)


def current_speech() -> SpeechHandle | None:
    """The speech for which the current task runs."""
    return _SPEECH.get()


@contextmanager
def running_for(speech: SpeechHandle | None) -> Iterator[None]:
    """Tasks created here run for this speech, or for that of the current task."""
    token = _SPEECH.set(speech or _SPEECH.get())
    try:
        yield
    finally:
        _SPEECH.reset(token)
