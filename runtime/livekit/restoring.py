"""Restores a session whose worker has died: its conversation and its calls."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any, Protocol

from livekit.agents import Agent, llm

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.cut_off import agenda_entries, ledger_of, output_of
from turnfsm.runtime.conversation.resumption import Resumption
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.store.past import Past
from turnfsm.runtime.turn import TurnRuntime

from .overrides import turn_of

__all__ = ["restore"]

logger = logging.getLogger("turnfsm")


class RestoredSession(Protocol):
    """What is put back into a session."""

    ledger: Ledger
    _conductor: Conductor

    @property
    def history(self) -> llm.ChatContext: ...
    @property
    def tools(self) -> list[llm.Tool | llm.Toolset]: ...
    @property
    def turn(self) -> TurnRuntime: ...
    @property
    def turn_detection(self) -> Any: ...


async def restore(past: Past, session: RestoredSession, agent: Agent, keeping: Keeping) -> None:
    """Restore a conversation as the worker before has left it.

    Args:
        agent: The agent that is about to become active.
    """
    if past.missing:
        logger.warning(
            "session %r continues without %s: its store does not keep them (redact)",
            keeping.session_id, " and without ".join(past.missing),
        )  # fmt: skip
    turn, conductor = session.turn, session._conductor
    tools = llm.ToolContext([*session.tools, *agent.tools]).function_tools
    session.ledger.take_over(await ledger_of(past.journal, tools, keeping.key_of))
    for call in session.ledger:
        turn.note("tool_restored", **call.as_note())
    turn.note("resumed", epoch=past.epoch, state=past.state, agent=past.agent)
    if past.apologised:
        turn.note("apology", heard=True)

    items = items_of_past(past)
    calls = items_of_calls(session.ledger, items)
    for call in session.ledger:
        if call.state in ("ended", "given"):
            session.ledger.post(call, "committed")
    _insert(session.history, [*items, *calls])
    conversation = agent.chat_ctx.copy()
    _insert(conversation, [*(item for item in items if item.id in past.shown), *calls])
    await agent.update_chat_ctx(conversation, exclude_invalid_function_calls=False)

    conductor.turns.restore(past.turns.get("outcomes", {}))
    for waiting in past.turns.get("waiting", ()):
        info = turn_of(waiting["text"], waiting["confidence"])
        conductor.defer(info, agent.label, "its worker died before it was answered")
    if words := past.turns.get("uncommitted"):
        by_itself = session.turn_detection != "manual"
        conductor.defer_uncommitted_turn(agent.label, turn_of(words, 0.0), by_itself)

    entries = agenda_entries(
        past.journal, session.ledger, conductor.log.rules, {i.id for i in items}
    )
    for entry in entries:
        conductor.log.add(entry)
    resumption = Resumption(past, results=bool(conductor.log.agenda.open))
    resumption.post("taken_over")
    if not resumption.greets:
        enter_again(agent, past)
    conductor.host.resumption = resumption


def enter_again(agent: Agent, past: Past) -> None:
    """Let an agent become active that was active before.

    Its `on_enter` is not called, because it has greeted. Its `on_resume` is called if it has one.
    """

    async def on_enter() -> None:
        del agent.on_enter  # when it is entered again, it is entered normally
        resume = getattr(agent, "on_resume", None)
        if resume is not None:
            await resume(past)

    agent.on_enter = on_enter  # type: ignore[method-assign]


def items_of_past(past: Past) -> list[llm.ChatItem]:
    """The conversation, with no item younger than now.

    The clock of the worker before may be ahead, and LiveKit sorts items by time.
    """
    items = llm.ChatContext.from_dict({"items": [dict(item) for item in past.items]}).items
    ahead = max((item.created_at for item in items), default=0.0) - time.time()
    if ahead >= 0:
        for item in items:
            item.created_at -= ahead + 0.001
    return sorted(items, key=lambda item: item.created_at)


def items_of_calls(ledger: Ledger, known: Iterable[llm.ChatItem]) -> list[llm.ChatItem]:
    """The calls that the conversation lacks, each with its output, at the end."""
    items = list(known)
    answered = {item.call_id for item in items if item.type == "function_call_output"}
    made = {item.call_id for item in items if item.type == "function_call"}
    news: list[llm.ChatItem] = []
    for call in ledger:
        output = output_of(call, made=call.id in made)
        if output is None or call.id in answered:
            continue
        if call.id not in made:
            news.append(
                llm.FunctionCall(call_id=call.id, name=call.name, arguments=call.arguments or "{}")
            )
        news.append(
            llm.FunctionCallOutput(
                call_id=call.id, name=call.name, output=output, is_error=call.gave != "result"
            )
        )
    latest = max((item.created_at for item in items), default=time.time())
    for n, item in enumerate(news, 1):
        item.created_at = latest + n * 1e-6
    return news


def _insert(context: llm.ChatContext, items: Iterable[llm.ChatItem]) -> None:
    there = {item.id for item in context.items}
    context.insert([item for item in items if item.id not in there])
