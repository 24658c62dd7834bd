"""The tool calls of a host, from the model's call to the result in the conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.ports import Agent
from turnfsm.runtime.conversation.tool_call import CANCELLED, End
from turnfsm.runtime.conversation.tool_calls import Result

from .errors import SpeechInterrupted
from .reply import Reply
from .tasks import Tasks

__all__ = ["FINAL", "CallHost", "Calls", "OpenCall"]

FINAL = "_final"
"""The suffix of a call's id for a result that comes separately from its step."""

NOT_RUN_AGAIN = "{result}\nThis is the result of the identical call {call}. It did not run again."
TOO_LONG = "cancelled: the call has run for longer than {seconds:g} s"


@attrs.define(eq=False)
class OpenCall:
    """A tool call of the model whose result is not in the conversation yet.

    Attributes:
        name: The tool's name.
        arguments: As JSON.
        tool: The function that may be marked with a policy.
        of: The host's own data about it.
        result: The tool's result, or the text that replaces it.
        ended: It has a result, has failed, or was cancelled.
        deliver: The result must be delivered to the user.
        late: The model was told that the call is still running; its result comes separately.
    """

    id: str
    reply: Reply
    name: str
    arguments: str
    tool: object = None
    of: Any = None
    result: Any = None
    ended: bool = False
    deliver: bool = False
    late: bool = False
    task: asyncio.Future[None] | None = None

    @property
    def result_id(self) -> str:
        """The id of its result in the conversation."""
        return self.id + FINAL if self.late else self.id


class CallHost(Agent, Protocol):
    """What calls need from their host."""

    conductor: Conductor
    tasks: Tasks

    async def add_result(self, call: OpenCall) -> None:
        """Add the result of a call to the conversation; `Calls.result_added` follows."""

    def continue_reply(self, reply: Reply) -> None:
        """A reply awaits no more results."""


class Calls:
    """The tool calls of a conversation.

    Args:
        host: Makes the calls.

    Attributes:
        open: The calls whose results are not in the conversation, by id.
        unknown: The remedy if the flow does not know a call.
    """

    unknown = "call this while it runs"

    def __init__(self, host: CallHost) -> None:
        self.host = host
        self.open: dict[str, OpenCall] = {}
        self._added: set[str] = set()

    def add(
        self, id: str, name: str, arguments: str, reply: Reply, tool: object = None
    ) -> OpenCall:
        """The model has made this call in the step of a reply, which waits for it. The arguments
        are as in `OpenCall`."""
        call = OpenCall(id, reply, name, arguments, tool)
        reply.calls.add(id)
        self.open[id] = call
        return call

    async def begin(self, call: OpenCall) -> bool:
        """The tool is about to run. Call `run` if this returns True. Otherwise the call already has
        a result, such as that of an identical call.

        If there is nothing to wait for, it does not yield to other tasks.
        """
        conductor, tools = self.host.conductor, self.host.conductor.tools
        identity = (call.name, call.arguments, call.reply.id)
        if tools.waits_for_identical(*identity, call.tool):
            await conductor.until(lambda: not tools.waits_for_identical(*identity, call.tool))
        refused = await conductor.requests.before_call(call.id, *identity)
        identical = tools.identical(call.id, *identity, call.tool, self._added)
        if identical is not None:
            refused = NOT_RUN_AGAIN.format(result=identical.output or "", call=identical.id)
        if refused is not None:
            conductor.requests.call_started(call.id)
            call.result, call.deliver = refused, True
            await self.host.add_result(call)
            return False
        tools.started(call.id, *identity[:2], call.reply, self.host, call.tool)
        conductor.requests.call_started(call.id)
        return True

    async def run(
        self, call: OpenCall, work: Callable[[], Awaitable[None]], limit: float = 0.0
    ) -> None:
        """Run the tool of a call that has begun, after the user's confirmation if it is needed.

        Args:
            work: Runs the tool, and gives its result to `settle`.
            limit: Seconds that it may take; 0 for any time.
        """
        tools = self.host.conductor.tools
        entry, task = tools.get(call.id), None
        try:
            refused = await entry.allowed() if entry is not None else None
            if entry is not None and refused is not None:
                await self.settle(call, "error", refused, deliver=entry.on_agenda)
                return
            call.task = task = asyncio.ensure_future(work())
            done, _ = await asyncio.wait({task}, timeout=limit or None)
            if not done:
                task.cancel()
                await asyncio.wait({task})
            await self._over(call, task, TOO_LONG.format(seconds=limit) if limit else CANCELLED)
        except asyncio.CancelledError:
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
            self.given_up(call)
            raise

    async def make(
        self,
        id: str,
        name: str,
        arguments: Mapping[str, Any],
        reply: Reply,
        tool: Callable[..., Awaitable[Any]],
    ) -> None:
        """The model has made a call in the step of a reply: run a tool in a task.

        Args:
            tool: Gets the arguments, and returns the result.
        """
        call = self.add(id, name, json.dumps(dict(arguments)), reply, tool)

        async def work() -> None:
            await self.settle(call, "result", await tool(**arguments))

        if await self.begin(call):
            self.host.tasks.start(self.run(call, work))

    async def settle(
        self,
        call: OpenCall,
        how: End,
        result: Any,
        *,
        deliver: bool = True,
        output: str | None = None,
    ) -> None:
        """A call has ended. Only the first time counts.

        Args:
            result: The tool's result, or the text that replaces it.
            deliver: The result must be delivered to the user, if there is one.
            output: The result as text.
        """
        if call.ended:
            return
        conductor, tools = self.host.conductor, self.host.conductor.tools
        entry = tools.get(call.id)
        if entry is not None and entry.replaced_by is not None and how == "result" and result:
            result = output = entry.output_of(output or str(result), failed=False)
        call.ended, call.result, call.deliver = True, result, bool(result) and deliver
        call.late = tools.was_answered(call.id)
        if call.late:
            tools.late_result(Result(call.id, not call.deliver))
        tools.ended(
            call.id, how, str(result) if output is None else output, result_id=call.result_id
        )
        if not call.late:
            tools.given([Result(call.id, not call.deliver)])
            if call.deliver and not self._runs_for(call.reply):
                conductor.speech.reply_started(
                    call.reply
                )  # it continues when all results have come
        if conductor.keeping is not None:
            conductor.keeping.call_ended()
            await conductor.requests.after_call()
        await self.host.add_result(call)

    def result_added(self, call: OpenCall) -> None:
        """The result of a call is in the conversation."""
        self.open.pop(call.id, None)
        if not call.late:
            self.host.conductor.tools.committed([Result(call.id, not call.deliver)])
        self._added.add(call.result_id)
        self._no_longer_awaited(call)

    def given_up(self, call: OpenCall) -> None:
        """The call's task was cancelled. Whoever cancelled it informs the model."""
        self.open.pop(call.id, None)
        if not call.ended and not self.host.conductor.turn.closed:
            tools = self.host.conductor.tools
            tools.ended(call.id, "cancelled", CANCELLED, result_id=call.id)
            tools.given([Result(call.id, empty=True)])
            tools.committed([Result(call.id, empty=True)])
            self._no_longer_awaited(call)

    async def failed(self, call: OpenCall, error: Exception) -> None:
        """The tool has raised an error, which the model reads. Override it to report the error."""
        await self.settle(call, "error", f"it failed: {error}")

    async def commit_point(self, id: str) -> None:
        """The tool of this call is about to carry out its side effect.

        Raises:
            SpeechInterrupted: It must not.
            TurnfsmError: No such call runs.
        """
        # An interruption that is ready to run comes before the side effect.
        await asyncio.sleep(0)
        if (call := self.host.conductor.tools.get(id)) is None:
            raise TurnfsmError(
                f"commit_point: the flow does not know of the call {id!r}; {self.unknown}"
            )
        keeping = self.host.conductor.keeping
        if keeping is not None and (reason := await keeping.before_effect()) is not None:
            raise SpeechInterrupted(reason)
        await self.host.conductor.objections.known(call, "await_transcript")
        if (refusal := call.refusal_of_effect()) is not None:
            raise SpeechInterrupted(refusal)

    def key(self, id: str) -> str:
        """The key of this call, unique over all conversations of a store."""
        keeping, call = self.host.conductor.keeping, self.open.get(id)
        return id if keeping is None or call is None else keeping.key_of(id, call.reply.id)

    def cancel(self, id: str) -> None:
        """Cancel a running tool."""
        if (call := self.open.get(id)) is not None and call.task is not None:
            call.task.cancel()

    def answer(self, calls: Sequence[str]) -> None:
        """Continue without these calls: the model is told that they are still running."""
        tools = self.host.conductor.tools
        for id in calls:
            call = self.open.get(id)
            if call is not None and not call.ended and tools.may_answer(id):
                call.deliver = True
                self._no_longer_awaited(call)

    # -- inside

    async def _over(self, call: OpenCall, task: asyncio.Future[None], reason: str) -> None:
        """The tool has ended. Its result may still come."""
        entry = self.host.conductor.tools.get(call.id)
        if task.cancelled():
            by_flow = entry is not None and (entry.turn_over or entry.replaced_by is not None)
            output = entry.output_if_cancelled if entry is not None and by_flow else reason
            deliver = entry is None or not entry.ends_with_turn
            await self.settle(call, "cancelled", output, deliver=deliver)
        elif isinstance(error := task.exception(), SpeechInterrupted):
            await self.settle(call, "error", str(error))
        elif isinstance(error, Exception):
            await self.failed(call, error)

    def _runs_for(self, reply: Reply) -> bool:
        calls = (self.open.get(id) for id in reply.calls)
        return any(call is not None and not call.ended for call in calls)

    def _no_longer_awaited(self, call: OpenCall) -> None:
        reply = call.reply
        if call.id in reply.calls:
            reply.calls.discard(call.id)
            reply.continues |= call.deliver
            if not reply.calls:
                self.host.continue_reply(reply)
