"""The ledger of a session's tool calls: each call ends exactly once, and no result is lost.

Each call has its own machine of `specs/tool_call.yaml`. The ledger writes a note into the journal
whenever a call's state changes. To restore a ledger, these notes are replayed through the same
flow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from turnfsm.fsm import TurnfsmError, Verdict
from turnfsm.fsm.flow import Policy
from turnfsm.fsm.journal import Journal, JournalError, Note

from .arguments import check_count
from .ledger_call import End, LedgerCall, canonical

__all__ = ["End", "Ledger", "LedgerCall"]


class Ledger:
    """The tool calls of a session, in the order of their starts.

    A call is retained while its turn may repeat it, while its result is still needed, or while it
    can answer a repeated call after a restart. Of all other calls only the latest are retained; the
    journal has them all.

    Args:
        maxlen: How many calls to retain; more only if they are still needed.

    Raises:
        TurnfsmError: ``maxlen`` is not a positive whole number.

    Attributes:
        note: Called with the kind and the data of each note. A session sets it to write to its
            journal.
        delivers: Returns whether a call's result must still be delivered. A session sets it to ask
            its agenda.

    Example:
        >>> ledger = Ledger()
        >>> call = ledger.start("call_1", "book_table", '{"time": "8"}', turn="u1")
        >>> "call_1" in ledger, len(ledger), call.name, call.state
        (True, 1, 'book_table', 'running')
    """

    def __init__(self, maxlen: int = 256) -> None:
        self.maxlen = check_count("maxlen", maxlen)
        self.note: Callable[..., object] = lambda kind, **data: None  # there is no journal yet
        self.delivers: Callable[[str], bool] = lambda call: False
        self._calls: dict[str, LedgerCall] = {}
        self._by_result: dict[str, LedgerCall] = {}
        self._turns: dict[str, list[LedgerCall]] = {}  # the turns that may repeat a call
        # Completed calls of a crashed session, by the call that they answer.
        self._old: dict[tuple[str, str], LedgerCall] = {}

    def __iter__(self) -> Iterator[LedgerCall]:
        return iter(tuple(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._calls

    def __getitem__(self, call_id: str) -> LedgerCall:
        return self._calls[call_id]

    def enter(
        self, call_id: str, name: str, arguments: str, turn: str, policy: Policy = "detach"
    ) -> LedgerCall:
        """Add a call that has not begun. An id may be used again once its call is over.

        Raises:
            TurnfsmError: The call with this id is still running.
        """
        return self._enter(LedgerCall(call_id, name, canonical(arguments), turn, policy))

    def start(self, call_id: str, name: str, arguments: str, turn: str) -> LedgerCall:
        """Add a call that begins now.

        Raises:
            TurnfsmError: The call with this id is still running.
        """
        call = self.enter(call_id, name, arguments, turn)
        self.post(call, "started")
        return call

    def post(
        self,
        call: LedgerCall,
        trigger: str,
        host_facts: Mapping[str, bool] | None = None,
        **data: Any,
    ) -> Verdict:
        """Decide on a trigger of a call. If it is taken, write a note.

        Args:
            call: The call.
            trigger: A trigger of `specs/tool_call.yaml`.
            host_facts: The values of the flow's host facts; a missing one is False.
            data: The data of the note: `how` a tool ended, its `output`, and the `id` of the result
                in the conversation if that differs from the call's.
        """
        before = call.machine.configuration
        true = [fact for fact, holds in (host_facts or {}).items() if holds]
        verdict = call.apply(trigger, true, data)
        if call.result_id is not None:
            self._by_result[call.result_id] = call
        if call.machine.configuration is not before:
            if trigger == "started":
                data = {"name": call.name, "arguments": call.arguments, "turn": call.turn} | data
                data |= {"policy": call.policy}
            elif trigger == "ended":
                data = {"name": call.name} | data | ({"handoff": True} if call.handoff else {})
            self.note(f"tool_{trigger}", call=call.id, **data, **({"facts": true} if true else {}))
        return verdict

    def ask(self, call: LedgerCall, trigger: str, host_facts: Mapping[str, bool]) -> Verdict:
        """What `post` would return now. Changes nothing, and writes no note."""
        call.machine.set_host_facts(host_facts)
        return call.machine.ask(trigger)

    def end(self, call_id: str, how: End, output: str | None = None) -> None:
        """Record how a tool ended. Ignores a call that has ended or is unknown."""
        if (call := self._calls.get(call_id)) is not None:
            self.post(call, "ended", how=how, output=output)

    def returned_agent(self, call_id: str) -> None:
        """The tool of a call that is about to end has returned an agent."""
        if call_id in self._calls:
            self._calls[call_id].handoff = True

    def find(self, call_id: str) -> LedgerCall | None:
        """The call that has this id, or whose result has this id in the conversation."""
        return self._by_result.get(call_id) or self._calls.get(call_id)

    def answer(
        self,
        call_id: str,
        name: str,
        arguments: str,
        turn: str,
        shown: Collection[str] = (),
        *,
        once: bool = False,
    ) -> LedgerCall | None:
        """Find the identical call whose result answers this one, and add this one.

        After a restart that is the last identical call of the crashed session; each of those
        answers once. A call does not answer if the user has heard its result and the model's
        request contains it: then the repetition is intended. For a tool that runs once in a turn, a
        call of the same turn that has not failed also answers.

        Args:
            call_id: The id of the new call.
            name: The tool.
            arguments: As JSON.
            turn: The id of the speech that the call is made for.
            shown: The calls whose results the model's request contains.
            once: The tool runs once in a turn.
        """
        key = name, canonical(arguments)
        earlier = self._old.pop(key, None)
        heard = earlier is not None and not self.delivers(earlier.id)
        if earlier is None or (heard and {earlier.id, earlier.result_id} & set(shown)):
            earlier = self._made_before(key, turn) if once else None
            if earlier is None:
                return None
        self._answered(earlier, call_id, turn)
        self.note("tool_answered", call=call_id, name=name, by=earlier.id, turn=turn)
        return earlier

    def is_under_way(self, name: str, arguments: str, turn: str) -> bool:
        """The turn waits for an identical call of its own."""
        key, calls = (name, canonical(arguments)), self._turns.get(turn, ())
        same = (call for call in calls if (call.name, call.arguments) == key)
        return any(call.state in ("called", "asking", "held", "running") for call in same)

    def close_turn(self, turn: str) -> None:
        """A speech has ended, and cannot repeat its calls any more."""
        self._turns.pop(turn, None)

    @property
    def running(self) -> tuple[LedgerCall, ...]:
        """The calls that a turn may still wait for."""
        calls = self._calls.values()
        return tuple(call for call in calls if call.end is None and not call.over)

    @property
    def completed(self) -> tuple[LedgerCall, ...]:
        """The calls that have taken effect: there is a result, spoken or not."""
        calls = self._calls.values()
        return tuple(call for call in calls if call.gave == "result" and call.by is None)

    @classmethod
    def from_journal(cls, journal: Journal) -> Ledger:
        """The ledger of a session that has ended, or crashed, from its journal.

        Args:
            journal: The journal, written with ``redact=None``.

        Raises:
            JournalError: The journal lacks the arguments and results of calls.

        Example:
            >>> from turnfsm import Ledger, read_journal
            >>> len(Ledger.from_journal(read_journal("journal.jsonl")))
            0
        """
        redacted = journal.header.redacted
        if redacted is not None and {"arguments", "output"} & set(redacted.get("keys", ())):
            raise JournalError(_REDACTED.format(how=redacted.get("how")))
        ledger = cls()
        for note in journal.notes:
            try:
                ledger._replay(note)
            except (KeyError, TypeError, TurnfsmError) as exc:
                why = f"note {note.seq} ({note.kind}) is not as turnfsm writes it: {exc}"
                raise JournalError(f"{why}; name a journal that was not changed") from None
        ledger._end_unfinished()
        return ledger

    def take_over(self, other: Ledger) -> None:
        """Replace the calls of this ledger by those of another one."""
        vars(self).update(
            {name: held for name, held in vars(other).items() if name not in ("note", "delivers")}
        )

    # -- inside

    def _replay(self, note: Note) -> None:
        """Apply a note. A note of a call whose start is no longer in the journal is ignored."""
        trigger = note.kind.removeprefix("tool_")
        if trigger == note.kind:
            return
        call_id, data = note.data["call"], note.data
        if trigger == "restored":
            fields = {key: value for key, value in data.items() if key not in _RESTORED}
            restored = self._enter(LedgerCall(call_id, **fields))
            restored.machine.restore(data["state"], data["facts"])
        elif trigger == "answered":
            if (earlier := self._calls.get(data["by"])) is not None:
                self._answered(earlier, call_id, data["turn"])
        else:
            if trigger == "started":
                start = data["name"], data["arguments"], data["turn"]
                self.enter(call_id, *start, data.get("policy", "detach"))
            if (found := self._calls.get(call_id)) is not None:
                found.apply(trigger, data.get("facts", ()), data)
        if (call := self._calls.get(call_id)) and call.result_id is not None:
            self._by_result[call.result_id] = call

    def _end_unfinished(self) -> None:
        """The session ended here: its calls can only answer repeated calls."""
        self._turns.clear()
        for call in self:
            call.apply("session_crashed", (), {})
            key = call.name, call.arguments
            self._old.pop(key, None)  # the outcome of the last one decides
            if call.gave in _NEWS:  # a failed call may be tried again
                self._old[key] = call
        self._forget()

    def _enter(self, call: LedgerCall) -> LedgerCall:
        earlier = self._calls.get(call.id)
        if earlier is not None and not earlier.over:
            raise TurnfsmError(f"call {call.id!r} still runs; each call needs an id of its own")
        self._calls.pop(call.id, None)
        self._calls[call.id] = call
        self._turns.setdefault(call.turn, []).append(call)
        self._forget()
        return call

    def _answered(self, earlier: LedgerCall, call_id: str, turn: str) -> None:
        fields = earlier.name, earlier.arguments, turn, earlier.policy
        call = self._enter(LedgerCall(call_id, *fields, by=earlier.id))
        call.apply("started", (), {})
        call.apply("ended", (), {"how": earlier.gave or "result", "output": earlier.output})
        call.handoff = earlier.handoff

    def _made_before(self, key: tuple[str, str], turn: str) -> LedgerCall | None:
        """The last identical call of this turn, unless it has failed."""
        before = reversed(self._turns.get(turn, ()))
        earlier = next((call for call in before if (call.name, call.arguments) == key), None)
        return None if earlier is None or earlier.gave in ("error", "cancelled") else earlier

    def _forget(self) -> None:
        """Drop the oldest calls that are not needed, if there are too many."""
        if (excess := len(self._calls) - self.maxlen) <= 0:
            return
        needed = {id(call) for calls in self._turns.values() for call in calls}
        needed |= {id(call) for call in self._old.values()}
        for call in self:
            if excess > 0 and call.over and not self.delivers(call.id) and id(call) not in needed:
                del self._calls[call.id]
                self._by_result.pop(call.result_id or "", None)
                excess -= 1


_NEWS = ("result", "unknown")  # the user must still hear of it

_RESTORED = ("call", "state", "facts")  # the keys of `as_note` that are no fields

_REDACTED = (
    "the journal has neither arguments nor results of tool calls (redact={how!r}), so no call "
    "can be answered from it; write it with JsonlSink(path, redact=None)"
)
