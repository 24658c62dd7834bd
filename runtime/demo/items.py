"""The items of a conversation that the scripted model and the checks read."""

from typing import Literal

from livekit.agents import llm

__all__ = ["call", "message", "output"]


def message(role: Literal["user", "assistant"], text: str) -> llm.ChatItem:
    """A message."""
    return llm.ChatMessage(role=role, content=[text])


def call(id: str, name: str, arguments: str) -> llm.ChatItem:
    """A call of a tool, its arguments as JSON."""
    return llm.FunctionCall(call_id=id, name=name, arguments=arguments)


def output(id: str, name: str, text: str) -> llm.ChatItem:
    """The result of a call."""
    return llm.FunctionCallOutput(call_id=id, name=name, output=text, is_error=False)
