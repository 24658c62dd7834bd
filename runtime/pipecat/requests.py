"""Converts Pipecat's messages for the agenda's projection, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import attrs
from pipecat.processors.aggregators import async_tool_messages
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.fsm.agenda import Item
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.request import request as projected

from .reply import Reply

__all__ = ["FINAL", "Came", "Names", "content_of", "request", "text_of"]

FINAL = "_final"
"""The suffix of a call's id for a result that comes separately from its step."""

Message = Any
"""A dict, or a message for one model only."""


@attrs.frozen
class Came:
    """A call, or its result, that may not be in Pipecat's messages yet, since these are queued
    after audio.

    Attributes:
        content: The result; None while the call runs.
        apart: The model was told that the call is still running, and the result comes separately.
    """

    call: str
    name: str
    arguments: str
    content: str | None
    apart: bool


class Names:
    """Gives each message an id, as Pipecat's messages have none."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[Message, str]] = {}  # keeps the message: ids are reused
        self._count = 0

    def of(self, message: Message) -> str:
        """The message's id."""
        if (known := self._names.get(id(message))) is None:
            self._count += 1
            known = self._names[id(message)] = message, f"{_role(message)}_{self._count}"
        return known[1]

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


def request(reply: Reply, conductor: Conductor, names: Names, came: Iterable[Came]) -> LLMContext:
    """Return the context for a request, and report the request.

    That is Pipecat's own context, unless the projection changes it.
    """
    context = reply.context
    assert context is not None
    messages: Sequence[Message] = [*context.messages]
    names.forget(messages)
    own = (
        [{"role": "developer", "content": reply.instructions}]
        if reply.instructions is not None
        else []
    )
    due = conductor.tools.due_results
    given = [
        _read(message, place, names, due, added=place >= len(messages))
        for place, message in enumerate([*messages, *own])
    ]
    new = [item for one in _lacking(came, given) for item in _items_of(one, due)]
    wanted, said = projected(conductor, reply, given, came=new, instructions=reply.instructions)
    asked = [item.of for item in wanted.items]
    if said is not None:
        asked.insert(wanted.hint_at, {"role": "developer", "content": said})
    if len(asked) == len(messages) and all(a is b for a, b in zip(asked, messages, strict=True)):
        return context
    return LLMContext(asked, tools=context.tools, tool_choice=context.tool_choice)


def _read(
    message: Message, place: int, names: Names, due: Mapping[str, str], *, added: bool
) -> Item:
    key, at = f"message_{place}", float(place)
    match _role(message):
        case "user":
            return Item(names.of(message), "utterance", message, at=at)
        case "tool":
            call = str(message.get("tool_call_id"))
            runs = _runs(message)
            result = "" if runs else _due(call, due)
            return Item(key, "result", message, call, result=result, placeholder=runs, at=at)
        case "assistant":
            calls: Sequence[Any] = message.get("tool_calls") or ()
            if len(calls) == 1:
                return Item(key, "call", message, str(calls[0]["id"]), at=at)
            return Item(key, "other" if calls else "said", message, at=at)
        case None:
            return Item(key, "other", message, at=at)
    told = async_tool_messages.parse_message(message)
    if told is not None and told.kind == "final":
        call = told.tool_call_id
        return Item(key, "result", message, call + FINAL, result=_due(call, due), at=at)
    return Item(key, "instruction", message, added=added, at=at)


def _lacking(came: Iterable[Came], given: Sequence[Item]) -> Iterable[Came]:
    """The missing messages of a call: the call itself or its result, which may come separately."""
    calls = {item.call for item in given if item.part == "call"}
    told = {item.call for item in given if item.part == "result" and not item.placeholder}
    for one in came:
        if one.call not in calls or (one.content and not {one.call, one.call + FINAL} & told):
            yield one


def _items_of(one: Came, due: Mapping[str, str]) -> Iterable[Item]:
    function = {"name": one.name, "arguments": one.arguments}
    call = {"id": one.call, "function": function, "type": "function"}
    yield Item(
        f"call_{one.call}", "call", {"role": "assistant", "tool_calls": [call]}, one.call, at=inf
    )
    if one.content is None or one.apart:
        runs = async_tool_messages.build_started_message(one.call)
        yield Item(f"runs_{one.call}", "result", runs, one.call, placeholder=True, at=inf)
    if one.content is None:
        return
    id, result = one.call, {"role": "tool", "content": one.content, "tool_call_id": one.call}
    if one.apart:
        id = one.call + FINAL
        result = async_tool_messages.build_final_result_message(one.call, one.content)
    yield Item(f"result_{id}", "result", result, id, result=_due(one.call, due), at=inf)


def _due(call: str, due: Mapping[str, str]) -> str:
    """The call, if the user has not heard of its result.

    Pipecat may write a late result into the message that says that the call is running.
    """
    return due.get(call + FINAL) or due.get(call, "")


def _role(message: Message) -> str | None:
    return str(message["role"]) if isinstance(message, dict) else None


def _runs(message: Mapping[str, Any]) -> bool:
    """It is not a result, but says that the call is running."""
    told = async_tool_messages.parse_message(message)
    return told is not None and told.kind == "started"


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
