"""A deterministic language model that follows rules, as an `llm.LLM`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen
from livekit.agents import llm, utils

from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM
from turnfsm.runtime.testing.livekit import Request as ScriptedRequest

from .pace import Pace
from .words import words

__all__ = ["Request", "Rule", "RuleLLM", "call", "message", "output"]


@frozen
class Rule:
    """What the model does when the user has said something.

    Attributes:
        heard: A regular expression over the words of the user's message; the rule matches if it is
            found.
        thinks: Seconds before the first token, in addition to the model's own.
        say: What it says, before the tool call if there is one.
        tool: The tool that it calls; empty for none.
        arguments: The arguments of that call.
        answer: What it says when the tool has ended; ``{result}`` stands for the result.

    Example:
        >>> from turnfsm.demo import Rule
        >>> Rule("hello", say="Hi there.").tool
        ''
    """

    heard: str
    thinks: float = 0.0
    say: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(factory=dict)
    answer: str = "{result}"


@frozen
class Request:
    """One call of the model: when, on what last item of the context, and what it replied."""

    at: float  # conversation time
    about: str  # the user's words, or the tool that ended
    reply: str  # the text, and the name of the tool in brackets


class RuleLLM(ScriptedLLM):
    """A model that replies by rules: to the last user message, or to the last tool results.

    It has no memory and no side effects, so a speculative request does no harm.

    Args:
        rules: The first that matches is used.
        fallback: The reply if none matches.
        pace: The clock of the conversation.

    Example:
        >>> from turnfsm.demo import Pace, Rule, RuleLLM
        >>> llm = RuleLLM([Rule("hello", say="Hi.")], fallback="I see.", pace=Pace())
    """

    first_token = 0.15
    """Seconds until the first token."""
    token = 0.02
    """Seconds between tokens."""

    def __init__(self, rules: Sequence[Rule], *, fallback: str, pace: Pace) -> None:
        super().__init__(otherwise=self._reply, believes=False)
        self._rules = tuple(rules)
        self._fallback = Rule(heard="", say=fallback)
        self.pace = pace
        self.asked: list[Request] = []

    @property
    def model(self) -> str:
        return "scripted"

    @property
    def provider(self) -> str:
        return "turnfsm"

    def next_call_id(self) -> str:
        """An id that no other model gives, such as that of the worker before."""
        return utils.shortuuid("call_")

    def answer_to(self, items: Sequence[llm.ChatItem]) -> Rule:
        """The rule for a request, which is added to `asked`."""
        about, reply = self._decide(items)
        shown = f"{reply.say} [{reply.tool}]".strip() if reply.tool else reply.say
        self.asked.append(Request(self.pace.now(), about, shown))
        return reply

    def _reply(self, request: ScriptedRequest) -> Reply:
        rule = self.answer_to(request.chat_ctx.items)
        calls = Call(rule.tool, rule.arguments) if rule.tool else ()
        ttft = self.pace.wall(self.first_token + rule.thinks)
        duration = self.pace.wall(self.token * max(0, len(rule.say.split()) - 1))
        return Reply(rule.say, calls, ttft=ttft, duration=duration)

    def _decide(self, items: Sequence[llm.ChatItem]) -> tuple[str, Rule]:
        results: list[llm.FunctionCallOutput] = []
        for item in reversed(items):
            if isinstance(item, llm.FunctionCallOutput):
                results.insert(0, item)
            elif results and not isinstance(item, llm.FunctionCall):
                break  # the calls stand before or between their results
            elif isinstance(item, llm.ChatMessage) and item.role == "user":
                text = item.text_content or ""
                return text, self._reply_to(text)
        return ", ".join(result.name for result in results), self._report(results)

    def _reply_to(self, text: str) -> Rule:
        heard = " ".join(words(text))
        return next((r for r in self._rules if re.search(r.heard, heard)), self._fallback)

    def _report(self, results: Sequence[llm.FunctionCallOutput]) -> Rule:
        sentences = [self._template(result).format(result=result.output) for result in results]
        return Rule(heard="", say=" ".join(sentences))

    def _template(self, result: llm.FunctionCallOutput) -> str:
        if result.is_error:
            return "Sorry, that failed: {result}"
        return next((r.answer for r in self._rules if r.tool == result.name), "{result}")


def message(role: Literal["user", "assistant"], text: str) -> llm.ChatItem:
    """A message, for `answer_to`."""
    return llm.ChatMessage(role=role, content=[text])


def call(id: str, name: str, arguments: str) -> llm.ChatItem:
    """A call of a tool, its arguments as JSON."""
    return llm.FunctionCall(call_id=id, name=name, arguments=arguments)


def output(id: str, name: str, text: str) -> llm.ChatItem:
    """The result of a call."""
    return llm.FunctionCallOutput(call_id=id, name=name, output=text, is_error=False)
