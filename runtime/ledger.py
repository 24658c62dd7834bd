"""The ledger of a session's tool calls: each ends exactly once, and no result is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import attrs

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.journal import Journal

__all__ = ["End", "Ledger", "LedgerCall"]

End = Literal["result", "error", "cancelled", "released"]
"""How a call ends for its turn. A released call goes on; what it gives is owed to the user."""


@attrs.define(eq=False)
class LedgerCall:
    """One tool call.

    Attributes:
        arguments: As JSON with sorted keys, so that equal calls are equal text.
        turn: The speech that it was made for.
        end: How it ended for its turn; None while it runs.
        output: What it gave, as text; of a released call, once it has come.
        value: What it gave; after a restart, its text.
        unsaid: The session was cut off before the user heard of it.
        cut_off: It is of a session that was.
    """

    id: str
    name: str
    arguments: str
    turn: str
    end: End | None = None
    output: str | None = None
    value: Any = None
    unsaid: bool = False
    cut_off: bool = False

    @property
    def over(self) -> bool:
        """Nothing more comes of it."""
        ended = self.end is not None and (self.end != "released" or self.output is not None)
        return ended or self.cut_off


class Ledger:
    """Every call of a session, in the order of their starts."""

    def __init__(self) -> None:
        self._calls: dict[str, LedgerCall] = {}

    def __iter__(self) -> Iterator[LedgerCall]:
        return iter(tuple(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._calls

    def __getitem__(self, call_id: str) -> LedgerCall:
        return self._calls[call_id]

    def start(self, call_id: str, name: str, arguments: str, turn: str) -> LedgerCall:
        """Enter a call. An id may come again once its call is over: some models number anew.

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

    def end(self, call_id: str, how: End, output: str | None = None) -> bool:
        """Enter how a call ended; False if it had ended, or is not known.

        What a released call gives later is kept as its output, not as a second end.
        """
        call = self._calls.get(call_id)
        if call is None:
            return False
        if call.end is not None:
            if call.end == "released" and how in ("result", "error"):
                call.output = output
            return False
        call.end, call.output = how, output
        return True

    def keep(self, call_id: str, value: Any) -> None:
        """Keep the value itself of a call that has given one."""
        if call_id in self._calls:
            self._calls[call_id].value = value

    def answer(self, name: str, arguments: str, turn: str) -> LedgerCall | None:
        """The identical call that this one is answered from, if any: of the same turn, or one
        that a session which was cut off left unsaid, which answers one turn only."""
        wanted = canonical(arguments)
        for call in reversed(self._calls.values()):
            if (call.name, call.arguments) != (name, wanted) or call.end is None:
                continue
            if call.unsaid:
                call.turn, call.unsaid = turn, False
            if call.turn == turn:
                return call if call.end == "result" or call.value is not None else None
        return None

    @property
    def running(self) -> tuple[LedgerCall, ...]:
        """The calls that have not ended for their turn."""
        return tuple(call for call in self._calls.values() if call.end is None)

    @property
    def completed(self) -> tuple[LedgerCall, ...]:
        """The calls whose effect is done: a result is there, even if it was owed."""
        return tuple(c for c in self._calls.values() if c.end == "result" or c.output is not None)

    @classmethod
    def from_journal(cls, journal: Journal) -> Ledger:
        """The ledger as a journal has it, as after a crash: see `turnfsm.read_journal`.

        Raises:
            TurnfsmError: The journal leaves out what calls were made with.
        """
        ledger = cls()
        for note in journal.notes:
            data = note.data
            match note.kind:
                case "tool_started":
                    if "arguments" not in data:
                        raise TurnfsmError(_REDACTED)
                    ledger.start(data["call"], data["name"], data["arguments"], data["turn"])
                case "tool_ended":
                    ledger._ended(data["call"], data["how"], data.get("output"))
                case "message" if data.get("role") == "assistant":
                    ledger._said()
        for call in ledger:
            call.cut_off = True
        return ledger

    def _ended(self, call_id: str, how: End, output: str | None) -> None:
        self.end(call_id, how, output)
        if output is not None and how == "result":  # what failed may be tried again
            self.keep(call_id, output)
            self._calls[call_id].unsaid = True

    def _said(self) -> None:
        for call in self._calls.values():
            call.unsaid = False


_REDACTED = (
    "the journal leaves out the arguments of tool calls, so nothing can be answered from it; "
    "write it with JsonlSink(path, redact=None)"
)


def canonical(arguments: str) -> str:
    """JSON with sorted keys; text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return arguments
