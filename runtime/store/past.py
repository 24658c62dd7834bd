"""The past of a continued session, from the records of the previous worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

import attrs

from turnfsm.fsm import Flow, Taken
from turnfsm.fsm.journal import Entry, Journal, JournalError, Note, journal_of
from turnfsm.fsm.migrate import StoredFlow, renamed, why_not

from .protocol import Acquired, StoreError

__all__ = ["Past", "read_past"]

KEPT = "kept"
"""The key of records outside the journal: the flow, items of the conversation, the agent,
unfinished turns."""


@attrs.frozen
class Past:
    """A conversation as the previous worker left it.

    Attributes:
        epoch: The epoch of the worker that continues it.
        journal: The previous worker's journal.
        items: The conversation: the framework's items as JSON, each with its `id`, in order.
        shown: The ids of the items that the active agent and its model had, in their order.
        agent: The id of the active agent; None if there was none.
        turns: The unfinished user turns.
        missing: What was not stored and cannot be restored.
        flow: The stored part of the flow.
        renamed: The renamed tools, each with its new name.
    """

    epoch: int
    journal: Journal
    items: tuple[Mapping[str, Any], ...] = ()
    shown: tuple[str, ...] = ()
    agent: str | None = None
    turns: Mapping[str, Any] = attrs.field(factory=dict)
    missing: tuple[str, ...] = ()
    flow: StoredFlow = attrs.field(kw_only=True)
    renamed: Mapping[str, str] = attrs.field(factory=dict)

    def under(self, flow: Flow, tools: Collection[str]) -> Past:
        """The same conversation, with the present names of its tools.

        Args:
            flow: The flow that continues it.
            tools: The names of the present tools.
        """
        names = renamed(self.flow, flow.migrates, tools)
        records = [
            attrs.evolve(record, data={**record.data, "name": names[record.data["name"]]})
            if isinstance(record, Note) and record.data.get("name") in names
            else record
            for record in self.journal.records
        ]
        journal = attrs.evolve(self.journal, records=tuple(records))
        return attrs.evolve(self, journal=journal, renamed=names)

    @cached_property
    def last(self) -> Entry | None:
        """The last trigger."""
        return self.journal.entries[-1] if self.journal.entries else None

    @property
    def state(self) -> str:
        """The state that the flow was in."""
        return self.last.verdict.dest if self.last is not None else self.journal.header.initial

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that were true."""
        return self.last.facts if self.last is not None else ()

    @property
    def begun(self) -> bool:
        """The user has heard or said something."""
        return (
            bool(self.turns.get("begun")) or self._seq_of("playout_started", "turn_committed") > 0
        )

    @property
    def transcript_lost(self) -> bool:
        """The user was speaking, and the transcript is lost."""
        if self.turns.get("uncommitted"):
            return False
        latest = self._seq_of("final_transcript", "turn_committed", "endpointing_ended")
        pending = self.turns.get("words_due") and self._seq_of("user_started_speaking") > latest
        return bool("user_speaking" in self.facts or pending or self._unsaid("transcript_lost"))

    @property
    def unsaid(self) -> Mapping[str, bool]:
        """The facts that the next worker needs if this one dies before the agent has spoken."""
        names = "reply_under_way", "reply_heard", "transcript_lost"
        return {name: getattr(self, name) for name in names}

    @property
    def reply_under_way(self) -> bool:
        """The agent was about to speak, or was speaking, and was not interrupted."""
        if self._unsaid("reply_under_way"):
            return True
        if "turn_open" in self.facts or self._seq_of("reply_requested") > self._seq_of(
            "step_started"
        ):
            return True
        if self.state in ("listening", "interrupted"):
            return False
        more = {"tools_running", "reply_due"} & set(self.facts)
        return bool(more) or self._said_in_full < self._seq_of("step_started")

    @property
    def reply_heard(self) -> bool:
        """The user has heard the beginning of that reply."""
        if self._unsaid("reply_heard"):
            return True
        answered_to = max(self._seq_of("turn_committed"), self._said_in_full)
        return self.reply_under_way and self._seq_of("playout_started") > answered_to

    @property
    def apologised(self) -> bool:
        """The user has heard the beginning of an apology since they last spoke."""
        committed, started = self._seq_of("turn_committed"), self._seq_of("playout_started")
        apologies = (note for note in self.journal.notes if note.kind == "apology")
        return any(note.data.get("heard") or committed < note.seq < started for note in apologies)

    def _unsaid(self, fact: str) -> bool:
        unsaid: Mapping[str, bool] = self.turns.get("unsaid") or {}
        return unsaid.get(fact, False)

    @property
    def _said_in_full(self) -> int:
        messages = (n for n in self.journal.notes if n.kind == "message")
        return max((n.seq for n in messages if n.data.get("role") == "assistant"), default=0)

    def _seq_of(self, *triggers: str) -> int:
        """The number of the last taken trigger; 0 if there is none."""
        return max((self._latest.get(trigger, 0) for trigger in triggers), default=0)

    @cached_property
    def _latest(self) -> dict[str, int]:
        return {
            entry.trigger: entry.seq
            for entry in self.journal.entries
            if isinstance(entry.verdict, Taken)
        }


def read_past(acquired: Acquired, flow: Flow, calls: Callable[[Journal], object]) -> Past | None:
    """Read the records of the previous worker; None if there are none.

    Args:
        flow: The flow of this session.
        calls: Reads the tool calls of the journal. A `JournalError` says that it cannot.

    Raises:
        StoreError: The flow does not continue these records, or they are from another version of
            turnfsm.
    """
    if not acquired.records:
        return None
    try:
        records = [json.loads(line) for line in acquired.records]
        journal = journal_of(record for record in records if KEPT not in record)
        extras = [r["data"] | {KEPT: r[KEPT]} for r in records if KEPT in r]
        past = _folded(acquired.epoch, journal, extras)
        calls(journal)
    except (KeyError, ValueError, TypeError, JournalError) as exc:
        raise StoreError(
            f"session {acquired.session!r}: its records cannot be read ({exc}); use the "
            "turnfsm that wrote them, or give another session_id"
        ) from None
    if (reason := why_not(past.flow, flow)) is not None:
        raise StoreError(
            f"session {acquired.session!r} cannot be continued, and stays in the store\n"
            f"{reason.render()}\n"
            f"otherwise start it with the flow {past.flow.name!r}, or give another session_id"
        )
    return past


def _folded(epoch: int, journal: Journal, extras: Iterable[Mapping[str, Any]]) -> Past:
    items: dict[str, Mapping[str, Any]] = {}
    shown: dict[str, None] = {}
    agent: str | None = None
    turns: Mapping[str, Any] = {}
    flow = StoredFlow(journal.header.flow)
    for record in extras:
        match record[KEPT]:
            case "flow":
                flow = StoredFlow.from_json(record)
            case "item":
                items[record["item"]["id"]] = record["item"]
                if record["shown"]:
                    shown[record["item"]["id"]] = None
            case "agent":
                agent, shown = record["agent"], dict.fromkeys(record["shown"])
            case "taken_out":
                shown = {id: None for id in shown if id not in record["items"]}
            case "turns":
                turns = record
    redacted = journal.header.redacted
    missing = () if redacted is None else _MISSING
    return Past(
        epoch, journal, tuple(items.values()), tuple(shown), agent, turns, missing, flow=flow
    )


_MISSING = (
    "the texts of the conversation",
    "the arguments and results of calls",
)
