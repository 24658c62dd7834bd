"""Converts Pipecat's messages for the agenda's projection, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

import attrs
from pipecat.processors.aggregators import async_tool_messages
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.fsm.agenda.projection import Item
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.tool_calls import ToolCalls
from turnfsm.runtime.host.calls import FINAL, OpenCall
from turnfsm.runtime.host.reply import Reply
from turnfsm.runtime.host.request import request as projected

from .edits import Edits, Message, calls_in, counterparts, role_of

__all__ = [
    "RUNS",
    "Message",
    "Names",
    "call_message",
    "call_status",
    "content_of",
    "edited",
    "is_news",
    "request",
    "text_of",
]

RUNS = "IN_PROGRESS"
"""The output of a call that runs, in Pipecat's own words, if its function is not asynchronous."""


class Names:
    """Gives each message an id, as Pipecat's messages have none."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[Message, str]] = {}  # keeps the message: ids are reused
        self._count = 0

    def of(self, message: Message) -> str:
        if (named := self._names.get(id(message))) is None:
            self._count += 1
            named = self._names[id(message)] = message, f"{role_of(message)}_{self._count}"
        return named[1]

    def restore(self, message: Message, name: str) -> None:
        """Give a message the id that it had in the previous worker."""
        self._names[id(message)] = message, name
        self._count = max(self._count, int(name.rpartition("_")[2]))

    def forget(self, messages: Iterable[Message]) -> None:
        """Forget all messages except these."""
        there = {id(message) for message in messages}
        self._names = {key: named for key, named in self._names.items() if key in there}

    def follow(self, sent: Sequence[Message], came: Sequence[Message]) -> list[bool]:
        """Give the messages that processors have passed on the ids of those that they got.

        Returns:
            For each message, whether it is new.
        """
        originals = counterparts(sent, came)
        for message, original in zip(came, originals, strict=True):
            if original is not None:
                self._names[id(message)] = message, self.of(original)
        return [original is None for original in originals]

    def latest(self, context: LLMContext) -> str | None:
        """The id of the user's latest message, or None."""
        users = (m for m in reversed(context.messages) if role_of(m) == "user")
        return next((self.of(message) for message in users), None)

    def last(self, context: LLMContext) -> str | None:
        """The id of the last message if it is the user's, or None."""
        last = context.messages[-1:]
        return self.of(last[0]) if last and role_of(last[0]) == "user" else None


def edited(
    reply: Reply,
    context: LLMContext,
    added: Iterable[bool],
    sent: Sequence[Message],
    names: Names,
) -> Edits:
    """What the application's processors have made of a request.

    Args:
        reply: The reply that is requested.
        context: What they have passed on.
        added: For each message, whether they have added it.
        sent: The messages of the conversation that need not be added.
    """
    items = _read_all(sent, names)
    users = [item.id for item in items if item.part == "utterance"]
    messages = zip(context.messages, added, strict=True)
    ids = frozenset(item.id for item in items)
    return Edits(reply, context, (*messages,), ids, users[-1] if users else None)


def request(
    conversation: LLMContext,
    reply: Reply,
    conductor: Conductor,
    names: Names,
    calls: Iterable[OpenCall],
    edits: Edits | None = None,
) -> LLMContext:
    """Return the context for a request, and report the request.

    That is the conversation, or what the application's processors have made of it, unless the
    projection changes it.

    Args:
        calls: Calls that may be missing in Pipecat's messages, or whose results may, since these
            are queued after audio.
        edits: What the application's processors have made of their latest request.
    """
    passed = edits.messages if edits is not None else ()
    names.forget([*conversation.messages, *(message for message, _ in passed)])
    context, given = conversation, _read_all(conversation.messages, names)
    came: list[Item] = []
    if edits is not None and _applies(edits, reply, given, conductor):
        came = [item for item in given if item.id not in edits.sent]
        context, given = edits.context, _passed_on(edits, given, names)
    came += [item for call in _lacking(calls, [*given, *came]) for item in _items_of(call)]
    whole = _whole([*given, *came])
    given, came = _beside([*filter(whole, given)]), [*filter(whole, came)]
    sent = projected(conductor, reply, given, _developer, came=came)
    messages: Sequence[Message] = context.messages
    if len(sent) == len(messages) and all(a is b for a, b in zip(sent, messages, strict=True)):
        return context
    return LLMContext(sent, tools=context.tools, tool_choice=context.tool_choice)


def _applies(edits: Edits, reply: Reply, own: Sequence[Item], conductor: Conductor) -> bool:
    """Whether this reply answers what the processors have passed on."""
    claimed = {one.id for one in conductor.log.agenda.claimed_by(reply.id)}
    return edits.reply is reply or edits.utterance in claimed & {item.id for item in own}


def _passed_on(edits: Edits, own: Sequence[Item], names: Names) -> list[Item]:
    """The messages that the processors have passed on, at the places of those that they stand
    for."""
    places = {item.id: item.at for item in own}
    items: list[Item] = []
    for message, added in edits.messages:
        at = items[-1].at if items else 0.0
        item = _read(message, names.of(message), at)
        if not added:
            item = attrs.evolve(item, at=places.get(item.id, at))
        else:
            part = "instruction" if item.part == "utterance" else item.part
            item = attrs.evolve(item, part=part, added=True)
        items.append(item)
    return items


def _whole(items: Sequence[Item]) -> Callable[[Item], bool]:
    """Whether to send an item: no model accepts a call without its result, or a result without its
    call."""
    results = {item.call for item in items if role_of(item.of) == "tool"}
    calls = [calls_in(item.of) for item in items]
    made = {call for of in calls if results.issuperset(of) for call in of}

    def whole(item: Item) -> bool:
        needs = [item.call] if role_of(item.of) == "tool" else calls_in(item.of)
        return made.issuperset(needs)

    return whole


def _beside(items: Sequence[Item]) -> list[Item]:
    """The items, with the results of calls that one message makes right after it. The projection
    does that for all others."""
    made = {call for item in items if item.part == "other" for call in calls_in(item.of)}
    results = {item.call: item for item in items if item.call in made}
    rest = [item for item in items if item.call not in made]
    return [
        one
        for item in rest
        for one in (item, *(results[call] for call in calls_in(item.of) if call in made))
    ]


def _read_all(messages: Iterable[Message], names: Names) -> list[Item]:
    return [_read(message, names.of(message), float(n)) for n, message in enumerate(messages)]


def _developer(text: str) -> Message:
    return {"role": "developer", "content": text}


def _read(message: Message, name: str, at: float) -> Item:
    match role_of(message), calls_in(message):
        case "user", _:
            return Item(name, "utterance", message, at=at)
        case "tool", _:
            call, runs = str(message.get("tool_call_id")), _runs(message)
            id = f"{name}_runs" if runs else name
            return Item(id, "result", message, call, placeholder=runs, at=at)
        case "assistant", calls:
            if len(calls) == 1:
                return Item(name, "call", message, calls[0], at=at)
            return Item(name, "other" if calls else "said", message, at=at)
        case None, _:
            return Item(name, "other", message, at=at)
    kind, call = call_status(message)
    if kind == "final":
        return Item(name, "result", message, call + FINAL, at=at)
    return Item(name, "instruction", message, at=at)


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
    return role_of(message) in ("user", "developer", "system") and not status


def call_message(id: str, name: str, arguments: str) -> dict[str, Any]:
    """The message with which the model makes a call."""
    function = {"name": name, "arguments": arguments}
    call = {"id": id, "function": function, "type": "function"}
    return {"role": "assistant", "tool_calls": [call]}


def text_of(message: Message) -> str:
    """The text of a user or agent message; empty for anything else."""
    if role_of(message) not in ("user", "assistant"):
        return ""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(str(part["text"]) for part in content if part.get("type") == "text")


def content_of(result: object) -> str:
    """A result as Pipecat writes it into the context."""
    return json.dumps(result, ensure_ascii=False) if result else "COMPLETED"
