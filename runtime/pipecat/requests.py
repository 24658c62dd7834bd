"""Converts Pipecat's messages for the agenda's projection, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from pipecat.processors.aggregators import async_tool_messages
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.fsm.agenda.projection import Item
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.tool_calls import ToolCalls
from turnfsm.runtime.host.calls import FINAL, OpenCall
from turnfsm.runtime.host.reply import Reply
from turnfsm.runtime.host.request import request as projected

__all__ = [
    "RUNS",
    "Message",
    "Names",
    "call_message",
    "call_status",
    "content_of",
    "is_news",
    "request",
    "text_of",
]

RUNS = "IN_PROGRESS"
"""The output of a call that runs, in Pipecat's own words, if its function is not asynchronous."""

Message = Any
"""A dict, or a message for one model only."""


class Names:
    """Gives each message an id, as Pipecat's messages have none."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[Message, str]] = {}  # keeps the message: ids are reused
        self._count = 0

    def of(self, message: Message) -> str:
        if (named := self._names.get(id(message))) is None:
            self._count += 1
            named = self._names[id(message)] = message, f"{_role(message)}_{self._count}"
        return named[1]

    def restore(self, message: Message, name: str) -> None:
        """Give a message the id that it had in the previous worker."""
        self._names[id(message)] = message, name
        self._count = max(self._count, int(name.rpartition("_")[2]))

    def forget(self, messages: Sequence[Message]) -> None:
        """Forget all messages except these, which are still in the conversation."""
        there = {id(message) for message in messages}
        self._names = {key: named for key, named in self._names.items() if key in there}

    def latest(self, context: LLMContext) -> str | None:
        """The id of the user's latest message, or None."""
        users = (m for m in reversed(context.messages) if _role(m) == "user")
        return next((self.of(message) for message in users), None)

    def last(self, context: LLMContext) -> str | None:
        """The id of the last message if it is the user's, or None."""
        last = context.messages[-1:]
        return self.of(last[0]) if last and _role(last[0]) == "user" else None


def request(
    context: LLMContext,
    reply: Reply,
    conductor: Conductor,
    names: Names,
    calls: Iterable[OpenCall],
) -> LLMContext:
    """Return the context for a request, and report the request.

    That is the given context, unless the projection changes it.

    Args:
        calls: Calls that may be missing in Pipecat's messages, or whose results may, since these
            are queued after audio.
    """
    messages: Sequence[Message] = [*context.messages]
    names.forget(messages)
    given = [_read(message, place, names) for place, message in enumerate(messages)]
    new = [item for call in _lacking(calls, given) for item in _items_of(call)]
    sent = projected(conductor, reply, given, _developer, came=new)
    if len(sent) == len(messages) and all(a is b for a, b in zip(sent, messages, strict=True)):
        return context
    return LLMContext(sent, tools=context.tools, tool_choice=context.tool_choice)


def _developer(text: str) -> Message:
    return {"role": "developer", "content": text}


def _read(message: Message, place: int, names: Names) -> Item:
    key, at = f"message_{place}", float(place)
    match _role(message):
        case "user":
            return Item(names.of(message), "utterance", message, at=at)
        case "tool":
            call = str(message.get("tool_call_id"))
            return Item(key, "result", message, call, placeholder=_runs(message), at=at)
        case "assistant":
            calls: Sequence[Any] = message.get("tool_calls") or ()
            if len(calls) == 1:
                return Item(key, "call", message, str(calls[0]["id"]), at=at)
            return Item(key, "other" if calls else "said", message, at=at)
        case None:
            return Item(key, "other", message, at=at)
    kind, call = call_status(message)
    if kind == "final":
        return Item(key, "result", message, call + FINAL, at=at)
    return Item(key, "instruction", message, at=at)


def _lacking(made: Iterable[OpenCall], given: Sequence[Item]) -> Iterable[OpenCall]:
    """The missing messages of a call: the call itself or its result, which may come separately."""
    calls = {item.call for item in given if item.part == "call"}
    results = {item.call for item in given if item.part == "result" and not item.placeholder}
    for call in made:
        if call.id not in calls or (call.ended and not {call.id, call.id + FINAL} & results):
            yield call


def _items_of(call: OpenCall) -> Iterable[Item]:
    message = call_message(call.id, call.name, call.arguments)
    yield Item(f"call_{call.id}", "call", message, call.id, at=inf)
    if not call.ended or call.late:
        runs = async_tool_messages.build_started_message(call.id)
        yield Item(f"runs_{call.id}", "result", runs, call.id, placeholder=True, at=inf)
    if not call.ended:
        return
    id, content = call.result_id, content_of(call.result)
    result = {"role": "tool", "content": content, "tool_call_id": call.id}
    if call.late:
        result = async_tool_messages.build_final_result_message(call.id, content)
    yield Item(f"result_{id}", "result", result, id, at=inf)


def _role(message: Message) -> str | None:
    return str(message["role"]) if isinstance(message, dict) else None


def _runs(message: Mapping[str, Any]) -> bool:
    """It is no result, but says that the call is running."""
    return message.get("content") == RUNS or call_status(message)[0] == "started"


def call_status(message: Message) -> tuple[str, str]:
    """The status of a call in Pipecat's message, such as ``started`` or ``final``, and the call's
    id; both are empty for any other message."""
    note = async_tool_messages.parse_message(message)
    return (note.kind, note.tool_call_id) if note is not None else ("", "")


def is_news(message: Message, tools: ToolCalls) -> bool:
    """Whether to give this message to a model that keeps the conversation: neither the model nor
    its calls have made it, or the turn goes on without this call."""
    status, call = call_status(message)
    if status == "started":
        return tools.was_answered(call)
    return _role(message) in ("user", "developer", "system") and not status


def call_message(id: str, name: str, arguments: str) -> dict[str, Any]:
    """The message with which the model makes a call."""
    function = {"name": name, "arguments": arguments}
    call = {"id": id, "function": function, "type": "function"}
    return {"role": "assistant", "tool_calls": [call]}


def text_of(message: Message) -> str:
    """The text of a user or agent message; empty for anything else."""
    if _role(message) not in ("user", "assistant"):
        return ""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(str(part["text"]) for part in content if part.get("type") == "text")


def content_of(result: object) -> str:
    """A result as Pipecat writes it into the context."""
    return json.dumps(result, ensure_ascii=False) if result else "COMPLETED"
