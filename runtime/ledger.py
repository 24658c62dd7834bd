"""The ledger of a session's tool calls: each ends exactly once, and no result is lost."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal

import attrs

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.journal import Journal, JournalError, Note

__all__ = ["End", "Ledger", "LedgerCall"]

End = Literal["result", "error", "cancelled", "released"]
"""How a call ends for its turn. A released call goes on; what it gives is owed to the user."""

HANDED_OVER = (
    "this call was made before the session was restarted, and it handed the user over; it was not "
    "made again, and the handover was not repeated"
)


@attrs.define(eq=False)
class LedgerCall:
    """One tool call.

    Attributes:
        arguments: As JSON with sorted keys, so that equal calls are equal text.
        turn: The speech that it was made for.
        end: How it ended for its turn; None while it runs.
        gave: How its tool ended; None while it runs. Differs from `end` for a released call.
        output: What it gave, as text.
        value: What it gave; after a restart, its text.
        handoff: It gave an agent, which a restart cannot bring back.
        committed: Its result stands in the conversation.
        told: The user has heard a reply that was made with its result.
        also: Other ids under which its result stands in the conversation: those of later calls
            that were answered with it, and that of a result which came late.
        restored: It is of a session that was cut off.
    """

    id: str
    name: str
    arguments: str
    turn: str
    end: End | None = None
    gave: End | None = None
    output: str | None = None
    value: Any = None
    handoff: bool = False
    committed: bool = False
    told: bool = False
    also: tuple[str, ...] = ()
    restored: bool = False

    @property
    def over(self) -> bool:
        """Nothing more comes of it."""
        return self.gave is not None or self.restored

    def as_note(self) -> dict[str, Any]:
        """What a journal keeps of it, for the next restart."""
        left_out = ("id", "value", "restored")
        kept = attrs.asdict(self, filter=lambda field, _: field.name not in left_out)
        return {"call": self.id, **kept}


class Ledger:
    """Every tool call of a session, in the order of their starts.

    Example:
        >>> ledger = Ledger()
        >>> call = ledger.start("call_1", "book_table", '{"time": "8"}', turn="u1")
        >>> "call_1" in ledger, len(ledger), call.name
        (True, 1, 'book_table')
    """

    def __init__(self) -> None:
        self._calls: dict[str, LedgerCall] = {}
        # The result of a session that was cut off, by the call that it answers.
        self._old: dict[tuple[str, str], LedgerCall] = {}
        self._also: dict[str, LedgerCall] = {}

    def __iter__(self) -> Iterator[LedgerCall]:
        return iter(tuple(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._calls

    def __getitem__(self, call_id: str) -> LedgerCall:
        return self._calls[call_id]

    def start(self, call_id: str, name: str, arguments: str, turn: str) -> LedgerCall:
        """Enter a call. An id may come again once its call is over: some models reuse them.

        Raises:
            TurnfsmError: The call of this id still runs.
        """
        known = self._calls.get(call_id)
        if known is not None and not known.over:
            raise TurnfsmError(f"call {call_id!r} still runs; each call needs an id of its own")
        if known is not None:
            aside = f"{call_id} before {len(self._calls)}"
            self._calls = {aside if k == call_id else k: c for k, c in self._calls.items()}
        call = self._calls[call_id] = LedgerCall(call_id, name, canonical(arguments), turn)
        return call

    def end(
        self, call_id: str, how: End, output: str | None = None, *, result_id: str | None = None
    ) -> bool:
        """Enter how a call ended; False if it had ended, or is not known.

        What a released call gives later is kept as what it gave, not as a second end.

        Args:
            result_id: The id under which its result stands in the conversation, if not its own.
        """
        call = self._calls.get(call_id)
        if call is None or call.gave is not None:
            return False
        if how != "released":
            call.gave, call.output = how, output
            if result_id is not None and result_id != call_id:
                self._stands_as(call, result_id)
        first = call.end is None
        call.end = call.end or how
        return first

    def keep(self, call_id: str, value: Any, *, handoff: bool = False) -> None:
        """Keep the value itself of a call that has given one.

        Args:
            handoff: It is, or contains, an agent.
        """
        if call_id in self._calls:
            self._calls[call_id].value = value
            self._calls[call_id].handoff = handoff

    def commit(self, call_ids: Iterable[str]) -> list[str]:
        """Enter that results stand in the conversation; gives the ids that this is news of."""
        return self._mark("committed", call_ids)

    def tell(self, call_ids: Iterable[str]) -> list[str]:
        """Enter that the user has heard of results; gives the ids that this is news of."""
        return self._mark("told", call_ids)

    def untold(self, call_ids: Iterable[str]) -> frozenset[str]:
        """Those of these calls that have a result of which the user has not heard."""
        found = ((call_id, self._find(call_id)) for call_id in call_ids)
        return frozenset(i for i, call in found if call and call.gave == "result" and not call.told)

    def answer(
        self, call_id: str, name: str, arguments: str, turn: str, shown: Collection[str] = ()
    ) -> LedgerCall | None:
        """The identical call that this one is answered from, if any.

        That is one of the same turn. After a restart it is the last one of the session that was
        cut off, once: a result that the user has heard of, and that the model is shown, is known,
        and who then makes the call again wants it again.

        Args:
            call_id: The call that is to be answered.
            turn: The speech that it is made for.
            shown: The calls whose results the model is shown.
        """
        key = name, canonical(arguments)
        known = self._old.pop(key, None)
        if known is not None and not (known.told and {known.id, *known.also} & set(shown)):
            known.turn, known.told = turn, False
        else:
            ended = (call for call in reversed(self._calls.values()) if call.end is not None)
            wanted = (*key, turn)
            known = next((c for c in ended if (c.name, c.arguments, c.turn) == wanted), None)
            if known is None or (known.gave != "result" and known.value is None):
                return None
        self._stands_as(known, call_id)
        return known

    @property
    def running(self) -> tuple[LedgerCall, ...]:
        """The calls that have not ended for their turn."""
        calls = self._calls.values()
        return tuple(call for call in calls if call.end is None and not call.restored)

    @property
    def completed(self) -> tuple[LedgerCall, ...]:
        """The calls whose effect is done: a result is there, even if it was owed."""
        return tuple(call for call in self._calls.values() if call.gave == "result")

    @classmethod
    def from_journal(cls, journal: Journal) -> Ledger:
        """The ledger of a session that was cut off, as its journal has it.

        Raises:
            JournalError: The journal leaves out what calls were made with or gave.

        Example:
            >>> from turnfsm import Ledger, read_journal
            >>> Ledger.from_journal(read_journal("journal.jsonl"))  # doctest: +SKIP
        """
        redacted = journal.header.redacted
        if redacted is not None and {"arguments", "output"} & set(redacted.get("keys", ())):
            raise JournalError(_REDACTED.format(how=redacted.get("how")))
        ledger = cls()
        for note in journal.notes:
            try:
                ledger._replay(note)
            except (KeyError, TypeError) as exc:
                why = f"note {note.seq} ({note.kind}) is not as turnfsm writes it: {exc}"
                raise JournalError(f"{why}; name a journal that was not changed") from None
        for call in ledger:
            ledger._restore(call)
        return ledger

    def _replay(self, note: Note) -> None:
        data = note.data
        match note.kind:
            case "tool_restored":
                fields = {k: v for k, v in data.items() if k not in ("call", "also")}
                call = self._calls[data["call"]] = LedgerCall(data["call"], **fields)
                for result_id in data["also"]:
                    self._stands_as(call, result_id)
            case "tool_started":
                self.start(data["call"], data["name"], data["arguments"], data["turn"])
            case "tool_ended":
                result_id = data.get("id")
                self.end(data["call"], data["how"], data.get("output"), result_id=result_id)
                self.keep(data["call"], None, handoff=data.get("handoff", False))
            case "tool_answered" if (known := self._calls.get(data["by"])) is not None:
                known.told = False
                self._stands_as(known, data["call"])
            case "tool_committed":
                self.commit(data["calls"])
            case "tool_told":
                self.tell(data["calls"])

    def _restore(self, call: LedgerCall) -> None:
        call.restored = True
        key = call.name, call.arguments
        self._old.pop(key, None)  # the last one counts: what became of it decides
        if call.gave == "result":  # what failed may be tried again
            call.value = HANDED_OVER if call.handoff else call.output
            self._old[key] = call

    def _stands_as(self, call: LedgerCall, result_id: str) -> None:
        call.also = (*call.also, result_id)
        self._also[result_id] = call

    def _find(self, call_id: str) -> LedgerCall | None:
        return self._also.get(call_id) or self._calls.get(call_id)

    def _mark(self, what: Literal["committed", "told"], call_ids: Iterable[str]) -> list[str]:
        news = []
        for call_id in call_ids:
            call = self._find(call_id)
            if call is not None and call.gave is not None and not getattr(call, what):
                setattr(call, what, True)
                news.append(call_id)
        return news


_REDACTED = (
    "the journal keeps neither arguments nor results of tool calls (redact={how!r}), so no call "
    "can be answered from it; write it with JsonlSink(path, redact=None)"
)


def canonical(arguments: str) -> str:
    """JSON with sorted keys; text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return arguments
