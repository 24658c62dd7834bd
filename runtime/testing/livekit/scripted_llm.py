"""A language model that answers from a script and remembers its requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import attrs
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectionError,
    APIConnectOptions,
    llm,
)
from livekit.agents.types import NotGivenOr

from turnfsm.runtime.testing.errors import KitError

from .belief import Belief, Call
from .question import Question, hint_in, question_of, results_to_mention
from .requests import RequestEntry, formatted_request, realtime_request

__all__ = ["Call", "Reply", "Request", "ScriptedLLM", "items_of"]


def _calls(value: Call | Iterable[Call]) -> tuple[Call, ...]:
    many = (value,) if isinstance(value, Call | str) or not isinstance(value, Iterable) else value
    calls = tuple(many)
    for call in calls:
        if not isinstance(call, Call):
            said = f"write Call({call!r}, {{...}})" if isinstance(call, str) else "give a Call"
            raise KitError(f"calls={value!r}: {call!r} is not a call; {said}")
    return calls


def _positive(instance: object, field: attrs.Attribute[float], value: float) -> None:
    if not value >= 0:
        raise KitError(f"{field.name}={value!r}; give seconds, 0 or more")


@attrs.frozen
class Reply:
    """An answer of the model: text, then tool calls.

    Attributes:
        text: The text.
        calls: A `Call` or several.
        ttft: Seconds to the first token.
        duration: Seconds from the first token to the last.
        error: Raised after the text, instead of the calls.

    Example:
        >>> from turnfsm.testing import Call, Reply
        >>> Reply("One moment.", Call("book_table"), ttft=0.5).calls[0].name
        'book_table'
    """

    text: str = ""
    calls: tuple[Call, ...] = attrs.field(default=(), converter=_calls)
    ttft: float = attrs.field(default=0.2, validator=_positive)
    duration: float = attrs.field(default=0.1, validator=_positive)
    error: Exception | None = None


@attrs.define
class Request:
    """One request to the model.

    Attributes:
        at: In seconds.
        prompt: The text to answer.
        context: The items of the chat context at that time, one line each.
        chat_ctx: A copy of the chat context.
        hint: What the session has added to this request about the results of tools, such as one
            that the answer should mention; empty if nothing.
        outcome: ``running``, ``complete``, ``failed`` or ``cancelled``.
        ended: When it ended; None while it runs.
        finished_calls: The ids of the tool calls that had ended when the request was made.
        realtime: It went to a realtime model, whose conversation has the order of `chat_ctx`.
    """

    at: float
    prompt: str
    context: tuple[str, ...]
    chat_ctx: llm.ChatContext
    hint: str = ""
    outcome: str = "running"
    ended: float | None = None
    finished_calls: frozenset[str] = frozenset()
    realtime: bool = False

    @property
    def shown(self) -> tuple[RequestEntry, ...]:
        """The request as the model sees it: formatted for OpenAI, or as in a realtime model."""
        if self.realtime:
            return realtime_request(self.chat_ctx)
        return formatted_request(self.chat_ctx)


Rule = Reply | str | Callable[[Request], Reply]


class ScriptedLLM(llm.LLM[Any]):
    """A model that answers by rules.

    A rule for the user matches if its key is contained in the last user message, or in the
    instructions of this reply, such as those of `generate_reply`; if no rule matches the
    instructions, what comes before them is answered. A rule for a tool or an update has the tool's
    name as key. The value of a rule is a `Reply`, a text, or a function of the `Request`.

    Like a real model, it does not call a tool that earlier requests have offered, and this one does
    not. If a later request shows a message but not the call that it has made for it, it repeats the
    call.

    Args:
        on_user: The rules for messages of the user.
        on_tool: The rules for tool results.
        on_update: The rules for updates of a running tool (``ctx.update()``). Without a rule an
            update is answered like a result. A `Stage` marks the outputs that are updates.
        otherwise: The answer if no rule matches.
        believes: False: it does not repeat calls.
        retries: It also repeats a call whose output has this text.
        reads_hints: If a hint of the session (`Request.hint`) asks it to mention a result, it adds
            the text of the rule for this tool, unless the conversation has it already.
        down: True: it is unreachable, and every attempt fails. May be changed during the stage.

    Example:
        >>> from turnfsm.testing import Call, Reply, ScriptedLLM
        >>> llm = ScriptedLLM(
        ...     {"a table": Reply("One moment.", Call("book_table"))},
        ...     {"book_table": "Your table is booked."},
        ... )
    """

    def __init__(
        self,
        on_user: Mapping[str, Rule] | None = None,
        on_tool: Mapping[str, Rule] | None = None,
        *,
        on_update: Mapping[str, Rule] | None = None,
        otherwise: Rule = "I see.",
        believes: bool = True,
        retries: str = "",
        reads_hints: bool = False,
        down: bool = False,
    ) -> None:
        super().__init__()
        self.down = down
        self._reads_hints = reads_hints
        self._belief = Belief(retries=retries) if believes else None
        self.on_user, self.on_tool = dict(on_user or {}), dict(on_tool or {})
        self.on_update = dict(on_update or {})
        self.otherwise = otherwise
        self.updates: set[str] = set()
        """The ids of the outputs that are updates, not results."""
        self.requests: list[Request] = []
        self.on_request: Callable[[Request], None] | None = None
        """Called with each request when it is made, and again when it has ended."""
        self._offered: set[str] = set()
        self._calls = 0

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[llm.ToolChoice] = NOT_GIVEN,
        extra_kwargs: NotGivenOr[dict[str, Any]] = NOT_GIVEN,
    ) -> llm.LLMStream:
        stream = _Stream(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)
        stream.may_call = tool_choice != "none"
        return stream

    def ask(
        self,
        chat_ctx: llm.ChatContext,
        tools: Iterable[llm.Tool] = (),
        *,
        realtime: bool = False,
        may_call: bool = True,
    ) -> tuple[Request, Reply]:
        """Record a request made now, and find its answer.

        With `may_call=False` the answer has no tool calls.
        """
        question = question_of(chat_ctx)
        request = Request(
            at=asyncio.get_running_loop().time(),
            prompt=question.prompt,
            context=items_of(chat_ctx),
            chat_ctx=chat_ctx.copy(),
            hint=hint_in(chat_ctx),
            realtime=realtime,
        )
        self.requests.append(request)
        self.tell(request)
        offered = llm.ToolContext(list(tools)).function_tools
        rule = self._rule(question)
        reply = self._of(self.otherwise if rule is None else rule, request)
        if reply.error is None and self._reads_hints:
            reply = attrs.evolve(reply, text=self._with_results(reply.text, question, request))
        calls = self._possible(reply.calls, offered) if may_call else ()
        if may_call and self._belief is not None and reply.error is None:
            calls = self._belief.calls(request.shown, calls, offered=offered)
        return request, attrs.evolve(reply, calls=calls)

    def _rule(self, question: Question) -> Rule | None:
        """The rule for the instructions, or else for what is before them."""
        results = self.on_tool
        if question.output in self.updates:
            results = self.on_update | {k: r for k, r in results.items() if k not in self.on_update}
        to_user = (question.text, question.before) if question.kind != "tool" else ()
        keys = [(self.on_user, question.instructions), *((self.on_user, text) for text in to_user)]
        keys += [(results, question.tool)] if question.kind == "tool" else []
        found = (r for rules, key in keys for k, r in rules.items() if k.lower() in key.lower())
        return next(found, None)

    def _with_results(self, text: str, question: Question, request: Request) -> str:
        """The answer, with the results that the hint names, unless they were told already."""
        told = [line for line in request.context if line.startswith("assistant: ")]
        for call, tool in results_to_mention(request.chat_ctx).items():
            rule = self._rule(Question("tool", tool=tool)) if call != question.output else None
            more = self._of(rule, request).text if rule is not None else ""
            if more and not any(more in line for line in (text, *told)):
                text = f"{text} {more}".strip()
        return text

    def _of(self, rule: Rule, request: Request) -> Reply:
        found = rule if isinstance(rule, Reply | str) else rule(request)
        return Reply(found) if isinstance(found, str) else found

    def _possible(self, calls: tuple[Call, ...], offered: Collection[str]) -> tuple[Call, ...]:
        """The calls without those of tools that only earlier requests have offered. A tool that
        none has offered is a mistake of the script, which LiveKit reports."""
        self._offered |= {*offered}
        gone = self._offered - {*offered}
        return tuple(call for call in calls if call.name not in gone)

    def tell(self, request: Request) -> None:
        """Notify the listener of a request, if there is one."""
        if self.on_request is not None:
            self.on_request(request)

    def next_call_id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"

    def call_of(self, call: Call) -> llm.FunctionCall:
        """A call with the next id."""
        arguments = json.dumps(dict(call.arguments))
        return llm.FunctionCall(call_id=self.next_call_id(), name=call.name, arguments=arguments)


class _Stream(llm.LLMStream):
    may_call = True

    async def _run(self) -> None:
        model = self._llm
        assert isinstance(model, ScriptedLLM)
        if model.down:
            raise APIConnectionError("the scripted LLM is down")
        loop = asyncio.get_running_loop()
        request, reply = model.ask(self._chat_ctx, self._tools, may_call=self.may_call)
        try:
            await asyncio.sleep(reply.ttft)
            await self._say(reply)
            if reply.error is not None:
                raise reply.error
            for call in map(model.call_of, reply.calls):
                made = llm.FunctionToolCall(
                    name=call.name, arguments=call.arguments, call_id=call.call_id
                )
                self._send(tool_calls=[made])
            request.outcome = "complete"
        finally:
            if request.outcome == "running":
                request.outcome = "cancelled" if reply.error is None else "failed"
            request.ended = loop.time()
            model.tell(request)

    async def _say(self, reply: Reply) -> None:
        words = reply.text.split(" ") if reply.text else []
        for i, word in enumerate(words):
            if i:
                await asyncio.sleep(reply.duration / (len(words) - 1))
            self._send(content=word if i == len(words) - 1 else word + " ")

    def _send(self, **delta: Any) -> None:
        chunk = llm.ChatChunk(
            id="scripted", delta=llm.ChoiceDelta.model_validate({"role": "assistant", **delta})
        )
        self._event_ch.send_nowait(chunk)


def items_of(chat_ctx: llm.ChatContext) -> tuple[str, ...]:
    """The items of a chat context without instructions, one line each."""
    lines = []
    for item in chat_ctx.items:
        if item.type == "message" and item.role != "system":
            cut = " (interrupted)" if item.interrupted else ""
            lines.append(f"{item.role}: {item.text_content or ''}{cut}")
        elif item.type == "function_call":
            lines.append(f"call {item.call_id} {item.name}({item.arguments})")
        elif item.type == "function_call_output":
            error = " (error)" if item.is_error else ""
            lines.append(f"output {item.call_id} {item.name} = {item.output}{error}")
        elif item.type == "agent_handoff":
            lines.append("handoff")
    return tuple(lines)
