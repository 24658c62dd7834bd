"""A chat context as a model sees it: formatted for each provider, or as in a realtime model."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal

import attrs
from livekit.agents import llm

__all__ = [
    "REQUEST_FORMATS",
    "RequestEntry",
    "formatted_request",
    "misreadings",
    "realtime_request",
    "refusals",
    "request_problems",
]

REQUEST_FORMATS = ("openai", "openai.responses", "anthropic", "google", "aws", "mistralai")
"""The formats of `ChatContext.to_provider_format`."""


@attrs.frozen
class RequestEntry:
    """One entry of a request: a message, a tool call, or a result.

    Attributes:
        kind: The speaker, or ``call`` or ``result``.
        text: The message, the arguments of a call as JSON, or the result.
        id: The call's id, for calls and results.
        name: The tool's name, for calls.
    """

    kind: Literal["system", "user", "assistant", "call", "result"]
    text: str
    id: str = ""
    name: str = ""

    def __str__(self) -> str:
        if self.kind == "call":
            return f"call {self.id} {self.name}({self.text})"
        return f"{self.kind}{' ' * bool(self.id)}{self.id}: {self.text}"


def formatted_request(
    chat_ctx: llm.ChatContext, format: str = "openai"
) -> tuple[RequestEntry, ...]:
    """The entries of the request that a provider gets.

    LiveKit puts each call next to its result, and drops calls without one.

    Args:
        chat_ctx: The chat context of the request.
        format: One of `REQUEST_FORMATS`.

    Returns:
        The entries.

    Example:
        >>> from livekit.agents import ChatContext
        >>> from turnfsm.testing import formatted_request
        >>> chat_ctx = ChatContext()
        >>> _ = chat_ctx.add_message(role="user", content="hello")
        >>> formatted_request(chat_ctx)[0].text
        'hello'
    """
    messages, _ = chat_ctx.to_provider_format(format, inject_dummy_user_message=False)
    return tuple(_READERS[format](messages))


def realtime_request(chat_ctx: llm.ChatContext) -> tuple[RequestEntry, ...]:
    """A realtime model's conversation, in its order.

    Args:
        chat_ctx: The model's chat context.

    Returns:
        The entries.

    Example:
        >>> from livekit.agents import ChatContext
        >>> from turnfsm.testing import realtime_request
        >>> chat_ctx = ChatContext()
        >>> _ = chat_ctx.add_message(role="user", content="hello")
        >>> realtime_request(chat_ctx)[0].kind
        'user'
    """
    return tuple(entry for item in chat_ctx.items if (entry := _held(item)) is not None)


def refusals(entries: Iterable[RequestEntry]) -> list[str]:
    """Why a model would refuse this request; empty if it would not.

    Each call must be followed by exactly one result before the next message.
    """
    problems, pending = [], dict[str, RequestEntry]()
    for entry in entries:
        if entry.kind == "call":
            if entry.id in pending:
                problems.append(f"two calls have the id {entry.id}")
            pending[entry.id] = entry
        elif entry.kind == "result":
            if pending.pop(entry.id, None) is None:
                problems.append(f"the result {entry.text!r} ({entry.id}) does not follow its call")
        elif pending:
            problems += [_unanswered(call, f"before {entry.text!r}") for call in pending.values()]
            pending.clear()
    return problems + [_unanswered(call, "after it") for call in pending.values()]


def misreadings(entries: Iterable[RequestEntry], *, running: Collection[str] = ()) -> list[str]:
    """What a realtime model would misread in its conversation; empty if nothing.

    It answers the last item. If a result comes after an unanswered message of the user, it answers
    the result instead. A running call may have no result.
    """
    problems, pending = [], dict[str, RequestEntry]()
    unanswered = dict[str, str]()
    for entry in entries:
        if entry.kind == "call":
            pending[entry.id] = entry
        elif entry.kind == "user":
            unanswered |= dict.fromkeys(pending, entry.text)
        elif entry.kind == "assistant":
            unanswered.clear()
        elif entry.kind == "result":
            if pending.pop(entry.id, None) is None:
                problems.append(f"the result {entry.text!r} ({entry.id}) does not follow its call")
            elif words := unanswered.pop(entry.id, ""):
                problems.append(f"the result {entry.text!r} ({entry.id}) comes after {words!r}")
    still = [call for call in pending.values() if call.id not in running]
    return problems + [_unanswered(call, "after it") for call in still]


def request_problems(
    chat_ctx: llm.ChatContext, *, realtime: bool = False, running: Collection[str] = ()
) -> list[str]:
    """The problems of a chat context as the model gets it, in every provider's format.

    Args:
        chat_ctx: The chat context.
        realtime: It is a realtime model's conversation; nothing is formatted.
        running: The ids of running calls. A realtime model may have them without a result.

    Returns:
        One sentence for each problem: something that the model refuses or misreads, or a call or
        result that is in the context and not in the request.

    Example:
        >>> from livekit.agents import ChatContext
        >>> from turnfsm.testing import request_problems
        >>> request_problems(ChatContext())
        []
    """
    if realtime:
        return misreadings(realtime_request(chat_ctx), running=running)
    problems: dict[str, list[str]] = {}
    for format in REQUEST_FORMATS:
        entries = formatted_request(chat_ctx, format)
        for problem in (*refusals(entries), *_left_out(chat_ctx, entries)):
            problems.setdefault(problem, []).append(format)
    return [
        problem if len(formats) == len(REQUEST_FORMATS) else f"{problem} (for {', '.join(formats)})"
        for problem, formats in problems.items()
    ]


def _left_out(chat_ctx: llm.ChatContext, entries: Sequence[RequestEntry]) -> Iterator[str]:
    unmatched = [(entry.kind, entry.id) for entry in entries]
    for entry in realtime_request(chat_ctx):
        if entry.kind not in ("call", "result"):
            continue
        if (entry.kind, entry.id) in unmatched:
            unmatched.remove((entry.kind, entry.id))
        else:
            yield f"the request leaves out {entry}"


def _unanswered(call: RequestEntry, where: str) -> str:
    return f"the call {call.name} ({call.id}) has no result {where}"


def _held(item: llm.ChatItem) -> RequestEntry | None:
    if item.type == "message":
        return RequestEntry(_role(item.role), item.text_content or "")
    if item.type == "function_call":
        return RequestEntry("call", _arguments(item.arguments), item.call_id, item.name)
    if item.type == "function_call_output":
        return RequestEntry("result", item.output, item.call_id)
    return None


def _role(role: str) -> Literal["system", "user", "assistant"]:
    if role in ("assistant", "model"):
        return "assistant"
    return "user" if role == "user" else "system"


def _arguments(given: Any) -> str:
    if not isinstance(given, str):
        return json.dumps(given)
    try:
        return json.dumps(json.loads(given or "{}"))
    except ValueError:  # a model may write invalid JSON
        return given


def _texts(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] for part in content if "text" in part)


def _openai(messages: Sequence[dict[str, Any]]) -> Iterator[RequestEntry]:
    for message in messages:
        if message["role"] == "tool":
            yield RequestEntry("result", _texts(message["content"]), message["tool_call_id"])
            continue
        if "content" in message:
            yield RequestEntry(_role(message["role"]), _texts(message["content"]))
        for call in message.get("tool_calls", ()):
            named = call["function"]
            yield RequestEntry("call", _arguments(named["arguments"]), call["id"], named["name"])


def _responses(items: Sequence[dict[str, Any]]) -> Iterator[RequestEntry]:
    for item in items:
        if item.get("type") == "function_call":
            yield RequestEntry("call", _arguments(item["arguments"]), item["call_id"], item["name"])
        elif item.get("type") == "function_call_output":
            yield RequestEntry("result", _texts(item["output"]), item["call_id"])
        else:
            yield RequestEntry(_role(item["role"]), _texts(item["content"]))


def _anthropic(messages: Sequence[dict[str, Any]]) -> Iterator[RequestEntry]:
    for role, part in _parts(messages, "content"):
        if part["type"] == "tool_use":
            yield RequestEntry("call", _arguments(part["input"]), part["id"], part["name"])
        elif part["type"] == "tool_result":
            yield RequestEntry("result", _texts(part["content"]), part["tool_use_id"])
        else:
            yield RequestEntry(_role(role), part.get("text", ""))


def _google(turns: Sequence[dict[str, Any]]) -> Iterator[RequestEntry]:
    for role, part in _parts(turns, "parts"):
        if call := part.get("function_call"):
            yield RequestEntry("call", _arguments(call["args"]), call["id"], call["name"])
        elif result := part.get("function_response"):
            yield RequestEntry(
                "result", "".join(map(str, result["response"].values())), result["id"]
            )
        else:
            yield RequestEntry(_role(role), part.get("text", ""))


def _aws(messages: Sequence[dict[str, Any]]) -> Iterator[RequestEntry]:
    for role, part in _parts(messages, "content"):
        if call := part.get("toolUse"):
            yield RequestEntry("call", _arguments(call["input"]), call["toolUseId"], call["name"])
        elif result := part.get("toolResult"):
            yield RequestEntry("result", _texts(result["content"]), result["toolUseId"])
        else:
            yield RequestEntry(_role(role), part.get("text", ""))


def _mistral(entries: Sequence[dict[str, Any]]) -> Iterator[RequestEntry]:
    for entry in entries:
        if entry["type"] == "function.call":
            arguments = _arguments(entry["arguments"])
            yield RequestEntry("call", arguments, entry["tool_call_id"], entry["name"])
        elif entry["type"] == "function.result":
            yield RequestEntry("result", entry["result"], entry["tool_call_id"])
        else:
            yield RequestEntry(_role(entry["role"]), _texts(entry["content"]))


def _parts(messages: Sequence[dict[str, Any]], key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((message["role"], part) for message in messages for part in message[key])


_READERS: dict[str, Callable[[Sequence[dict[str, Any]]], Iterator[RequestEntry]]] = {
    "openai": _openai,
    "openai.responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
    "aws": _aws,
    "mistralai": _mistral,
}
