"""A host of your own: a text chat over asyncio streams whose turns follow a flow.

A line that the user types is an utterance. The agent's answer is shown sentence by sentence, at the
pace of a reader. Tools run meanwhile, and the user may type at any time.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from turnfsm import Flow, host

__all__ = ["Answer", "Call", "Chat", "Message"]


@attrs.frozen
class Message:
    """A line of the conversation. `role`: user, agent, tool or system."""

    role: str
    text: str


@attrs.frozen
class Call:
    """A tool call of the model."""

    tool: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Answer:
    """What the model gives."""

    text: str = ""
    calls: Sequence[Call] = ()


Model = Callable[[Sequence[Message]], Awaitable[Answer]]
Tool = Callable[..., Coroutine[Any, Any, str]]


class Chat(host.Host):
    """A chat.

    Args:
        reader, writer: The user's end.
        model: Answers a list of messages.
        tools: By name; `on_interruption` marks one with a policy.
        flow: The flow that governs the turns.
        timers: Seconds that replace those of the flow.
        pace: Seconds that a word takes to be read.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        model: Model,
        tools: Mapping[str, Tool],
        *,
        flow: Flow,
        timers: Mapping[str, float] | None = None,
        pace: float = 0.3,
    ) -> None:
        super().__init__()
        self._reader, self._writer, self._pace = reader, writer, pace
        self._model, self._tools = model, tools
        self._items: list[host.Item] = []
        self.output = self._paced = host.PausableOutput()
        self.govern(flow, timers=timers)

    async def run(self) -> None:
        """Talk until the user closes the stream."""
        self.start()
        async for line in self._reader:
            if text := line.decode().strip():
                self.user_typed(text)
        await self.aclose()
        self._writer.close()

    def add_user_message(self, text: str) -> str:
        return self._add("utterance", Message("user", text))

    def hang_up(self) -> None:
        self.tasks.start(self._hang_up())

    async def _hang_up(self) -> None:
        await self.replies_finished()
        self._reader.feed_eof()

    # -- a step of a reply

    async def say(self, reply: host.Reply, step: host.Step) -> None:
        text = reply.text if reply.text is not None else await self._answer(reply)
        shown: list[str] = []
        try:
            for line in re.findall(r"[^\s.!?][^.!?]*[.!?]*", text):
                seconds = len(line.split()) * self._pace
                self.conductor.floor.text_received(reply, line)
                if not await self._paced.passes(self.conductor, step, seconds):
                    break
                if not shown:
                    self.playout(begins=True)
                shown.append(line)
                self._writer.write(f"{line}\n".encode())
                await asyncio.sleep(seconds)
        finally:  # also where it is interrupted
            if shown:
                self._add("said", Message("agent", " ".join(shown)))

    async def _answer(self, reply: host.Reply) -> str:
        system, running = partial(Message, "system"), partial(Message, "tool", "it still runs")
        asked = host.request(self.conductor, reply, self._items, system, running=running)
        answer = await self._model(asked)
        self.conductor.requests.tokens_received()
        self.conductor.requests.calls_received(reply, len(answer.calls))
        for call in answer.calls:
            id = f"call_{len(self._items)}"
            self._add("call", Message("agent", f"{call.tool} {dict(call.arguments)}"), id)
            await self.calls.make(id, call.tool, call.arguments, reply, self._tools[call.tool])
        return answer.text

    # -- tools

    async def add_result(self, call: host.OpenCall) -> None:
        self._add("result", Message("tool", call.result), call.result_id)
        self.calls.result_added(call)

    def add_cancelled_output(self, call: str, text: str) -> None:
        self._add("result", Message("tool", text), call + host.FINAL)
        self.conductor.tools.late_result(host.Result(call))

    def _add(self, part: host.Part, message: Message, call: str = "") -> str:
        item = host.Item(
            f"{part}_{len(self._items)}", part, message, call, at=float(len(self._items))
        )
        self._items.append(item)
        return item.id
