"""The tool calls of a worker that died: their outcomes, and the results still to deliver."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Collection, Mapping, Sequence

import attrs

from turnfsm.fsm.agenda.entries import AnswerDue, CallMade, Entry, ResultReady
from turnfsm.fsm.agenda.settlement import Rules
from turnfsm.fsm.flow import NEVER
from turnfsm.fsm.journal import Journal, Note
from turnfsm.runtime.ledger import Ledger, LedgerCall
from turnfsm.runtime.log import agenda_of
from turnfsm.runtime.orphaned_call import NotMade, OrphanedCall

from .policies import recover_of
from .resumption import HANDED_OVER, NO_EFFECT, NO_RESULT, NOT_KEPT, UNKNOWN_END
from .tool_call import NOT_CONFIRMED, arguments_of

__all__ = ["agenda_entries", "ledger_of", "output_of", "read_calls"]

logger = logging.getLogger("turnfsm")

KeyOf = Callable[[str, str], str]

_TO_DELIVER = ("result", "unknown")
"""The outcomes that the user should hear about."""


def read_calls(journal: Journal) -> Ledger:
    """The calls in the journal of a worker that died, including those about to begin.

    Raises:
        JournalError: They are from another version of turnfsm.
    """
    return Ledger.from_journal(_readable(_with_intended(journal)))


async def ledger_of(
    journal: Journal, tools: Mapping[str, object], key_of: KeyOf, limit: float
) -> Ledger:
    """The ledger of the worker that died, with an outcome for every call.

    For a call that was running, its `recover_with` function is called.

    Args:
        journal: The journal of that worker.
        tools: The tools of the current agent, by name.
        key_of: Gives each call a key that is unique over all sessions.
        limit: Seconds that a `recover_with` function may take.
    """
    journal = _readable(_with_intended(journal))
    ended = []
    for call in Ledger.from_journal(journal):
        if call.gave is None:
            found = await _outcome_of(call, tools.get(call.name), key_of, limit)
            ended.append({"call": call.id, "name": call.name} | found)
    # if the call was answered or has sent an update, its result comes before its end
    notes = [Note(0, 0.0, k, data) for data in ended for k in ("tool_late_result", "tool_ended")]
    return Ledger.from_journal(attrs.evolve(journal, records=(*journal.records, *notes)))


def agenda_entries(
    journal: Journal, ledger: Ledger, rules: Rules, messages: Collection[str]
) -> list[Entry]:
    """The obligations that the dead worker left open, as entries for the next worker's log.

    Args:
        journal: The journal of that worker.
        ledger: Its calls, which have all ended.
        rules: The agenda rules of its flow.
        messages: The ids of the messages in the conversation.
    """
    agenda = agenda_of(journal, rules)
    entries: list[Entry] = []
    for due in agenda.obligations:
        if due.kind == "utterance" and due.id in messages:
            entries.append(AnswerDue(due.id))
        elif (call := ledger.find(due.id)) is not None and call.gave in _TO_DELIVER and call.output:
            entries.append(CallMade(due.id, due.made_by or ""))
            entries.append(ResultReady(due.id))
    return entries


def output_of(call: LedgerCall, *, made: bool) -> str | None:
    """The output of a call for the model; None if the call can be forgotten and made again.

    Args:
        made: The call is in the model's conversation.
    """
    if call.gave == "result":
        return call.output or (HANDED_OVER if call.handoff else "")
    if call.gave == "unknown":
        return UNKNOWN_END
    if call.gave == "error":
        return call.output or ""
    return (call.output or NO_RESULT) if made else None


async def _outcome_of(
    call: LedgerCall, tool: object, key_of: KeyOf, limit: float
) -> dict[str, object]:
    if call.state == "not_run":
        return {"how": "cancelled", "output": NOT_CONFIRMED + "the user was not asked to the end"}
    recover = recover_of(tool)
    if recover is None:
        return {"how": "unknown", "output": UNKNOWN_END}
    try:
        async with asyncio.timeout(None if limit == NEVER else limit):
            found = recover(
                OrphanedCall(key_of(call.id, call.turn), call.name, arguments_of(call.arguments))
            )
            if inspect.isawaitable(found):
                found = await found
    except NotMade:
        return {"how": "cancelled", "output": NO_EFFECT}
    except Exception as exc:
        logger.warning(
            "the outcome of tool call %s (%s) is unknown: its recovery function raised %s",
            call.name, call.id, type(exc).__name__,
        )  # fmt: skip
        return {"how": "unknown", "output": UNKNOWN_END}
    return {"how": "result", "output": None if found is None else str(found)}


def _with_intended(journal: Journal) -> Journal:
    """Add calls that were about to begin: they may have begun before their start was written."""
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
    """The journal with the calls' names, even if arguments and results were redacted."""
    if journal.header.redacted is None:
        return journal
    records = [
        attrs.evolve(record, data={**record.data, **_REDACTED[record.kind]})
        if isinstance(record, Note) and record.kind in _REDACTED
        else record
        for record in journal.records
    ]
    header = attrs.evolve(journal.header, redacted=None)
    return attrs.evolve(journal, header=header, records=tuple(records))


_REDACTED: Mapping[str, Mapping[str, str]] = {
    "tool_started": {"arguments": "{}"},
    "tool_ended": {"output": NOT_KEPT},
    "tool_restored": {"arguments": "{}", "output": NOT_KEPT},
}
