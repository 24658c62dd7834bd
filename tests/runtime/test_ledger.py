"""The ledger read back from a journal, without a session."""

from __future__ import annotations

from typing import Any

import pytest

from turnfsm.fsm.journal import Header, Journal, JournalError, Note
from turnfsm.runtime.ledger import Ledger


def _journal(*notes: tuple[str, dict[str, Any]]) -> Journal:
    header = Header("turn", "listening")
    return Journal(header, tuple(Note(n, float(n), *note) for n, note in enumerate(notes, 1)))


def _call(call: str, how: str | None = "result") -> list[tuple[str, dict[str, Any]]]:
    made = {
        "call": call,
        "name": "book",
        "arguments": '{"b": 1, "a": 2}',
        "turn": f"turn of {call}",
    }
    ended = {"call": call, "name": "book", "how": how, "output": f"given to {call}"}
    return [("tool_started", made), *([("tool_ended", ended)] if how else [])]


def _answer(ledger: Ledger, call: str, turn: str, **how: Any) -> str | None:
    known = ledger.answer(call, "book", '{"a": 2, "b": 1}', turn, **how)
    return known and known.id


def test_the_last_identical_call_decides() -> None:
    """Two tables were booked: who asks again is told of the second, once."""
    ledger = Ledger.from_journal(_journal(*_call("one"), *_call("two")))
    assert _answer(ledger, "three", "now") == "two"
    assert _answer(ledger, "four", "now") == "two", "the same turn gets the same answer"
    assert _answer(ledger, "five", "later") is None
    unknown = Ledger.from_journal(_journal(*_call("one"), *_call("two", None)))
    assert _answer(unknown, "three", "now") is None, "nobody knows whether the second was booked"


def test_what_was_told_and_is_shown_is_made_anew() -> None:
    """Under its own id, or under that of a later call that was answered with it."""
    told = ("tool_told", {"calls": ["one"], "speech": "s"})
    assert _answer(Ledger.from_journal(_journal(*_call("one"), told)), "two", "now") == "one"
    known = Ledger.from_journal(_journal(*_call("one"), told))
    assert _answer(known, "two", "now", shown={"one"}) is None
    answered = ("tool_answered", {"call": "two", "name": "book", "by": "one"})
    anew = ("tool_told", {"calls": ["two"], "speech": "s"})
    untold = Ledger.from_journal(_journal(*_call("one"), told, answered))
    assert _answer(untold, "three", "now", shown={"one", "two"}) == "one"
    known = Ledger.from_journal(_journal(*_call("one"), answered, anew))
    assert _answer(known, "three", "now", shown={"two"}) is None


def test_a_ledger_goes_through_its_own_notes() -> None:
    """What a second journal carries restores the same ledger."""
    told = ("tool_told", {"calls": ["one"], "speech": "s"})
    committed = ("tool_committed", {"calls": ["one"]})
    released = [("tool_ended", {"call": "two", "name": "book", "how": "released"})]
    late = {"call": "two", "name": "book", "how": "result", "output": None, "id": "two_final"}
    notes = [*_call("one"), committed, told, *_call("two", None), *released, ("tool_ended", late)]
    first = Ledger.from_journal(_journal(*notes, *_call("three", "error"), *_call("four", None)))
    again = Ledger.from_journal(_journal(*(("tool_restored", c.as_note()) for c in first)))
    assert [c.as_note() for c in again] == [c.as_note() for c in first]
    assert [c.as_note()["also"] for c in again] == [(), ("two_final",), (), ()]
    assert (again.running, [c.id for c in again.completed]) == ((), ["one", "two"])
    assert all(call.over for call in again)


@pytest.mark.parametrize(
    "note",
    [
        ("tool_started", {"call": "one", "name": "book", "turn": "t"}),
        ("tool_ended", {"call": "one"}),
        ("tool_told", {"calls": 7}),
        ("tool_restored", {"call": "one", "also": []}),
    ],
    ids=["started", "ended", "told", "restored"],
)
def test_a_note_that_was_changed_is_named(note: tuple[str, dict[str, Any]]) -> None:
    """Its number, its kind and what is wrong; no traceback."""
    with pytest.raises(JournalError, match=rf"note 3 \({note[0]}\) is not as turnfsm writes it"):
        Ledger.from_journal(_journal(*_call("nil"), note))
