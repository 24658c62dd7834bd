"""A host of your own: a text chat over asyncio streams whose turns follow a flow.

A line that the user types is an utterance. The agent's answer is shown sentence by sentence, at the
pace of a reader. Tools run meanwhile, and the user may type at any time.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
from reply import Reply, Screen

from turnfsm import Flow
from turnfsm.host import (
    Agent,
    End,
    Item,
    Part,
    Phase,
    Report,
    Result,
    Settings,
    Setup,
    Speech,
    Tuning,
    UserTurn,
    govern,
    request,
)

__all__ = ["Answer", "Call", "Chat", "Message"]

logger = logging.getLogger("chat")

LATE = "_late"
"""What is added to the id of a call whose result comes after the model was told that it runs."""


@attrs.frozen
class Message:
    """A line of the conversation. `role`: user, agent, tool or system."""

    role: str
    text: str
    call: str = ""


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


@attrs.define(eq=False)
class Turn:
    """A `UserTurn`: a line of the user, with those that had to wait before it."""

    new_transcript: str


class Chat:
    """A `Session` with one `Agent`, itself.

    Args:
        reader, writer: The user's end.
        model: Answers a list of messages.
        tools: By name; `on_interruption` marks one with a policy.
        flow: The flow that governs the turns.
        timers: Seconds that replace those of the flow.
        pace: Seconds that a word takes to be read.
    """

    phase: Phase = "present"
    setup = Setup()
    deciding = answer_pending = user_silent = False  # a line is complete when it comes
    closing = False
    state = "listening"

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
        self._reader, self._writer, self._screen = reader, writer, Screen(writer, pace)
        self._model, self._tools = model, tools
        self._items: list[Item] = []
        self._replies: list[Reply] = []
        self._count = 0
        self._runs: dict[str, tuple[Reply, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.settings = Settings({**flow.timers, **(timers or {})})
        self.conductor = govern(self, flow, timers=timers)

    async def run(self) -> None:
        """Talk until the user closes the stream."""
        self.conductor.start()
        self.conductor.resumed()
        async for line in self._reader:
            if words := line.decode().strip():
                self._typed(words)
        self.closing = True
        self.conductor.close_started()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.conductor.aclose()
        self._writer.close()

    # -- the user

    def _typed(self, words: str) -> None:
        """A line has come: like a voice that begins and ends at once."""
        conductor = self.conductor
        conductor.user_started()
        conductor.utterance.voice_started()
        conductor.transcript_received(words, final=True)
        conductor.barge_in()
        conductor.final_transcript()
        conductor.utterance.post("final_transcript")
        conductor.utterance.voice_ended()
        conductor.user_stopped()
        self.take_turn(Turn(words))

    def take_turn(self, turn: UserTurn) -> None:
        conductor = self.conductor
        taken = conductor.may_commit("chat", turn)
        conductor.utterance.post("turn_decided")
        if not taken:
            return  # the flow ignores it, or takes it later
        task = len(self._items)  # it only has to differ from turn to turn
        conductor.turn_started(task, ())
        conductor.stop_older_replies()
        said = self._add("utterance", Message("user", turn.new_transcript))
        reply = self._new()
        conductor.replies.asked(reply, self, [said], instructed=False)
        conductor.turns.reply_asked(reply, said)
        conductor.turns.message_added(said)
        conductor.speech_scheduled(task, reply, self)
        conductor.turn_task_ended(task)

    def interrupt(self) -> None:
        """The application interrupts what is said."""
        step = self.conductor.floor.step
        if step is not None and step.speech.interruptible:
            self.conductor.interrupted_by_code(step.speech, None)
            step.speech.stop("programmatic")

    # -- what the flow has decided

    @property
    def activity(self) -> Agent:
        return self

    def reply(self, instructions: str | None = None) -> Reply:
        reply = self._new(instructions=instructions)
        self.conductor.replies.asked(reply, self, instructed=instructions is not None)
        self.conductor.speech_scheduled(None, reply, self)
        return reply

    def speak(self, text: str, *, interruptible: bool = True) -> Reply:
        reply = self._new(text=text)
        if not interruptible:
            reply.hold(True)
        self.conductor.speech_scheduled(None, reply, self)
        return reply

    def cancel_call(self, call: str) -> None:
        if call in self._runs:
            self.conductor.tools.cancelled(call)
            self._runs[call][1].cancel()

    def answer(self, calls: Sequence[str]) -> None:
        for call in calls:
            if self.conductor.tools.may_answer(call):
                self._no_longer_awaited(call)

    def add_cancelled_output(self, call: str, text: str) -> None:
        self._add("result", Message("tool", text, call), call + LATE)
        self.conductor.tools.late_result(Result(call))

    def tune(self, tuning: Tuning) -> None:
        """A chat has no settings that could change."""

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        self.state = state

    def report(self, report: Report) -> None:
        logger.info("%s", report)

    def hang_up(self) -> None:
        self._start(self._hang_up())

    async def _hang_up(self) -> None:
        await self.conductor.until(lambda: all(reply.finished for reply in self._replies))
        self._reader.feed_eof()

    # -- a reply, step after step

    async def _give(self, reply: Reply) -> None:
        conductor, asks = self.conductor, reply.text is None
        while not reply.over:
            if asks:
                conductor.reply_began(reply)
            await conductor.until(lambda: reply.over or conductor.floor.step is None)
            if asks and not reply.over:
                await asyncio.sleep(0)  # a turn that had to wait comes first
                await conductor.may_request(reply)
            if reply.over or conductor.floor.step is not None:
                continue
            reply.goes_on = False
            conductor.floor_taken(self, reply, self._screen)
            reply.step = self._start(self._step(reply))
            if reply.over:  # the flow has interrupted it at once
                reply.step.cancel()
            await asyncio.wait({reply.step})
            await conductor.until(lambda: reply.over or not reply.calls)
            if not reply.goes_on:
                break
        reply.end()

    async def _step(self, reply: Reply) -> None:
        conductor, text, step = self.conductor, reply.text, self.conductor.floor.step
        shown: list[str] = []
        assert step is not None
        try:
            if text is None:
                answer = await self._model(self._messages(reply))
                conductor.tokens_received()
                conductor.calls_received(reply, len(answer.calls))
                for call in answer.calls:
                    self._call(reply, call)
                text = answer.text
            lines = re.findall(r"[^\s.!?][^.!?]*[.!?]*", text)
            await self._screen.show(lines, step, conductor, shown)
        except Exception:
            reply.failed = True
            logger.exception("%s has failed", reply.id)
        finally:  # also where it is interrupted
            if shown:
                conductor.playout_finished()
                self._add("said", Message("agent", " ".join(shown)))
                whole = not (reply.interrupted or reply.failed)
                conductor.reply_heard(reply.id, whole=whole)
            conductor.floor_released(reply)

    def _messages(self, reply: Reply) -> list[Message]:
        """What the model is asked with: the agenda says what belongs into it."""
        due, given = self.conductor.tools.due_results, list[Item]()
        ended = {item.call for item in self._items if item.part == "result"}
        for item in self._items:
            result = due.get(item.call, "") if item.part == "result" else ""
            given.append(attrs.evolve(item, result=result))
            if item.part == "call" and item.call not in ended:
                runs = Message("tool", "it still runs", item.call)
                given.append(Item(f"{item.id}_runs", "result", runs, item.call, placeholder=True))
        if reply.instructions is not None:
            own = Message("system", reply.instructions)
            given.append(Item("own", "instruction", own, added=True))
        wanted, hint = request(self.conductor, reply, given, instructions=reply.instructions)
        messages: list[Message] = [item.of for item in wanted.items]
        if hint is not None:
            messages.insert(wanted.hint_at, Message("system", hint))
        return messages

    # -- tools

    def _call(self, reply: Reply, call: Call) -> None:
        arguments, tool = json.dumps(dict(call.arguments)), self._tools[call.tool]
        id = f"call_{len(self._items)}"
        self._add("call", Message("agent", f"{call.tool} {arguments}", id), id)
        reply.calls.add(id)
        self.conductor.tools.started(id, call.tool, arguments, reply, self, tool)
        self._runs[id] = reply, self._start(self._run(id, partial(tool, **call.arguments)))

    async def _run(self, id: str, work: Tool) -> None:
        tools, made = self.conductor.tools, self.conductor.tools.get(id)
        how: End = "result"
        try:  # a flow may ask the user for a yes first
            refused = await made.allowed() if made is not None else None
            output = await work() if refused is None else refused
        except asyncio.CancelledError:
            how, output = "cancelled", (made and made.cancellation) or "cancelled"
        except Exception as error:
            how, output = "error", f"it failed: {error}"
        result = id + LATE if tools.was_answered(id) else id
        self._add("result", Message("tool", output, id), result)
        if result != id:
            tools.late_result(Result(id))
        tools.ended(id, how, output, result_id=result)
        if result == id:
            tools.given([Result(id)])
            tools.committed([Result(id)])
        self._no_longer_awaited(id)

    def _no_longer_awaited(self, call: str) -> None:
        reply, _ = self._runs[call]
        reply.goes_on |= call in reply.calls
        reply.calls.discard(call)

    # -- inside

    def _new(self, *, instructions: str | None = None, text: str | None = None) -> Reply:
        self._replies = [reply for reply in self._replies if not reply.finished]
        self._count += 1
        reply = Reply(f"reply_{self._count}", self.conductor, instructions, text)
        self._replies.append(reply)
        self._start(self._give(reply))
        return reply

    def _add(self, part: Part, message: Message, call: str = "") -> str:
        item = Item(f"{part}_{len(self._items)}", part, message, call, at=float(len(self._items)))
        self._items.append(item)
        return item.id

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
