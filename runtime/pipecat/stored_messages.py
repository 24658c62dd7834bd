"""The conversation of a pipeline as the store saves it: Pipecat's messages, each with an id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from turnfsm.runtime.conversation.orphaned_calls import output_of
from turnfsm.runtime.host.turns import Turn
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.store.past import Past

from .agent import PipecatAgent
from .hearing import Hearing
from .requests import Message, Names, call_message, call_status

__all__ = ["StoredMessages", "restore_messages", "turn_of"]


class StoredMessages:
    """The `Conversation` that the store saves.

    Args:
        given: The application's initial messages. The next worker gets them from the application,
            too.
    """

    agent = "pipeline"

    def __init__(self, agent: PipecatAgent, hearing: Hearing, given: Iterable[Message]) -> None:
        self._agent, self._hearing = agent, hearing
        self._given = {agent.names.of(message) for message in given}
        self._known: dict[str, object] = {}

    def moved(self) -> bool:
        return True  # Pipecat changes messages in place

    def shown(self) -> Iterator[str]:
        return (name for name, _ in self._kept())

    def items(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, message in self._kept():
            content = message.get("content")
            if name not in self._known or self._known[name] != content:
                self._known[name] = content
                yield name, {"id": name, "message": _without_media(message)}

    def turn(self, info: Any) -> Mapping[str, Any]:
        return {"text": info.new_transcript}

    def waiting(self) -> Iterator[Mapping[str, Any]]:
        return iter(())

    def uncommitted(self) -> str:
        return self._hearing.uncommitted

    def _kept(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for message in self._agent.context.messages:
            name = self._agent.names.of(message)
            if isinstance(message, dict) and name not in self._given:
                yield name, message


def restore_messages(past: Past, ledger: Ledger, names: Names) -> list[dict[str, Any]]:
    """The previous worker's conversation: the same message ids, the present names of its tools.

    Missing calls and outputs are added, so that each call has an output, which is its last, unless
    the application had taken it out. A message that says that a call is running is replaced by its
    outcome.
    """
    restored = {}
    for item in past.items:
        message = restored[item["id"]] = deepcopy(dict(item["message"]))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            function["name"] = past.renamed.get(function["name"], function["name"])
        names.restore(message, item["id"])
    messages = [restored[id] for id in past.shown if id in restored]
    _add_calls(ledger, messages, _answered(restored.values()))
    return messages


def _answered(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    """The calls whose outputs are among the messages."""
    outputs = [message for message in messages if message.get("role") == "tool"]
    final = {call for kind, call in map(call_status, messages) if kind == "final"}
    return final | {m["tool_call_id"] for m in outputs if call_status(m)[0] != "started"}


def _add_calls(ledger: Ledger, messages: list[dict[str, Any]], answered: set[str]) -> None:
    calls = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
    runs = {m["tool_call_id"]: m for m in messages if call_status(m)[0] == "started"}
    for call in ledger:
        output = output_of(call, made=call.id in calls)
        if output is None or call.id in answered:
            continue
        if call.id in runs:
            runs[call.id]["content"] = output
            continue
        if call.id not in calls:
            messages.append(call_message(call.id, call.name, call.arguments or "{}"))
        messages.append({"role": "tool", "content": output, "tool_call_id": call.id})


def turn_of(stored: Mapping[str, object]) -> Turn:
    """A turn that a previous worker has heard."""
    return Turn(str(stored["text"]), restored=True)


def _without_media(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without pictures and audio."""
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    return {**message, "content": [part for part in content if part.get("type") == "text"]}
