"""What the list of differences explains, each with its cause, and what it leaves a finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    JobRun,
    Measures,
    Move,
    Pair,
    Plan,
    Sound,
    worse,
)

SOUNDS = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6))
ANSWERS = {1: Answer(4, (1,)), 2: Answer(4, (2,))}
JOBS = {1: Job(1, 0.5), 2: Job(2, 0.5)}


def kinds(
    stock: Mapping[str, Any],
    ours: Mapping[str, Any],
    *,
    jobs: Mapping[int, Job] | None = None,
    moves: tuple[Move, ...] = (),
) -> list[str]:
    """What is worse, with these measures."""
    plan = Plan("two sentences", SOUNDS, ANSWERS, {**JOBS, **(jobs or {})}, moves)
    once = {"wanted": dict.fromkeys(plan.jobs, 1)}
    pair = Pair(plan, Measures(**{**once, **stock}), Measures(**{**once, **ours}))
    return [found.kind for found in worse(pair)]


def ran(job: int, start: float, end: float | None, how: str = "result") -> JobRun:
    """An execution that took effect at its end, if it ended well."""
    effect = end if how == "result" else None
    return JobRun(job, "do_it", start, effect, None, end, how)


@pytest.mark.parametrize(
    ("policy", "start", "end", "ours", "found"),
    [
        ("hold", 2.0, 5.0, 3.0, []),
        ("finish", 2.0, 5.0, 3.0, []),
        ("detach", 2.0, 5.0, 3.0, ["late"]),
        ("hold", 1.5, 2.5, 3.0, ["late"]),
        ("hold", 4.5, 6.0, 3.0, ["late"]),
        ("hold", 2.0, 4.0, 8.0, ["late"]),
    ],
    ids=["hold", "finish", "detach", "over before", "begun after stock's answer", "over long ago"],
)
def test_a_call_that_holds_its_turn_explains_an_answer_that_waits_for_it(
    policy: Any, start: float, end: float, ours: float, found: list[str]
) -> None:
    """The sentence ends at 3.6 s; stock answers it at 4.1 s."""
    runs = (ran(1, start, end),)
    jobs = {1: Job(1, 0.5, policy=policy)}
    measured = {"latency": {2: ours}, "runs": runs}
    assert kinds({"latency": {2: 0.5}, "runs": runs}, measured, jobs=jobs) == found


@pytest.mark.parametrize(
    ("effects", "found"), [((1, 1), ["untold"]), ((2, 1), ["untold"]), ((1, 0), ["undone"])]
)
def test_a_result_that_is_never_told_is_found(effects: tuple[int, int], found: list[str]) -> None:
    """Also if stock made the call twice. Of a call that was never made there is nothing to tell."""
    stock, ours = effects
    told = {"effects": {1: stock}, "told": frozenset({1})}
    assert kinds(told, {"effects": {1: ours}}) == found


@pytest.mark.parametrize(("ends", "found"), [("nothing", []), ("returns", ["untold"])])
def test_a_tool_that_returns_nothing_asks_for_no_reply(ends: Any, found: list[str]) -> None:
    """On stock another tool's reply has mentioned it."""
    told = {"effects": {1: 1}, "told": frozenset({1})}
    assert kinds(told, {"effects": {1: 1}}, jobs={1: Job(1, 0.5, ends=ends)}) == found


@pytest.mark.parametrize(("waits", "found"), [("interrupts", []), ("", ["untold"])])
def test_a_tool_that_ends_its_own_turn_explains_that_no_reply_follows(
    waits: Any, found: list[str]
) -> None:
    """Nor one to the call beside it."""
    made = {"effects": {1: 1, 2: 1}}
    runs = (ran(1, 2.0, 3.0), ran(2, 2.0, 2.5))
    jobs = {2: Job(2, 0.5, waits)}
    assert kinds({**made, "told": frozenset({1})}, {**made, "runs": runs}, jobs=jobs) == found


@pytest.mark.parametrize(("on_stock", "found"), [({}, []), ({0: (5.0, 6.5)}, ["late"])])
def test_what_the_application_asked_for_and_stock_never_says_delays_an_answer(
    on_stock: Mapping[int, Any], found: list[str]
) -> None:
    """It is heard from 4.0 to 5.5 s, the answer comes behind it."""
    moves = (Move(3.5, "ask"),)
    stock = {"latency": {2: 0.5}, "replies": on_stock}
    assert kinds(stock, {"latency": {2: 2.1}, "replies": {0: (4.0, 5.5)}}, moves=moves) == found


@pytest.mark.parametrize(
    ("news", "how", "found"),
    [
        ({1}, "SpeechInterrupted", []),
        ((), "SpeechInterrupted", ["undone", "late"]),
        ({1}, "CancelledError", ["undone", "late"]),
    ],
    ids=["of that result", "of the words", "no wait"],
)
def test_a_call_that_came_of_a_result_which_ours_has_not_is_explained(
    news: Any, how: str, found: list[str]
) -> None:
    """The reply to the second sentence was lost on both; on stock the model was asked once more,
    for the result of a call whose wait for its preamble had gone on."""
    stock = {"effects": {2: 1}, "latency": {2: 5.0}, "brought": {2: frozenset(news)}}
    ours = {"effects": {2: 0}, "latency": {2: None}, "runs": (ran(1, 2.0, 3.0, how),)}
    assert kinds(stock, ours) == found


@pytest.mark.parametrize(("stop", "found"), [(4.5, []), (5.5, ["undone"])])
def test_a_call_is_explained_whose_reply_was_interrupted_before_stock_asked_for_it(
    stop: float, found: list[str]
) -> None:
    """Ours asks at 4 s, stock at 5 s."""
    stock = {"effects": {2: 1}, "asked": {2: 5.0}}
    assert kinds(stock, {"effects": {2: 0}, "asked": {2: 4.0}, "stops": (stop,)}) == found


@pytest.mark.parametrize(("begun", "found"), [(6.0, []), (4.0, ["undone"])])
def test_a_call_that_stock_begins_after_the_close_is_explained(
    begun: float, found: list[str]
) -> None:
    """The application closes at 5 s."""
    stock = {"effects": {2: 1}, "runs": (ran(2, begun, begun + 0.5),)}
    assert kinds(stock, {"effects": {2: 0}}, moves=(Move(5.0, "aclose"),)) == found


@pytest.mark.parametrize(
    ("overlap", "stop", "found"),
    [(1.0, 5.1, []), (0.0, 5.1, ["undone"]), (1.0, 9.0, ["undone"]), (1.0, 4.0, ["undone"])],
    ids=["waited", "nobody spoke over the user", "long after", "before"],
)
def test_an_interruption_while_a_reply_waited_for_a_quiet_user_is_explained(
    overlap: float, stop: float, found: list[str]
) -> None:
    """On stock, which talked into the user, the call had begun at 5 s."""
    stock = {"effects": {2: 1}, "overlap": overlap, "runs": (ran(2, 5.0, 5.5),)}
    assert kinds(stock, {"effects": {2: 0}, "stops": (stop,)}) == found


@pytest.mark.parametrize(
    ("lost", "what", "found"),
    [({2}, "run", []), ((), "run", ["wait"]), ({2}, "wait", ["wait"])],
    ids=["lost on stock", "answered on both", "no run"],
)
def test_a_run_that_lasts_until_a_sentence_is_answered_which_stock_lost_is_explained(
    lost: Any, what: str, found: list[str]
) -> None:
    """It ends when all is quiet."""
    stock = {"waits": {0: 1.0}, "silent": {0: 1.0}, "words_lost": frozenset(lost)}
    ours = {"waits": {0: 9.0}, "silent": {0: 5.0}, "asked": {2: 4.0}}
    assert kinds(stock, ours, moves=(Move(2.0, what),)) == found
