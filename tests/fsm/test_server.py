"""What a realtime model's server is to hold, and what makes it so: in every small conversation, and
in random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import hypothesis
from hypothesis import strategies as st

from turnfsm.fsm.agenda.projection import Item
from turnfsm.fsm.agenda.server import Diff, diff, spoken_behind, wanted

HEARD, LATER = Item("heard", "utterance"), Item("later", "utterance")
SAID, SAYS = Item("said", "said"), Item("says", "said")
CALL, RESULT = Item("call", "call", call="1"), Item("result", "result", call="1")
AGAIN, LATE = Item("again", "call", call="2"), Item("late", "result", call="2")
ALL = (HEARD, LATER, SAID, SAYS, CALL, RESULT, AGAIN, LATE)

CONVERSATIONS = st.lists(st.sampled_from(ALL), unique=True)


def _small(count: int = 4) -> Iterator[tuple[Item, ...]]:
    for size in range(count + 1):
        yield from permutations((HEARD, LATER, SAID, CALL, RESULT)[: count + 1], size)


def _ids(items: Sequence[Item]) -> list[str]:
    return [item.id for item in items]


def _made(held: Sequence[Item], change: Diff) -> list[Item]:
    """What a server holds after the operations."""
    items = [item for item in held if item.id not in change.delete]
    for before, item in change.create:
        assert item.id not in _ids(items), "a server refuses an item that it holds"
        items.insert(0 if before is None else _ids(items).index(before) + 1, item)
    return items


def _of(items: Sequence[Item], part: str) -> list[str]:
    return [item.id for item in items if item.part == part]


def _problems(given: Sequence[Item], held: Sequence[Item], asks: bool = False) -> list[str]:
    answers = _of(held, "utterance")[-1:] if asks else []
    target = wanted(given, held, keep=_of(held, "utterance"), answers=answers)
    change, ids = diff(held, target), _ids(target)
    found = [f"{id} is lost" for id in _ids(given) if id not in ids and id not in _rivals(given)]
    found += [f"{id} is held twice" for id in {*ids} if ids.count(id) > 1]
    if _made(held, change) != [*target]:
        found.append(f"{change} does not give {ids}")
    if again := [i.id for _, i in change.create if i in held and _is_sound(i)]:
        found.append(f"{again} are text now")
    if _of(target, "utterance")[: len(_of(held, "utterance"))] != _of(held, "utterance"):
        found.append("what the user has said has another order")
    for item in target:
        call = next((i for i in target if (i.part, i.call) == ("call", item.call)), None)
        if item.part == "result" and call is not None:
            between = target[target.index(call) : target.index(item)]
            if any(i.part not in ("call", "result") for i in between):
                found.append(f"{item.id} does not stand by its call")
    if answers and ids[-1] != answers[0]:
        found.append(f"{ids[-1]} comes last")
    keep, rest = _of(held, "utterance"), _made(held, change)
    if diff(rest, wanted(target, rest, keep=keep, answers=answers)):
        found.append("it is not at rest then")
    return found


def _is_sound(item: Item) -> bool:
    return item.part == "utterance"


def _rivals(items: Sequence[Item]) -> list[str]:
    """Results beside another one of the same call."""
    results = [item for item in items if item.part == "result"]
    return [r.id for n, r in enumerate(results) if any(o.call == r.call for o in results[:n])]


def test_in_every_small_conversation() -> None:
    for held in _small():
        for given in _small():
            if [i for i in given if i.part == "utterance"] == [i for i in held if _is_sound(i)]:
                for asks in (False, True):
                    assert _problems(given, held, asks) == [], (_ids(given), _ids(held))


@hypothesis.given(CONVERSATIONS, CONVERSATIONS)
def test_the_operations_make_any_conversation_of_any_other(
    held: list[Item], target: list[Item]
) -> None:
    change = diff(held, target)
    assert _made(held, change) == target
    assert bool(change) == (held != target)
    assert not change.moves or {i.id for i in held} & {i.id for i in target}


@hypothesis.given(CONVERSATIONS, CONVERSATIONS)
def test_what_the_server_has_heard_is_sent_as_text_only_if_its_order_changes(
    held: list[Item], target: list[Item]
) -> None:
    both = [i for i in held if i in target and _is_sound(i)]
    change = diff(held, target)
    sent = [i for _, i in change.create if i in both]
    assert bool(sent) == (both != [i for i in target if i in both])


@hypothesis.given(CONVERSATIONS)
def test_a_result_that_has_come_stands_by_its_call_at_once(held: list[Item]) -> None:
    target = wanted(held, held, results=[RESULT, LATE])
    for call, result in ((CALL, RESULT), (AGAIN, LATE)):
        assert (call in target) <= (result in target)
        assert (result in held) <= (result in target)


@hypothesis.given(CONVERSATIONS)
def test_a_server_that_replies_to_results_gets_none_before_the_framework_gives_it(
    held: list[Item],
) -> None:
    target = wanted(held, held, results=[RESULT, LATE], replies_to_results=True)
    assert not diff(held, target)


@hypothesis.given(CONVERSATIONS, CONVERSATIONS)
def test_a_server_that_replies_to_results_gets_what_is_given_in_that_order(
    given: list[Item], held: list[Item]
) -> None:
    assert list(wanted(given, held, replies_to_results=True)) == given


def test_a_late_result_comes_before_the_utterance_that_waits_for_an_answer() -> None:
    held = CALL, RESULT, SAID, HEARD
    assert _ids(wanted([*held, AGAIN, LATE], held)) == [
        *("call", "result", "said"),
        *("again", "late", "heard"),
    ]


def test_an_answer_that_was_said_before_the_transcript_came_stays_behind_the_utterance() -> None:
    assert _ids(wanted([SAID, HEARD, CALL, RESULT], [HEARD, SAID])) == [
        *("heard", "said"),
        *("call", "result"),
    ]


def test_what_has_come_since_the_framework_copied_the_conversation_stays_where_it_is() -> None:
    held = HEARD, SAYS, LATER, CALL
    target = wanted([HEARD, SAID], held, keep=["says", "later", "call"])
    assert _ids(target) == ["heard", "says", "said", "later", "call"]


def test_what_nobody_has_heard_is_deleted_whoever_still_gives_it() -> None:
    held = HEARD, SAYS
    assert _ids(wanted(held, held, keep=["says"], unheard=["says"])) == ["heard"]
    assert diff(held, [HEARD]) == Diff(delete=("says",))


def test_what_stands_behind_the_utterance_to_answer_is_moved_and_not_the_utterance() -> None:
    held = SAID, HEARD, CALL, RESULT, SAYS
    change = diff(held, wanted(held, held, answers=["heard"]))
    assert change.moves
    assert change.delete == ("call", "result", "says")
    assert [before for before, _ in change.create] == ["said", "call", "result"]


def test_a_result_that_others_have_spoken_behind_is_asked_for() -> None:
    assert spoken_behind(["result"], [CALL, RESULT, HEARD])
    assert not spoken_behind(["result"], [HEARD, CALL, RESULT, AGAIN, LATE])
