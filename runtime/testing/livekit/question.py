"""What a request asks of a scripted model: what to answer, and which results to mention."""

from __future__ import annotations

import re

import attrs
from livekit.agents import llm

from turnfsm.runtime.conversation.wording import BESIDES
from turnfsm.runtime.livekit.overrides.projected import HINT

__all__ = ["Question", "hint_in", "question_of", "results_to_mention"]

_RUNNING = "_running_output"
"""The end of the id of the output with which LiveKit shows a running call."""
_OF_THE_AGENT = "lk."
"""The beginning of the ids of the messages with the agent's instructions."""
_NAMED = re.compile("".join(("(.+)" if n else "") + re.escape(part)
                            for n, part in enumerate(BESIDES.split("{calls}"))))  # fmt: skip


@attrs.frozen
class Question:
    """What a request asks.

    Attributes:
        kind: ``user``, ``tool`` or ``instructions``.
        text: What is to be answered: a message, a tool's result, or instructions.
        tool: The tool's name.
        output: The call id of that result.
        instructions: The reply's own instructions, such as those of `generate_reply`.
        before: The user's message right before the instructions for a realtime model.
    """

    kind: str
    text: str = ""
    tool: str = ""
    output: str = ""
    instructions: str = ""
    before: str = ""

    @property
    def prompt(self) -> str:
        """As one line."""
        return f"{self.kind} {self.tool}".strip() + f": {self.text}"


def question_of(chat_ctx: llm.ChatContext) -> Question:
    """The last item that needs an answer, and the instructions: a system message since the last
    message of the user."""
    result: llm.FunctionCallOutput | None = None
    said: llm.ChatMessage | None = None
    instructions, runs = "", False
    for item in reversed(chat_ctx.items):
        if item.type == "function_call_output":
            if _stands_for_a_result(item):
                runs = True
            else:
                result = result or item
        if item.type != "message":
            continue
        if item.role in ("user", "developer"):
            said = item
            break
        of_reply = item.role == "system" and not item.id.startswith(_OF_THE_AGENT)
        if of_reply and not instructions and not _is_about_results(item, chat_ctx):
            instructions = item.text_content or ""
    if result is not None:
        return Question("tool", result.output, result.name, result.call_id, instructions)
    if runs or said is None:  # the call that was made for the message is not over
        return Question("instructions", instructions, instructions=instructions)
    before = _before_instructions(chat_ctx)
    return Question("user", said.text_content or "", instructions=instructions, before=before)


def hint_in(chat_ctx: llm.ChatContext) -> str:
    """What the session has added to the request about results; empty if nothing."""
    messages = (item for item in chat_ctx.items if item.type == "message")
    return " ".join(item.text_content or "" for item in messages if item.id.startswith(HINT))


def results_to_mention(chat_ctx: llm.ChatContext) -> dict[str, str]:
    """The calls whose results are to be mentioned with another answer: their tools, by call id."""
    named = _NAMED.search(hint_in(chat_ctx))
    calls = [item for item in chat_ctx.items if item.type == "function_call"]
    return {
        call.call_id: call.name for call in calls if named and f"({call.call_id})" in named.group(1)
    }


def _stands_for_a_result(item: llm.FunctionCallOutput) -> bool:
    return item.id.startswith(HINT) or item.id.endswith(_RUNNING)


def _is_about_results(item: llm.ChatMessage, chat_ctx: llm.ChatContext) -> bool:
    """It is a hint, or asks for the result of a call: that result is answered."""
    text = item.text_content or ""
    calls = (call for call in chat_ctx.items if call.type == "function_call")
    return item.id.startswith(HINT) or any(f"({call.call_id})" in text for call in calls)


def _before_instructions(chat_ctx: llm.ChatContext) -> str:
    items = [item for item in chat_ctx.items[-2:] if item.type == "message"]
    roles = [item.role for item in items]
    return items[0].text_content or "" if roles == ["user", "developer"] else ""
