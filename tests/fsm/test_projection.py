"""What a request contains: in every small conversation, and in long random ones."""

from __future__ import annotations

from itertools import takewhile

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from talks import MOVES, RULES, Talk, played, talks

from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import AnswerDue, CallsReceived, ReplyAsked, RequestSent
from turnfsm.fsm.agenda.projection import Item, pair, project


def problems(talk: Talk) -> list[str]:
    """What is wrong with the request that was the last move."""
    assert talk.sent is not None
    reply, request = talk.sent
    ids = [item.id for item in request.items]
    hidden = {item.id for item in talk.items} - set(ids)
    found = [f"{id} comes twice" for id in set(ids) if ids.count(id) > 1]
    found += [f"{id} is of nothing" for id in set(ids) - {item.id for item in talk.items}]
    for item in talk.items:
        if item.id in hidden and (item.part != "utterance" or _may_see(talk, item.id, reply)):
            found.append(f"{item.id} is left out")
        if item.id in ids and item.part == "utterance" and _answered_elsewhere(talk, item, reply):
            found.append(f"{item.id} is answered by another reply")
    for n, item in enumerate(request.items):
        if item.part == "result" and not _right_after_its_call(request.items, n):
            found.append(f"{item.id} does not follow its call")
    messages = [i.id for i in request.items if i.part in ("utterance", "said")]
    last = request.items[-1] if request.items else None
    mine = {o.id for o in talk.agenda.claimed_by(reply) if o.kind == "utterance"}
    results = [o for o in talk.agenda.requested_of(reply) if o.kind == "result"]
    last_of = {o.id for o in results if o.made_by == reply or not mine}
    answered = [*takewhile(mine.__contains__, reversed(messages))]
    rest = [id for id in messages if id not in answered]
    for part in (rest, answered[::-1]):
        if part != [i.id for i in talk.items if i.id in part]:
            found.append(f"the order of what was said has changed: {part}")
    if last_of and last is not None and last.result not in last_of:
        found.append(f"{last.id} comes last, not a result of {last_of}")
    free = mine & {*messages} and not talk.own_calls(reply)
    if free and last is not None and last.id not in answered[:1]:
        found.append(f"{last.id} comes last, which it does not answer")
    again = project(request.items, talk.agenda, reply, own_calls=talk.own_calls(reply))
    if again != request:
        found.append("it is another one when it is made again")
    return found


def _may_see(talk: Talk, utterance: str, reply: str) -> bool:
    """Nobody else answers it, or the reply has made a call for it."""
    own = [talk.made_for[int(call[1:])][1] for call in talk.own_calls(reply)]
    by = next((o.by for o in talk.agenda.obligations if o.id == utterance), None)
    return by in (None, reply) or any(utterance in words for words in own)


def _answered_elsewhere(talk: Talk, item: Item, reply: str) -> bool:
    found = talk.agenda.find("utterance", item.id)
    if found is None or found.by in (None, reply):
        return False
    other = talk.agenda.reply(found.by or "")
    mine = any(o.kind == "utterance" for o in talk.agenda.claimed_by(reply))
    return not (mine and other is not None and not other.may_call)


def _right_after_its_call(items: tuple[Item, ...], at: int) -> bool:
    before = at - 1
    while before >= 0 and items[before].part in ("call", "result"):
        if items[before].part == "call" and items[before].call == items[at].call:
            return True
        before -= 1
    return False


@pytest.mark.exhaustive
def test_in_every_small_conversation() -> None:
    """Two replies, two calls, ten moves."""
    count = 0
    for talk in talks(10):
        count += 1
        assert problems(talk) == [], talk
    assert count > 3_000, "there is something to look at"


@given(st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 5)), max_size=60))
def test_in_long_conversations(moves: list) -> None:
    for talk in played(moves):
        assert problems(talk) == []


@given(st.lists(st.tuples(st.sampled_from(("call", "result", "said")), st.integers(0, 4))))
def test_pairs_stay_pairs(parts: list) -> None:
    """Whatever a framework or an application has made of the order."""
    items = [Item(f"{part}{call}", part, call=str(call)) for part, call in parts]
    once = list({(i.id, i.part): i for i in items}.values())
    paired = pair(once)
    assert sorted(i.id for i in paired) == sorted(i.id for i in once)
    assert pair(paired) == paired


ASKED = [AnswerDue("u"), ReplyAsked("r", ["u"])]
CALL, RESULT = Item("c", "call", call="c"), Item("o", "result", call="c", result="c", at=5.0)


def _agenda(*entries: object) -> Agenda:
    agenda = Agenda()
    for entry in entries:
        agenda = agenda.after(entry, RULES)  # type: ignore[arg-type]
    return agenda


def test_what_the_application_puts_behind_an_utterance_stays_there() -> None:
    """As the result of a search that its hook has added."""
    items = Item("u", "utterance", at=1.0), Item("found", "said", added=True, at=2.0)
    request = project(items, _agenda(*ASKED), "r")
    assert [item.id for item in request.items] == ["u", "found"]


def test_what_has_come_since_the_framework_copied_the_conversation_comes_before_it() -> None:
    came = Item("m", "said", at=3.0), CALL, RESULT
    request = project([Item("u", "utterance", at=1.0)], _agenda(*ASKED), "r", came=came)
    assert [item.id for item in request.items] == ["c", "o", "m", "u"]


def test_utterances_that_follow_each_other_stay_together() -> None:
    """The reply to the second has begun and failed; another one answers both."""
    items = [Item("u", "utterance"), Item("v", "utterance"), Item("begun", "said")]
    both = AnswerDue("u"), AnswerDue("v"), ReplyAsked("r", ["u", "v"])
    assert [i.id for i in project(items, _agenda(*both), "r").items] == ["begun", "u", "v"]


def test_a_call_that_has_ended_takes_the_place_of_the_one_that_runs() -> None:
    runs = [attrs.evolve(i, id=f"{i.id} runs", placeholder=True) for i in (CALL, RESULT)]
    request = project(runs, _agenda(), "r", came=(CALL, RESULT))
    assert [item.id for item in request.items] == ["c", "o"]


def test_the_hint_of_the_request_before_is_taken_out() -> None:
    """What it says is another question now."""
    items = Item("h", "hint"), Item("u", "utterance")
    assert [item.id for item in project(items, _agenda(*ASKED), "r").items] == ["u"]


def test_a_hint_stands_before_what_is_answered_and_instructions_behind_it() -> None:
    items = Item("p", "instruction"), Item("u", "utterance"), Item("i", "instruction", added=True)
    assert project(items, _agenda(*ASKED), "r").hint_at == 1
    assert project([*items[::2]], _agenda(), "r").hint_at == 1


def test_an_utterance_without_a_reply_is_claimed_by_the_request_that_shows_it() -> None:
    """The application has committed it and asked for no reply; two requests would answer it."""
    first = _agenda(ReplyAsked("r"), RequestSent("r", unanswered=["u"]), ReplyAsked("s"))
    assert first.hidden_from("s") == {"u"}
    assert first.hidden_from("r") == frozenset()


def test_a_reply_that_comes_later_answers_what_it_has_claimed_though_it_makes_no_call() -> None:
    """It is heard behind this one, whose model would answer the utterance, too."""
    asked = ReplyAsked("first", utterances=["v"]), ReplyAsked("later", utterances=["u"])
    agenda = _agenda(AnswerDue("u"), AnswerDue("v"), *asked, RequestSent("later"))
    known = agenda.after(CallsReceived("later"), RULES)
    assert known.hidden_from("first") == {"u"}
    assert known.hidden_from("later") == {"v"}
