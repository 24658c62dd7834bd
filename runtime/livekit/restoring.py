"""A session that goes on in the place of one whose worker has died: its conversation, its calls."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs
from livekit.agents import Agent, llm

from turnfsm.fsm.flow import Tools
from turnfsm.fsm.journal import Journal, Note
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.policies import CutOffCall, NotMade, is_repeatable, recover_of
from turnfsm.runtime.conversation.resumption import CUT_OFF, NOT_KEPT, UNKNOWN_END, Resumption
from turnfsm.runtime.ledger import Ledger, LedgerCall
from turnfsm.runtime.store.past import Past
from turnfsm.runtime.turn import TurnRuntime

from .keeping import Keeping
from .overrides import turn_of

__all__ = ["restore"]

logger = logging.getLogger("turnfsm")

KeyOf = Callable[[str, str], str]

RECOVER_LIMIT = 5.0
"""Seconds in which a tool must have found out what became of a call."""


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
    """Put a conversation back as its last worker has left it.

    Args:
        agent: The one that is about to take charge.
    """
    if past.missing:
        logger.warning(
            "session %r goes on without %s: its store does not keep them (redact)",
            keeping.session_id, " and without ".join(past.missing),
        )  # fmt: skip
    turn, conductor = session.turn, session._conductor
    tools = llm.ToolContext([*session.tools, *agent.tools]).function_tools
    session.ledger.take_over(await ledger_of(past, tools, turn.flow.tools, keeping.key_of))
    for call in session.ledger:
        turn.note("tool_restored", **call.as_note())
    turn.note("resumed", epoch=past.epoch, state=past.state, agent=past.agent)
    if past.apologised:
        turn.note("apology", heard=True)

    items = items_of_past(past)
    calls = items_of_calls(session.ledger, items)
    untold = untold_of(session.ledger, past)
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
        conductor.turns.keep(info, agent.label, "its worker died before it was answered")
    if words := past.turns.get("uncommitted"):
        by_itself = session.turn_detection != "manual"
        conductor.keep_uncommitted_turn(agent.label, turn_of(words, 0.0), by_itself)

    resumption = Resumption(past, untold)
    resumption.post("taken_over")
    if not resumption.greets:
        enter_again(agent, past)
    conductor.host.resumption = resumption


async def ledger_of(past: Past, tools: Mapping[str, Any], policies: Tools, key_of: KeyOf) -> Ledger:
    """The calls of the time before. Each has ended: those that ran were asked for, or nobody knows.

    Args:
        tools: Those that the agent has now, by name.
        policies: What the flow says about tools.
        key_of: Names a call and no other, in all sessions.
    """
    journal = _readable(_with_intended(past.journal))
    ended = []
    for call in Ledger.from_journal(journal):
        if call.gave is None:
            found = await _end_of(call, tools.get(call.name), policies, key_of)
            ended.append({"call": call.id, "name": call.name} | found)
    # of a call that was answered or has reported the result comes late: before its end
    notes = [Note(0, 0.0, k, data) for data in ended for k in ("tool_late_result", "tool_ended")]
    return Ledger.from_journal(attrs.evolve(journal, records=(*journal.records, *notes)))


def enter_again(agent: Agent, past: Past) -> None:
    """Let an agent take charge that was in charge before: its `on_enter` is not called, for it has
    greeted; its `on_resume` is, if it has one."""

    async def on_enter() -> None:
        del agent.on_enter  # if it is entered once more, it is new
        resume = getattr(agent, "on_resume", None)
        if resume is not None:
            await resume(past)

    agent.on_enter = on_enter  # type: ignore[method-assign]


def untold_of(ledger: Ledger, past: Past) -> list[LedgerCall]:
    """The calls of which the user has to hear what became: they have not, and nobody had begun to
    say it."""
    states = {"ended", "given", "owed"} | ({"untold"} if past.reply_under_way else set())
    news = [call for call in ledger if not call.told and call.output]
    results = [call for call in news if call.gave == "result" and call.state in states]
    return [call for call in news if call in results or call.gave == "unknown"]


def items_of_past(past: Past) -> list[llm.ChatItem]:
    """The conversation. Nothing of it is younger than now: the clock of another machine, or of
    this one before it was set, may be ahead, and LiveKit sorts by time."""
    items = llm.ChatContext.from_dict({"items": [dict(item) for item in past.items]}).items
    ahead = max((item.created_at for item in items), default=0.0) - time.time()
    if ahead >= 0:
        for item in items:
            item.created_at -= ahead + 0.001
    return sorted(items, key=lambda item: item.created_at)


def items_of_calls(ledger: Ledger, known: Iterable[llm.ChatItem]) -> list[llm.ChatItem]:
    """The calls that the conversation lacks, each with its output, at its end."""
    items = list(known)
    answered = {item.call_id for item in items if item.type == "function_call_output"}
    made = {item.call_id for item in items if item.type == "function_call"}
    news: list[llm.ChatItem] = []
    for call in ledger:
        output = _output_of(call, call.id in made)
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


def _output_of(call: LedgerCall, made: bool) -> str | None:
    """What the model reads of a call; None if it may be made as if it had never been."""
    if call.gave == "result":
        return call.output or ("" if call.value is None else str(call.value))
    if call.gave == "unknown":
        return UNKNOWN_END
    if call.gave == "error":
        return call.output or ""
    return CUT_OFF if made else None


async def _end_of(call: LedgerCall, tool: Any, policies: Tools, key_of: KeyOf) -> dict[str, Any]:
    if is_repeatable(call.name, tool, policies):
        return {"how": "cancelled", "output": None}
    recover = recover_of(tool)
    if recover is None:
        return {"how": "unknown", "output": UNKNOWN_END}
    try:
        async with asyncio.timeout(RECOVER_LIMIT):
            found = recover(CutOffCall(key_of(call.id, call.turn), call.name, _arguments(call)))
            if inspect.isawaitable(found):
                found = await found
    except NotMade:
        return {"how": "cancelled", "output": None}
    except Exception as exc:
        logger.warning(
            "nobody knows what became of %s (%s): its recovery raised %s",
            call.name, call.id, type(exc).__name__,
        )  # fmt: skip
        return {"how": "unknown", "output": UNKNOWN_END}
    return {"how": "result", "output": None if found is None else str(found)}


def _arguments(call: LedgerCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    return arguments if isinstance(arguments, dict) else {}


def _with_intended(journal: Journal) -> Journal:
    """A call that was about to begin may have begun: its start was not written any more."""
    notes: Sequence[Note] = journal.notes
    begun = {n.data.get("call") for n in notes if n.kind in ("tool_started", "call_given_up")}
    records = [
        attrs.evolve(record, kind="tool_started")
        if isinstance(record, Note)
        and record.kind == "call_intended"
        and record.data.get("call") not in begun
        else record
        for record in journal.records
    ]
    return attrs.evolve(journal, records=tuple(records))


def _readable(journal: Journal) -> Journal:
    """Where arguments and results were left out, there are at least the names of the calls."""
    if journal.header.redacted is None:
        return journal
    records = [
        attrs.evolve(record, data={**record.data, **_LEFT_OUT[record.kind]})
        if isinstance(record, Note) and record.kind in _LEFT_OUT
        else record
        for record in journal.records
    ]
    header = attrs.evolve(journal.header, redacted=None)
    return attrs.evolve(journal, header=header, records=tuple(records))


_LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "tool_started": {"arguments": "{}"},
    "tool_ended": {"output": NOT_KEPT},
    "tool_restored": {"arguments": "{}", "output": NOT_KEPT},
}
