"""Restores a conversation whose worker has died: its calls, its obligations, and the agent's first
reply."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from turnfsm.fsm.agenda.turns import Turns
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.store.past import Past

from .conductor import Conductor
from .orphaned_calls import agenda_entries, ledger_of
from .ports import UserTurn
from .resumption import Resumption

__all__ = ["restore_calls", "restore_turns"]

logger = logging.getLogger("turnfsm")


async def restore_calls(
    past: Past, conductor: Conductor, tools: Mapping[str, object], keeping: Keeping
) -> Past:
    """Take over the calls. This comes first; then the adapter restores the conversation.

    Args:
        tools: The tools of the agent, by name.

    Returns:
        The past, with the current names of its tools.
    """
    if past.missing:
        logger.warning(
            "session %r continues without %s: its store does not keep them (redact)",
            keeping.session_id, " and without ".join(past.missing),
        )  # fmt: skip
    turn, ledger = conductor.turn, conductor.ledger
    past = past.under(turn.flow, tools)
    limit = turn.flow.tools.recover_limit
    ledger.take_over(await ledger_of(past.journal, tools, keeping.key_of, limit))
    for call in ledger:
        turn.note("tool_restored", **call.as_note())
    turn.note("resumed", epoch=past.epoch, state=past.state, agent=past.agent)
    if past.apologised:
        turn.note("apology", heard=True)
    return past


def restore_turns(
    past: Past,
    conductor: Conductor,
    messages: Collection[str],
    turn_of: Callable[[Mapping[str, object]], UserTurn],
    *,
    commits_by_itself: bool = True,
) -> Resumption:
    """Restore unanswered turns and open obligations, after the calls and the conversation.

    Args:
        messages: The ids of the messages in the conversation.
        turn_of: Makes a turn from what `Conversation.turn` has stored.
        commits_by_itself: A turn is committed without the application.

    Returns:
        The agent's first reply.
    """
    ledger = conductor.ledger
    for call in ledger:
        if call.state in ("ended", "given"):
            ledger.post(call, "committed")
    conductor.log.turns = Turns.continued(past.turns.get("outcomes", {}))
    for waiting in past.turns.get("waiting", ()):
        conductor.commits.defer(turn_of(waiting))
    if text := past.turns.get("uncommitted"):
        conductor.commits.defer_uncommitted(turn_of({"text": text}), commits_by_itself)
    rules = past.flow.agenda if past.flow.agenda.settle else conductor.log.rules
    for entry in agenda_entries(past.journal, ledger, rules, messages):
        conductor.log.add(entry)
    resumption = Resumption(past, results=bool(conductor.log.agenda.open))
    resumption.post("taken_over")
    conductor.host.resumption = resumption
    return resumption
