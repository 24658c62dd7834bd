"""The ledger read back from a journal, without a session."""

from __future__ import annotations

from typing import Any

import pytest

from turnfsm.fsm.agenda.settlement import Rules
from turnfsm.fsm.journal import Header, Journal, JournalError, Note
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import agenda_of

CALLS = ("one", "two", "three", "four")


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
    return known and known.output


def test_the_last_identical_call_decides() -> None:
    """Two tables were booked: a repeated call is answered with the second one, once."""
    ledger = Ledger.from_journal(_journal(*_call("one"), *_call("two")))
    assert _answer(ledger, "three", "now") == "given to two"
    assert _answer(ledger, "four", "now", once=True) == "given to two", "it runs once in a turn"
    assert _answer(ledger, "five", "now") is None
    assert _answer(ledger, "six", "later", once=True) is None
    unknown = Ledger.from_journal(_journal(*_call("one"), *_call("two", None)))
    assert _answer(unknown, "three", "now") is None, "nobody knows whether the second was booked"


def test_a_call_whose_result_was_delivered_and_is_shown_is_made_again() -> None:
    """A result that is still to be delivered answers the call."""
    delivered = _journal(*_call("one"))
    assert _answer(Ledger.from_journal(delivered), "two", "now") == "given to one"
    assert _answer(Ledger.from_journal(delivered), "two", "now", shown={"one"}) is None
    pending = Ledger.from_journal(delivered)
    pending.delivers = {"one"}.__contains__
    assert _answer(pending, "two", "now", shown={"one"}) == "given to one"


def test_a_ledger_goes_through_its_own_notes() -> None:
    """What a second journal carries restores the same ledger."""
    life: list[tuple[str, dict[str, Any]]] = []
    lived = Ledger()
    lived.note = lambda kind, **data: life.append((kind, data))
    one, two, three, _ = (lived.enter(name, "book", "{}", "u1") for name in CALLS)
    for call in lived:
        lived.post(call, "started", {"turn_stands": True})
    lived.post(one, "ended", how="result", output="a table")
    lived.post(one, "committed")
    for trigger in ("turn_over", "report_running"):
        lived.post(two, trigger)
    lived.post(two, "late_result")
    lived.post(two, "ended", how="result", output=None, id="two_final")
    lived.post(three, "ended", how="error")
    first = Ledger.from_journal(_journal(*life))
    assert [call.state for call in lived] == ["committed", "committed", "ended", "running"]
    assert [call.state for call in first] == ["committed", "committed", "ended", "lost"]
    again = Ledger.from_journal(_journal(*(("tool_restored", c.as_note()) for c in first)))
    assert [c.as_note() for c in again] == [c.as_note() for c in first]
    assert [c.result_id for c in again] == [None, "two_final", None, None]
    assert [(c.end, c.gave) for c in again] == [
        ("result", "result"), ("released", "result"), ("error", "error"), (None, None)
    ]  # fmt: skip
    assert (again.running, [c.id for c in again.completed]) == ((), ["one", "two"])
    assert all(call.over for call in again)


def test_a_ledger_keeps_what_is_needed_and_the_last_of_the_rest() -> None:
    """Calls that run, whose results are to be delivered, and whose turn may make them again."""
    ledger = Ledger(maxlen=3)
    runs, due = ledger.start("runs", "book", "{}", "u0"), ledger.start("due", "book", "{}", "u0")
    for trigger in ("turn_over", "report_running", "late_result"):
        ledger.post(due, trigger)
    ledger.end("due", "result")
    ledger.delivers = lambda call: call == "due"
    ledger.close_turn("u0")
    for number in range(10):
        call = ledger.start(f"call_{number}", "book", "{}", f"u{number + 1}")
        ledger.end(call.id, "result", str(number))
        ledger.post(call, "committed")
        if number < 9:
            ledger.close_turn(call.turn)
    assert [call.id for call in ledger] == ["runs", "due", "call_9"]
    assert (runs.state, due.state) == ("running", "committed")
    assert ledger.answer("again", "book", "{}", "u10") is None
    assert ledger.answer("again", "book", "{}", "u10", once=True) is call
    ledger.close_turn("u10")
    assert ledger.answer("again", "book", "{}", "u10", once=True) is None


def test_the_calls_that_answer_for_a_session_before_are_kept() -> None:
    """However many come after them; of those that another one replaces the last ones."""
    wishes = [_call(f"{wish} {n}") for wish in ("early", "late") for n in range(200)]
    for n, (started, _) in enumerate(wishes):
        started[1]["arguments"] = str(n % 200)
    ledger = Ledger.from_journal(_journal(*(note for notes in wishes for note in notes)))
    assert len(ledger) == ledger.maxlen
    for n in range(300):
        ledger.end(ledger.start(f"new {n}", "find", "{}", f"u{n}").id, "result")
        ledger.close_turn(f"u{n}")
    assert len(ledger) == ledger.maxlen
    known = ledger.answer("again", "book", "7", "now")
    assert known is not None
    assert known.output == "given to late 7"


@pytest.mark.parametrize(
    "note",
    [
        ("tool_started", {"call": "one", "name": "book", "turn": "t"}),
        ("tool_ended", {"call": "two"}),
        ("tool_restored", {"call": "one", "also": []}),
        ("tool_seen", {"call": "nil"}),
    ],
    ids=["started", "ended", "restored", "unknown"],
)
def test_a_note_that_was_changed_is_named(note: tuple[str, dict[str, Any]]) -> None:
    """Its number, its kind and what is wrong; no traceback."""
    with pytest.raises(JournalError, match=rf"note 4 \({note[0]}\) is not as turnfsm writes it"):
        Ledger.from_journal(_journal(*_call("nil"), *_call("two", None), note))


def test_an_entry_of_the_agenda_that_was_changed_is_named() -> None:
    """The agenda is read from the same notes."""
    journal = _journal(*_call("nil"), ("reply_heard", {"replies": 7}))
    with pytest.raises(JournalError, match=r"note 3 \(reply_heard\) is not as turnfsm writes it"):
        agenda_of(journal, Rules())
