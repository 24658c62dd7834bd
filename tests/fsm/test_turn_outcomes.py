"""How each turn of the user ends: a pure fold of log entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import (
    AnswerDue,
    Entry,
    NoReply,
    PlayoutStarted,
    ReplyAsked,
    ReplyEnded,
    ReplyScheduled,
    SessionClosed,
    SpeechEnded,
    SpeechFailed,
    SpeechInterrupted,
    TurnCommitted,
    TurnNotCommitted,
    entry_from_note,
    note_of,
)
from turnfsm.fsm.agenda.turns import TurnEnd, Turns
from turnfsm.fsm.load import load_flow

RULES = load_flow("turn").agenda


def fold(entries: Iterable[Entry]) -> tuple[Turns, list[TurnEnd]]:
    """The turns after these entries, and those that have ended."""
    agenda, turns, ended = Agenda(), Turns(), []
    for entry in entries:
        agenda = agenda.after(entry, RULES)
        turns, now = turns.after(entry, agenda)
        ended += now
    return turns, ended


def ends(*entries: Entry) -> list[tuple[int, str, str]]:
    """Number, outcome and reason of each turn that these entries end."""
    return [(end.turn.number, end.outcome, end.why) for end in fold(entries)[1]]


ASKED: tuple[Entry, ...] = (TurnCommitted(1), ReplyScheduled(1, "r"))
WHOSE_WORDS: tuple[Entry, ...] = (AnswerDue("u"), ReplyAsked("r", ["u"]))
NEWER, CLOSED = "a newer turn was committed", "the session closed"
INTERRUPTED = "its reply was interrupted before it was heard"


@pytest.mark.parametrize(
    ("entries", "outcome", "why"),
    [
        ([PlayoutStarted("r")], "replied", ""),
        (
            [PlayoutStarted("r"), SpeechInterrupted("r", True), SpeechEnded("r", True)],
            "replied",
            "",
        ),
        ([SpeechEnded("r")], "silent", "its reply had nothing to be heard"),
        ([SpeechFailed("r", "no voice"), SpeechEnded("r")], "dropped", "no voice"),
        ([SpeechInterrupted("r", "application"), SpeechEnded("r", True)], "dropped", INTERRUPTED),
        ([SpeechEnded("r", True, closing=True)], "dropped", CLOSED),
        ([SessionClosed()], "dropped", CLOSED),
        ([SpeechEnded("r", newer=True)], "superseded", NEWER),
        ([TurnCommitted(2), SpeechEnded("r", True)], "superseded", NEWER),
    ],
)
def test_how_a_turn_ends_whose_reply_was_requested(
    entries: list[Entry], outcome: str, why: str
) -> None:
    assert ends(*ASKED, *entries) == [(1, outcome, why)]


@pytest.mark.parametrize(
    ("entries", "ended"),
    [
        ([NoReply(1)], [(1, "dropped", "no reply was generated")]),
        ([TurnCommitted(2), NoReply(1)], [(1, "superseded", NEWER)]),
        ([NoReply(1, later=True)], [(1, "superseded", "it is answered later")]),
        ([TurnNotCommitted(2)], [(2, "superseded", NEWER)]),
        ([TurnNotCommitted(2, dropped=True)], [(2, "dropped", CLOSED)]),
    ],
)
def test_how_a_turn_ends_without_a_reply(
    entries: list[Entry], ended: list[tuple[int, str, str]]
) -> None:
    assert ends(TurnCommitted(1), *entries) == ended


def test_a_turn_whose_reply_the_user_interrupts_unheard_is_superseded_by_what_they_say() -> None:
    over = [*ASKED, SpeechInterrupted("r", "user"), SpeechEnded("r", True)]
    assert ends(*over) == []
    assert ends(*over, TurnCommitted(2)) == [(1, "superseded", NEWER)]


def test_a_turn_is_replied_to_by_the_reply_that_is_requested_after_one_that_nobody_has_heard() -> (
    None
):
    over = ReplyEnded("r", "result"), SpeechInterrupted("r", "application"), SpeechEnded("r", True)
    lost = [*ASKED, *WHOSE_WORDS, *over]
    assert ends(*lost) == []
    again = ReplyAsked("s", ["u"]), PlayoutStarted("s")
    assert ends(*lost, *again) == [(1, "replied", "")]


def test_a_speculative_reply_that_has_failed_before_its_turn_was_committed() -> None:
    failed = SpeechFailed("r", "no voice"), *ASKED, SpeechEnded("r")
    assert ends(*failed) == [(1, "dropped", "no voice")]


def test_the_count_continues_after_a_restart() -> None:
    turns = Turns.continued({"replied": 2, "dropped": 1, "unknown": 5})
    assert (turns.count, dict(turns.outcomes)) == (
        3,
        {"replied": 2, "silent": 0, "superseded": 0, "dropped": 1},
    )


SPEECHES, WORDS = st.sampled_from(["r", "s", "t"]), st.sampled_from(["u", "v"])
NUMBERS, YES = st.integers(1, 6), st.booleans()
REST = st.one_of(
    st.builds(ReplyScheduled, NUMBERS, SPEECHES, st.just("") | WORDS),
    st.builds(NoReply, NUMBERS, YES),
    SPEECHES.map(PlayoutStarted),
    st.builds(SpeechInterrupted, SPEECHES, st.sampled_from(["user", "application", "dropped"])),
    st.builds(SpeechFailed, SPEECHES, st.just("no voice")),
    st.builds(SpeechEnded, SPEECHES, YES, YES, YES),
    st.builds(ReplyAsked, SPEECHES, st.lists(WORDS)),
    WORDS.map(AnswerDue),
    st.builds(ReplyEnded, SPEECHES, st.sampled_from(["finished", "user", "failure"])),
)
NUMBERED = st.sampled_from([TurnCommitted, TurnNotCommitted])


@given(st.lists(REST | NUMBERED, max_size=40))
def test_each_turn_ends_exactly_once_whatever_happens(
    made: list[Entry | type[TurnCommitted] | type[TurnNotCommitted]],
) -> None:
    entries: list[Entry] = []
    count = 0
    for entry in made:
        if isinstance(entry, type):
            entries.append(entry(count := count + 1))
        else:
            entries.append(entry)
    turns, ended = fold([*entries, SessionClosed()])
    assert sorted(end.turn.number for end in ended) == list(range(1, count + 1))
    assert turns.open == ()
    outcomes = Counter(end.outcome for end in ended)
    assert {how: n for how, n in turns.outcomes.items() if n} == outcomes


@given(REST | st.builds(TurnCommitted, NUMBERS, YES) | st.builds(TurnNotCommitted, NUMBERS, YES))
def test_an_entry_about_a_turn_comes_back_from_its_note(entry: Entry) -> None:
    kind, data = note_of(entry)
    assert entry_from_note(kind, data) == entry
