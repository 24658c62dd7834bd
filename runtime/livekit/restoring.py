"""Restores a session whose worker has died: its conversation and its calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from livekit.agents import Agent, llm

from turnfsm.runtime.conversation.orphaned_calls import output_of
from turnfsm.runtime.conversation.restoring import restore_calls, restore_turns
from turnfsm.runtime.conversation.stored_conversation import StoredConversation
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.store.past import Past

from .overrides.history import begin_with, begins_with
from .overrides.recognition import turn_of
from .overrides.session import GovernedSession
from .stored_items import StoredItems

__all__ = ["take_up"]


async def take_up(
    past: Past | None,
    session: GovernedSession[Any],
    agent: Agent,
    keeping: Keeping,
    options: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Continue where the last worker stopped, and save the session from now on.

    Args:
        past: That worker's conversation; None if there was none.
        agent: The agent that is about to become active.
        options: Those of the start.

    Returns:
        The options to start with.
    """
    conversation = begins_with(agent, options)
    given = {item.id for item in conversation.items}
    if past is not None:
        await _restore(past, session, agent, conversation, keeping)
        options = await begin_with(agent, options, conversation)
    items = StoredItems(session, agent, conversation, given)
    StoredConversation(items, session._conductor, keeping, past)
    return options


async def _restore(
    past: Past,
    session: GovernedSession[Any],
    agent: Agent,
    conversation: llm.ChatContext,
    keeping: Keeping,
) -> None:
    """Restore the previous worker's conversation: its items are added to those that the agent
    begins with."""
    tools = llm.ToolContext([*session.tools, *agent.tools]).function_tools
    past = await restore_calls(past, session._conductor, tools, keeping)
    items = items_of_past(past)
    calls = items_of_calls(session._conductor.ledger, items)
    _insert(session.history, [*items, *calls])
    by_id = {item.id: item for item in items}
    _insert(conversation, [*(by_id[id] for id in past.shown if id in by_id), *calls])

    resumption = restore_turns(
        past,
        session._conductor,
        {item.id for item in items},
        lambda turn: turn_of(str(turn["text"]), float(str(turn.get("confidence", 0.0)))),
        commits_by_itself=session.turn_detection != "manual",
    )
    if not resumption.greets:
        enter_again(agent, past)


def enter_again(agent: Agent, past: Past) -> None:
    """Reactivate the agent that was active before.

    Its `on_enter` is not called, because the agent has greeted already. Its `on_resume` is called
    if there is one.
    """

    async def on_enter() -> None:
        del agent.on_enter  # later it is entered normally
        resume = getattr(agent, "on_resume", None)
        if resume is not None:
            await resume(past)

    agent.on_enter = on_enter  # type: ignore[method-assign]


def items_of_past(past: Past) -> list[llm.ChatItem]:
    """The conversation, with no item younger than now, and with the current names of its tools.

    The previous worker's clock may have been ahead, and LiveKit sorts items by time.
    """
    items = llm.ChatContext.from_dict({"items": [dict(item) for item in past.items]}).items
    ahead = max((item.created_at for item in items), default=0.0) - time.time()
    for item in items:
        if ahead >= 0:
            item.created_at -= ahead + 0.001
        if item.type in ("function_call", "function_call_output"):
            item.name = past.renamed.get(item.name, item.name)
    return sorted(items, key=lambda item: item.created_at)


def items_of_calls(ledger: Ledger, known: Iterable[llm.ChatItem]) -> list[llm.ChatItem]:
    """The calls that the conversation lacks, each with its output."""
    items = list(known)
    answered = {item.call_id for item in items if item.type == "function_call_output"}
    made = {item.call_id for item in items if item.type == "function_call"}
    missing: list[llm.ChatItem] = []
    for call in ledger:
        output = output_of(call, made=call.id in made)
        if output is None or call.id in answered:
            continue
        if call.id not in made:
            missing.append(
                llm.FunctionCall(call_id=call.id, name=call.name, arguments=call.arguments or "{}")
            )
        missing.append(
            llm.FunctionCallOutput(
                call_id=call.id, name=call.name, output=output, is_error=call.gave != "result"
            )
        )
    latest = max((item.created_at for item in items), default=time.time())
    for n, item in enumerate(missing, 1):
        item.created_at = latest + n * 1e-6
    return missing


def _insert(context: llm.ChatContext, items: Iterable[llm.ChatItem]) -> None:
    """Append the missing items in this order, even if their times differ."""
    present = {item.id for item in context.items}
    context.items = [*context.items, *(item for item in items if item.id not in present)]
