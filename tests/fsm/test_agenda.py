"""The agenda is a fold of what has happened: claims, and how they settle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfsm import load_flow
from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import (
    AnswerDue,
    Answered,
    AnswersByItself,
    CallCancelled,
    CallDetached,
    CallInBackground,
    CallMade,
    Entry,
    HeardByModel,
    MessageTyped,
    NoiseEnded,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    ReplyStopped,
    RequestSent,
    ResultDropped,
    ResultReady,
    SpeechInterrupted,
    TurnCommitted,
    entry_from_note,
    note_of,
)

RULES = load_flow("turn").agenda


def fold(*entries: Entry) -> Agenda:
    agenda = Agenda()
    for entry in entries:
        agenda = agenda.after(entry, RULES)
    return agenda


def states(agenda: Agenda) -> dict[str, str]:
    return {o.id: o.state for o in agenda.obligations}


ASKED = AnswerDue("u"), ReplyAsked("r", utterances=["u"]), RequestSent("r", answers=True)


def test_a_call_takes_the_utterance_over_that_it_was_made_for() -> None:
    assert states(fold(*ASKED)) == {"u": "claimed"}
    assert states(fold(*ASKED, CallMade("c", "r"))) == {"c": "claimed"}


def test_an_utterance_is_asked_again_if_its_superseded_reply_makes_a_call_at_the_last_moment() -> (
    None
):
    made = *ASKED, ReplyStopped("r", "result"), CallMade("c", "r")
    assert states(fold(*made, ReplyEnded("r", "result"))) == {"u": "open", "c": "open"}


@pytest.mark.parametrize("results", [(), ("c",)])
def test_a_reply_claims_what_was_stopped_if_its_request_shows_it(results: tuple[str, ...]) -> None:
    """Its model may answer it, so no other reply does so at the same time."""
    made = *ASKED, ReplyEnded("r", "application"), CallMade("c", "gone"), ResultReady("c")
    asked = ReplyAsked("s", instructed=True), ReplyAsked("s", results=results)
    request = RequestSent("s", ["c"], results, answers=False, unanswered=["u"])
    agenda = fold(*made, *asked, request)
    assert states(agenda)["u"] == "claimed"
    assert agenda.may_call_for_utterance("s")


def test_a_result_is_delivered_when_the_reply_that_was_to_deliver_it_was_heard() -> None:
    made = *ASKED, CallMade("c", "r"), ResultReady("c"), RequestSent("r", shown=["c"])
    assert states(fold(*made, ReplyHeard("r"))) == {}


def test_what_the_reply_has_heard_before_its_request_settles_nothing() -> None:
    """A preamble is no delivery."""
    made = *ASKED, CallMade("c", "r"), ReplyHeard("r"), ResultReady("c")
    assert states(fold(*made)) == {"c": "claimed"}


@pytest.mark.parametrize(
    ("by", "state"), [("user", "open"), ("application", "with_next"), ("agent_left", "open")]
)
def test_a_call_that_still_runs_is_settled_by_who_has_ended_its_reply(by: str, state: str) -> None:
    agenda = fold(*ASKED, CallMade("c", "r"), ReplyEnded("r", by))  # type: ignore[arg-type]
    assert states(agenda) == {"c": state}
    assert agenda.open == (), "it has not ended"


def test_what_the_application_has_stopped_starts_no_reply_until_another_one_was_asked_for() -> None:
    stopped = *ASKED, CallMade("c", "r"), ReplyEnded("r", "application")
    assert fold(*stopped, ResultReady("c")).open == ()
    following = ReplyAsked("s"), RequestSent("s", answers=True), ReplyEnded("s", "finished")
    assert [o.id for o in fold(*stopped, *following, ResultReady("c")).open] == ["c"]


@pytest.mark.parametrize(
    ("then", "state"),
    [(NoiseEnded(), "open"), (TurnCommitted(2), "with_next"), (None, "with_turn")],
)
def test_a_result_that_a_voice_has_interrupted_starts_a_reply_if_that_was_a_noise(
    then: Entry | None, state: str
) -> None:
    """If it had words, the reply to them delivers it."""
    made = *ASKED, CallMade("a", "r"), CallMade("b", "r"), ResultReady("a"), ResultReady("b")
    sent = RequestSent("r", shown=["a", "b"]), ReplyHeard("r", whole=False), ReplyEnded("r", "user")
    agenda = fold(*made, *sent, *([then] if then is not None else []))
    assert {states(agenda)[call] for call in "ab"} == {state}
    assert bool([o for o in agenda.open if o.kind == "result"]) == (state == "open")


CANCELLED = *ASKED, CallMade("c", "r"), SpeechInterrupted("r", "user"), CallCancelled("c")
OVER, GIVEN = ReplyEnded("r", "user"), ResultReady("c", cancelled=True)


@pytest.mark.parametrize("order", list(permutations([OVER, GIVEN, NoiseEnded()])))
def test_a_cancelled_call_is_delivered_if_nothing_answers_the_interruption(
    order: Sequence[Entry],
) -> None:
    """Otherwise nobody would tell the user that what they have asked for is not done."""
    assert [o.id for o in fold(*CANCELLED, *order).open] == ["c"]


@pytest.mark.parametrize("order", list(permutations([OVER, GIVEN, TurnCommitted(2)])))
def test_a_cancelled_call_is_not_delivered_if_a_turn_answers_the_interruption(
    order: Sequence[Entry],
) -> None:
    assert states(fold(*CANCELLED, *order)) == {}


@pytest.mark.parametrize("order", list(permutations([OVER, ResultReady("c"), TurnCommitted(2)])))
def test_a_call_that_ends_although_it_is_being_cancelled_is_delivered(
    order: Sequence[Entry],
) -> None:
    assert [o.id for o in fold(*CANCELLED, *order).open] == ["c"]


SAID_IN_PART = (
    *(*ASKED, CallMade("c", "r"), ResultReady("c"), RequestSent("r", shown=["c"])),
    *(ReplyHeard("r", whole=False), SpeechInterrupted("r", "user")),
)
SPECULATES = AnswerDue("v"), ReplyAsked("s", ["v"]), RequestSent("s", ["c"])


@pytest.mark.parametrize(
    ("then", "state"),
    [
        ((NoiseEnded(),), "open"),
        ((*SPECULATES, ReplyEnded("s", "dropped"), NoiseEnded()), "open"),
        ((TurnCommitted(2),), None),
        ((MessageTyped(),), None),
        ((*SPECULATES, TurnCommitted(2)), None),
        ((AnswersByItself("s"),), None),
        ((), "delivered_with_turn"),
    ],
)
def test_a_result_of_which_a_part_was_heard_is_delivered_if_the_interruption_is_answered(
    then: tuple[Entry, ...], state: str | None
) -> None:
    """After a noise or a request to wait it starts a reply: the model may have begun with something
    else."""
    assert states(fold(*SAID_IN_PART, ReplyEnded("r", "user"), *then)).get("c") == state


@pytest.mark.parametrize(("then", "state"), [(NoiseEnded(), "open"), (TurnCommitted(2), None)])
def test_it_may_be_known_before_the_reply_has_ended_whether_its_interruption_is_answered(
    then: Entry, state: str | None
) -> None:
    assert states(fold(*SAID_IN_PART, then, ReplyEnded("r", "user"))).get("c") == state


def test_nothing_starts_a_reply_while_one_is_about_to_ask_for_all_that_is_due() -> None:
    due = AnswerDue("u")
    assert [o.id for o in fold(due).open] == ["u"]
    assert fold(due, ReplyAsked("r")).open == ()
    assert [o.id for o in fold(due, ReplyAsked("r", instructed=True)).open] == ["u"]


def test_a_request_that_was_interrupted_before_it_was_sent_claims_nothing() -> None:
    agenda = fold(AnswerDue("u"), ReplyAsked("r"), ReplyEnded("r", "user"), RequestSent("r"))
    assert states(agenda) == {"u": "open"}


def test_a_reply_with_instructions_delivers_what_these_name() -> None:
    made = CallMade("a", "x"), CallMade("b", "x"), ResultReady("a"), ResultReady("b")
    sent = ReplyAsked("r", instructed=True), RequestSent("r", ["a", "b"], ["b"], answers=False)
    assert states(fold(*made, *sent)) == {"a": "open", "b": "claimed"}


def test_the_frameworks_own_reply_takes_a_background_result_from_the_reply_of_its_call() -> None:
    made = *ASKED, CallMade("c", "r"), CallInBackground("c"), ResultReady("c")
    sent = ReplyAsked("f", instructed=True), RequestSent("f", ["c"], ["c"], answers=False)
    assert [o.id for o in fold(*made, *sent).claimed_by("f")] == ["c"]
    assert states(fold(*made, ReplyEnded("r", "finished"))) == {"c": "with_next"}


def test_the_second_failure_in_a_row_starts_no_reply() -> None:
    """Otherwise a model that goes on failing is asked in a loop."""
    entries: list[Entry] = [CallMade("c", "x"), ResultReady("c")]
    for reply in ("r", "s"):
        sent = ReplyAsked(reply), RequestSent(reply, ["c"], answers=True)
        entries += [*sent, ReplyEnded(reply, "failure")]
        expected = "open" if reply == "r" else "with_next"
        assert states(fold(*entries)) == {"c": expected}


def test_a_result_that_is_dropped_and_an_utterance_that_is_answered_are_gone() -> None:
    assert states(fold(CallMade("c", "x"), ResultDropped("c", "cancelled"))) == {}
    assert states(fold(AnswerDue("u"), AnswerDue("v"), Answered(["u"]))) == {"v": "open"}


def test_an_utterance_that_a_model_has_heard_starts_no_reply_until_one_is_due() -> None:
    """The model may answer it by itself. If it has given its answer up, it is asked."""
    heard = HeardByModel("u")
    assert states(fold(heard)) == {"u": "with_model"}
    assert states(fold(heard, AnswerDue("u"))) == {"u": "open"}
    assert states(fold(heard, RequestSent("r"))) == {"u": "with_model"}, "of no live reply"
    assert fold(heard, ReplyAsked("r"), RequestSent("r")).claimed_by("r")[0].id == "u"
    assert states(fold(AnswerDue("u"), heard)) == {"u": "open"}


def test_a_model_that_answers_by_itself_answers_all_that_the_user_has_said() -> None:
    """And nothing else: results wait for the next reply."""
    result = CallMade("c", "x"), CallInBackground("c"), ResultReady("c")
    answers = fold(HeardByModel("u"), AnswerDue("v"), *result, AnswersByItself("r"))
    assert [o.id for o in answers.claimed_by("r")] == ["u", "v"]
    assert states(answers)["c"] == "open"


@pytest.mark.parametrize(
    ("ends", "becomes"),
    [
        ([ReplyHeard("r")], {}),
        ([CallMade("c", "r")], {"c": "claimed"}),
        ([ReplyEnded("r", "user")], {"u": "open"}),
        ([ReplyHeard("r", whole=False), ReplyEnded("r", "user")], {"u": "with_next"}),
        ([ReplyEnded("r", "agent_left")], {"u": "open"}),
    ],
)
def test_its_answer_ends_like_any_other(ends: list[Entry], becomes: dict[str, str]) -> None:
    assert states(fold(HeardByModel("u"), AnswersByItself("r"), *ends)) == becomes


def test_a_dropped_speculation_leaves_an_utterance_open_that_was_committed_before() -> None:
    """Its request has contained that one, too; its own utterance was not committed."""
    own = AnswerDue("v"), ReplyAsked("r", ["v"])
    dropped = fold(AnswerDue("u"), *own, RequestSent("r"), ReplyEnded("r", "dropped"))
    assert states(dropped) == {"u": "open"}


def test_the_agenda_says_what_ends_a_reply_that_is_interrupted() -> None:
    """The first reason that is known counts; without one, who has interrupted it."""

    def ending(*entries: Entry) -> tuple[str, str | None]:
        reply = fold(ReplyAsked("r"), *entries).reply("r")
        assert reply is not None
        return reply.ending

    by_user, by_tool = SpeechInterrupted("r", "user"), ReplyStopped("r", "tool", "c")
    assert ending() == ("dropped", None), "a speculation that is not used"
    assert ending(by_user) == ("user", None)
    assert ending(by_tool, by_user) == ending(by_user, by_tool) == ("tool", "c")
    assert ending(by_tool, ReplyStopped("r", "agent_left"), RequestSent("r")) == ("tool", "c")


def test_a_noise_may_be_known_before_the_reply_has_ended_that_it_has_interrupted() -> None:
    """Its results, which wait for the reply to what the user says, are open again."""
    made = AnswerDue("v"), CallMade("c", "x"), ResultReady("c")
    sent = ReplyAsked("r", ["v"], ["c"]), RequestSent("r", ["c"]), ReplyHeard("r", whole=False)
    interrupted, over = SpeechInterrupted("r", "user"), ReplyEnded("r", "user")
    assert states(fold(*made, *sent, interrupted, over))["c"] == "with_turn"
    assert states(fold(*made, *sent, interrupted, over, NoiseEnded()))["c"] == "open"
    assert states(fold(*made, *sent, interrupted, NoiseEnded(), over))["c"] == "open"


def test_a_reply_that_ends_in_the_middle_has_failed() -> None:
    """Nobody has interrupted it: the TTS has given no more."""
    made = *ASKED, CallMade("c", "r"), ResultReady("c"), RequestSent("r", shown=["c"])
    over = ReplyHeard("r", whole=False), ReplyEnded("r", "finished")
    assert states(fold(*made, *over)) == {"c": "open"}


REPLIES = st.sampled_from(["r", "s", "t"])
CALLS, WORDS = st.sampled_from(["c", "d"]), st.sampled_from(["u", "v"])
ENTRIES = st.one_of(
    WORDS.map(AnswerDue),
    st.builds(CallMade, CALLS, REPLIES),
    CALLS.map(CallInBackground),
    CALLS.map(CallDetached),
    CALLS.map(CallCancelled),
    st.builds(ResultReady, CALLS, st.booleans()),
    st.builds(ReplyAsked, REPLIES, st.lists(WORDS), st.lists(CALLS), st.booleans()),
    st.builds(
        RequestSent, REPLIES, st.lists(CALLS), st.none() | st.lists(CALLS), answers=st.booleans()
    ),
    st.builds(ReplyHeard, REPLIES, st.booleans()),
    st.builds(SpeechInterrupted, REPLIES, st.sampled_from(["user", "application", "dropped"])),
    st.builds(ReplyStopped, REPLIES, st.sampled_from(["tool", "result"]), st.none() | CALLS),
    st.builds(
        ReplyEnded,
        REPLIES,
        st.sampled_from(["finished", "user", "application", "tool", "failure", "agent_left"]),
        st.none() | CALLS,
    ),
    WORDS.map(HeardByModel),
    REPLIES.map(AnswersByItself),
    st.builds(Answered, st.lists(WORDS)),
    st.builds(ResultDropped, CALLS, st.just("why")),
)


@given(st.lists(ENTRIES, max_size=30))
def test_only_live_replies_hold_claims_whatever_happens(entries: Iterable[Entry]) -> None:
    agenda = fold(*entries)
    live = {reply.id for reply in agenda.replies}
    for o in agenda.obligations:
        assert (o.state == "claimed") == (o.by is not None)
        assert o.by is None or o.by in live
    ids = [(o.kind, o.id) for o in agenda.obligations]
    assert len(ids) == len(set(ids))


@given(ENTRIES)
def test_an_entry_comes_back_from_its_note(entry: Entry) -> None:
    kind, data = note_of(entry)
    assert entry_from_note(kind, data) == entry
