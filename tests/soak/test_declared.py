"""What the list of differences explains, each with its cause, and what it leaves a finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    JobRun,
    Measures,
    Move,
    Pair,
    Plan,
    Sound,
    play_pair,
    worse,
)
from turnfsm.runtime.testing.livekit.speaker import Heard

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
        ("hold", 2.0, 5.0, 1.8, []),
        ("finish", 2.0, 5.0, 1.8, []),
        ("detach", 2.0, 5.0, 1.8, ["late"]),
        ("hold", 2.0, 5.0, 1.9, ["late"]),
        ("hold", 1.5, 2.5, 1.8, ["late"]),
        ("hold", 4.5, 6.0, 3.0, ["late"]),
    ],
    ids=["hold", "finish", "detach", "longer", "over before", "begun after stock's answer"],
)
def test_a_call_that_holds_its_turn_explains_an_answer_that_waits_for_it(
    policy: Any, start: float, end: float, ours: float, found: list[str]
) -> None:
    """The sentence ends at 3.6 s; stock answers it at 4.1 s, a moment after words may come."""
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
    told = {"effects": {1: stock}, "told": {1: 5.0}}
    assert kinds(told, {"effects": {1: ours}}) == found


@pytest.mark.parametrize(("ends", "found"), [("nothing", []), ("returns", ["untold"])])
def test_a_tool_that_returns_nothing_asks_for_no_reply(ends: Any, found: list[str]) -> None:
    """On stock another tool's reply has mentioned it."""
    told = {"effects": {1: 1}, "told": {1: 5.0}}
    assert kinds(told, {"effects": {1: 1}}, jobs={1: Job(1, 0.5, ends=ends)}) == found


@pytest.mark.parametrize(("waits", "found"), [("interrupts", []), ("", ["untold"])])
def test_a_tool_that_ends_its_own_turn_explains_that_no_reply_follows(
    waits: Any, found: list[str]
) -> None:
    """Nor one to the call beside it."""
    made = {"effects": {1: 1, 2: 1}}
    runs = (ran(1, 2.0, 3.0), ran(2, 2.0, 2.5))
    jobs = {2: Job(2, 0.5, waits)}
    assert kinds({**made, "told": {1: 5.0}}, {**made, "runs": runs}, jobs=jobs) == found


@pytest.mark.parametrize(("on_stock", "found"), [({}, []), ({0: (5.0, 6.5)}, ["late"])])
def test_what_the_application_asked_for_and_stock_never_says_delays_an_answer(
    on_stock: Mapping[int, Any], found: list[str]
) -> None:
    """It is heard from 4.0 to 5.5 s, the answer comes behind it."""
    moves = (Move(3.5, "ask"),)
    stock = {"latency": {2: 0.5}, "replies": on_stock}
    assert kinds(stock, {"latency": {2: 2.1}, "replies": {0: (4.0, 5.5)}}, moves=moves) == found


@pytest.mark.parametrize(
    ("on_stock", "late", "found"),
    [({}, 2.2, []), ({1: (4.0, 5.0)}, 2.2, ["late"]), ({}, 2.8, ["late"])],
    ids=["never", "on stock too", "later than it took"],
)
def test_the_answer_to_an_earlier_sentence_that_stock_never_gives_delays_the_next(
    on_stock: Mapping[int, Any], late: float, found: list[str]
) -> None:
    """The second sentence ends at 3.6 s. The first is answered from 4.0 to 5.5 s, and the model has
    thought about this for 0.2 s."""
    stock = {"latency": {2: 0.5}, "own_answers": on_stock}
    assert kinds(stock, {"latency": {2: late}, "own_answers": {1: (4.0, 5.5)}}) == found


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


@pytest.mark.parametrize(
    ("latency", "ends", "ours", "found"),
    [
        (4.0, 8.0, None, []),
        (2.0, 8.0, None, ["late"]),
        (4.0, 5.9, None, ["late"]),
        (4.0, 8.0, 4.6, ["late"]),
    ],
    ids=["during the close", "before it", "nothing to wait for", "late itself"],
)
def test_what_stock_answers_while_its_close_waits_for_a_call_is_explained(
    latency: float, ends: float, ours: float | None, found: list[str]
) -> None:
    """The second sentence ends at 3.6 s, and the application closes the session at 6 s."""
    stock = {"latency": {2: latency}, "runs": (ran(1, 5.0, ends),)}
    runs = (ran(1, 5.0, 5.5),)
    moves = (Move(6.0, "aclose"),)
    assert kinds(stock, {"latency": {2: ours}, "runs": runs}, moves=moves) == found


@pytest.mark.parametrize(("begun", "found"), [(6.0, []), (4.0, ["undone"])])
def test_a_call_that_stock_begins_after_the_close_is_explained(
    begun: float, found: list[str]
) -> None:
    """The application closes at 5 s."""
    stock = {"effects": {2: 1}, "runs": (ran(2, begun, begun + 0.5),)}
    assert kinds(stock, {"effects": {2: 0}}, moves=(Move(5.0, "aclose"),)) == found


@pytest.mark.parametrize(
    ("answer", "policy", "told", "found"),
    [
        ("t2a t2b.", "cancel", {}, []),
        ("t1a t1b. t2a t2b.", "cancel", {1: 2.0}, []),
        ("t1a t1b. t2a t2b.", "cancel", {}, ["late"]),
        ("t1a t1b. t2a t2b.", "cancel", {1: 9.0}, ["late"]),
        ("r1a r1b. t2a t2b.", "cancel", {}, ["late"]),
        ("t2a t2b.", "detach", {}, ["late"]),
    ],
    ids=["cancelled", "told before", "never told", "told later", "an answer", "not cancelled"],
)
def test_a_cancelled_call_explains_that_nothing_is_told_to_the_sentence_before(
    answer: str, policy: Any, told: Any, found: list[str]
) -> None:
    """Stock answers the first sentence at 5.6 s with the result of what the second asked for."""
    runs = (ran(2, 4.0, 4.5, "CancelledError"),)
    stock = {"latency": {1: 4.0}, "answered_with": {1: answer}}
    ours = {"latency": {1: None}, "runs": runs, "told": told}
    assert kinds(stock, ours, jobs={2: Job(2, 0.5, policy=policy)}) == found


@pytest.mark.parametrize(
    ("pending", "found"),
    [(((4.6, 5.6),), []), (((4.6, 5.0),), ["late"]), (((0.5, 1.5),), ["late"]), ((), ["late"])],
    ids=["as long", "shorter", "before", "never"],
)
def test_an_answer_that_a_call_still_runs_explains_that_its_result_is_told_behind(
    pending: Any, found: list[str]
) -> None:
    """A second later than on stock."""
    ours = {"latency": {2: 2.5}, "pending": pending}
    assert kinds({"latency": {2: 1.5}}, ours) == found


@pytest.mark.parametrize(
    ("start", "end", "ours", "answer", "found"),
    [
        (3.0, 7.0, 6.0, "t1a t1b.", []),
        (3.0, 7.0, 9.0, "t1a t1b.", ["late"]),
        (3.0, 4.0, 6.0, "t1a t1b.", ["late"]),
        (6.0, 7.0, 6.0, "t1a t1b.", ["late"]),
        (3.0, 7.0, 6.0, "r1a r1b.", ["late"]),
    ],
    ids=["soon after", "long after", "over before", "begun later", "no result"],
)
def test_a_call_of_a_later_turn_explains_that_the_result_of_one_before_is_told_after_it(
    start: float, end: float, ours: float, answer: str, found: list[str]
) -> None:
    """Stock tells it at 5.6 s, while the other call runs."""
    runs = (ran(1, 2.0, 5.0), ran(2, start, end))
    stock = {"latency": {1: 4.0}, "answered_with": {1: answer}}
    assert kinds(stock, {"latency": {1: ours}, "runs": runs}) == found


@pytest.mark.parametrize(
    ("words", "duration", "ours", "found"),
    [(0, 0.3, 3.7, []), (0, 0.3, 4.5, ["late"]), (0, 0.1, 3.7, ["late"]), (2, 0.3, 3.7, ["late"])],
    ids=["noise", "longer than words may take", "too short", "words"],
)
def test_a_noise_after_which_words_may_come_explains_that_a_reply_waits(
    words: int, duration: float, ours: float, found: list[str]
) -> None:
    """The sentence ends at 1.6 s, the noise begins at 3 s; stock answers at 4 s."""
    plan = Plan("a noise", (SOUNDS[0], Sound(3.0, words, duration, 0.1)), ANSWERS, JOBS)
    pair = Pair(plan, Measures(latency={1: 2.4}), Measures(latency={1: ours}))
    assert [w.kind for w in worse(pair)] == found


@pytest.mark.parametrize(
    ("latency", "found"), [(1.0, []), (0.1, ["late"])], ids=["with it", "an answer after it"]
)
def test_words_after_such_a_noise_are_answered_with_those_before(
    latency: float, found: list[str]
) -> None:
    """They begin at 4.5 s, when the reply still waits, and end at 5.1 s."""
    sounds = (SOUNDS[0], Sound(3.0, 0, 0.3), Sound(4.5, 2, 0.6))
    plan = Plan("a noise", sounds, {**ANSWERS, 3: Answer(4)}, JOBS)
    stock = Measures(latency={1: 2.4, 3: latency})
    assert [
        w.kind for w in worse(Pair(plan, stock, Measures(latency={1: 4.5, 3: latency})))
    ] == found


@pytest.mark.parametrize(
    ("policy", "ended", "stop", "found"),
    [
        ("finish", 5.0, 6.5, []),
        ("detach", 5.0, 6.5, ["undone"]),
        ("finish", 3.9, 6.5, ["undone"]),
        ("finish", 5.0, 7.1, ["undone"]),
        ("finish", 5.0, 5.4, ["undone"]),
    ],
    ids=["held", "not held", "over before", "stopped later", "before stock's began"],
)
def test_a_call_is_explained_whose_words_waited_for_another_call_and_which_was_stopped_then(
    policy: Any, ended: float, stop: float, found: list[str]
) -> None:
    """Stock asks at 4 s and begins the call at 6 s. Ours asks at 5 s, so it would begin at 7 s."""
    stock = {"effects": {2: 1}, "asked": {2: 4.0}, "runs": (ran(2, 6.0, 7.0),)}
    runs = (ran(1, 2.0, ended),)
    ours = {"effects": {2: 0}, "asked": {2: 5.0}, "stops": (stop,), "runs": runs}
    assert kinds(stock, ours, jobs={1: Job(1, 0.5, policy=policy)}) == found


@pytest.mark.parametrize(
    ("together", "lost", "policy", "until", "found"),
    [
        ({1: 2}, {2}, "detach", 2.0, []),
        ({1: 2}, (), "hold", 3.2, []),
        ({1: 2}, (), "detach", 3.2, ["undone"]),
        ({1: 2}, (), "hold", 2.0, ["undone"]),
        ({}, {2}, "hold", 3.2, ["undone"]),
    ],
    ids=["lost on stock", "held", "not held", "held too short", "asked alone"],
)
def test_a_call_is_explained_if_the_model_was_asked_in_one_turn_with_later_words(
    together: Mapping[int, int], lost: Any, policy: Any, until: float, found: list[str]
) -> None:
    """The first sentence ends at 1.6 s, the second begins at 3 s. The model answers the second."""
    stock = {"effects": {1: 1}, "asked": {1: 2.0}, "words_lost": frozenset(lost)}
    asked = {1: 4.0, 2: 4.0}
    ours = {"effects": {1: 0}, "asked": asked, "together": together, "runs": (ran(2, 1.2, until),)}
    assert kinds(stock, ours, jobs={2: Job(2, 0.5, policy=policy)}) == found


@pytest.mark.parametrize(
    ("effects", "moves", "found"),
    [
        (0, (), ["undone"]),
        (1, (), ["agent"]),
        (0, (Move(5.0, "update_agent"),), ["undone", "agent"]),
    ],
    ids=["it was not made", "it was made", "the application hands over, too"],
)
def test_a_handoff_whose_call_was_not_made_is_found_as_the_missing_call(
    effects: int, moves: tuple[Move, ...], found: list[str]
) -> None:
    """The call itself needs an explanation. Another one cannot hand over, as it has reported."""
    runs = (ran(1, 2.0, 2.5), ran(2, 3.0, 3.5))
    stock = {"effects": {1: 1, 2: 1}, "handed_over": True, "runs": runs}
    jobs = {1: Job(1, 0.5, ends="hands_off"), 2: Job(2, 0.5, ends="hands_off", waits="updates")}
    assert kinds(stock, {"effects": {1: effects, 2: 1}}, jobs=jobs, moves=moves) == found


@pytest.mark.parametrize(("moves", "asked"), [((Move(1.4, "commit"),), 2), ((), 1)])
def test_a_sentence_that_is_committed_in_two_parts_asks_for_its_call_twice(
    moves: tuple[Move, ...], asked: int
) -> None:
    """The application commits while the user speaks. On stock a result comes after the second part
    in the model's conversation, so this part is not answered."""
    plan = Plan(
        "two parts",
        (Sound(1.0, 3, 0.9),),
        {1: Answer(3, (1,), 0.05)},
        {1: Job(1, 0.0)},
        moves,
        model="realtime",
        settings={"turn_detection": "vad"},
        tail=6.0,
    )
    pair = play_pair(plan, TurnSession)
    assert pair.ours.wanted == pair.ours.effects == {1: asked}
    assert worse(pair) == []
    twice = attrs.evolve(pair.ours, effects={1: asked + 1})
    assert [found.kind for found in worse(attrs.evolve(pair, ours=twice))] == ["twice"]


def test_words_that_come_after_those_of_the_next_sentence_ask_for_its_call_once_more() -> None:
    """The model has begun to answer that when they come, and makes its call for both messages."""
    plan = Plan(
        "late words",
        (Sound(1.0, 1, 0.3, 1.5), Sound(1.7, 1, 0.3), Sound(9.0, 2, 0.6)),
        {1: Answer(3), 2: Answer(3, (1,), 0.6), 3: Answer(3)},
        {1: Job(1, 3.0)},
        (Move(4.0, "update_agent"),),
        settings={"turn_detection": "vad", "preemptive_generation": {"enabled": True}},
        tail=6.0,
    )
    pair = play_pair(plan, TurnSession)
    assert pair.ours.wanted == pair.ours.effects == {1: 2}
    assert worse(pair) == []


@pytest.mark.parametrize(("mentioned", "found"), [({1}, []), ({2}, ["untold"])])
def test_a_result_of_which_the_caller_has_heard_some_part_counts_as_told(
    mentioned: set[int], found: list[str]
) -> None:
    """The user has interrupted the reply; on stock they have heard more of it."""
    stock = {"effects": {1: 1}, "told": {1: 5.0}}
    assert kinds(stock, {"effects": {1: 1}, "mentioned": frozenset(mentioned)}) == found


@pytest.mark.parametrize(("on_stock", "found"), [((), []), (((4.0, 5.4),), ["late"])])
def test_results_that_stock_tells_as_well_explain_no_later_answer(
    on_stock: tuple[tuple[float, float], ...], found: list[str]
) -> None:
    """Only what ours says besides takes time that stock has not."""
    news = ((4.0, 5.4),)
    stock = {"latency": {2: 2.0}, "news": on_stock}
    assert kinds(stock, {"latency": {2: 3.5}, "news": news}) == found


@pytest.mark.parametrize(
    ("end", "moves", "found"),
    [(4.3, (), []), (3.0, (Move(4.2, "ask"),), []), (3.0, (Move(4.2, "clear"),), ["warning"])],
    ids=["a call ends", "the application asks", "neither"],
)
def test_a_request_made_ahead_that_is_out_of_date_is_explained(
    end: float, moves: tuple[Move, ...], found: list[str]
) -> None:
    """The model is asked ahead at 4 s; the turn is committed at 4.5 s."""
    text = "preemptive generation invalidated after `on_user_turn_completed`"
    ours = {"warnings": {text: 1}, "outdated": ((4.0, 4.5),), "runs": (ran(1, 2.0, end),)}
    assert kinds({}, ours, moves=moves) == found


@pytest.mark.parametrize(
    ("ended", "put", "ahead", "close", "found"),
    [
        (4.2, 4.0, ((4.0, 4.5),), 4.8, []),
        (3.0, 4.0, ((4.0, 4.5),), 4.8, ["undone"]),
        (4.2, 4.6, ((4.0, 4.5),), 4.8, ["undone"]),
        (4.2, 4.0, (), 4.8, ["undone"]),
        (4.2, 4.0, ((4.0, 4.5),), 5.4, ["undone"]),
    ],
    ids=["asked again", "ended before", "stock asks later", "in use", "closed late"],
)
def test_a_call_is_explained_if_the_session_closes_as_the_model_is_asked_for_it_again(
    ended: float,
    put: float,
    ahead: tuple[tuple[float, float], ...],
    close: float,
    found: list[str],
) -> None:
    """The model is asked ahead at 4 s and needs 0.6 s. A call of the turn before ends, and ours
    asks again at 4.5 s."""
    plan = Plan(
        "asked again",
        SOUNDS,
        {1: Answer(4, (1,)), 2: Answer(4, (2,), 0.6)},
        JOBS,
        (Move(close, "aclose"),),
    )
    wanted, call = {1: 1, 2: 1}, ran(1, 2.0, ended)
    stock = Measures(
        effects={2: 1}, put={2: ((put, True),)}, runs=(ran(2, 4.7, 5.2),), wanted=wanted
    )
    ours = Measures(
        effects={2: 0},
        put={2: ((4.0, True), (4.5, False))},
        outdated=ahead,
        runs=(call,),
        wanted=wanted,
    )
    assert [worst.kind for worst in worse(Pair(plan, stock, ours))] == found


@pytest.mark.parametrize(
    ("policy", "ends", "lost", "made", "found"),
    [
        ("hold", "hangs", {1}, False, []),
        ("detach", "hangs", {1}, False, ["close"]),
        ("hold", "returns", {1}, False, ["close"]),
        ("hold", "hangs", (), False, ["close"]),
        ("hold", "hangs", {1}, True, ["close"]),
    ],
    ids=["it holds", "it does not", "it ends", "stock has the words", "stock makes it"],
)
def test_a_call_that_only_ours_makes_and_that_hangs_explains_a_long_close(
    policy: Any, ends: Any, lost: Any, made: bool, found: list[str]
) -> None:
    """A close waits for a call that must not be interrupted until `tool_limit`."""
    runs = (ran(1, 2.0, None, ""),)
    stock = {"words_lost": frozenset(lost), "closed_in": 2.0, "runs": runs if made else ()}
    ours = {"closed_in": 120.0, "runs": runs}
    assert kinds(stock, ours, jobs={1: Job(1, 0.5, ends=ends, policy=policy)}) == found


@pytest.mark.parametrize(("at", "found"), [(7.0, []), (5.5, ["wait"])])
def test_what_is_asked_of_a_session_that_has_closed_is_not_compared(
    at: float, found: list[str]
) -> None:
    """The application closes at 5 s; ours has closed at 6 s, and stock at 9 s."""
    moves = (Move(5.0, "aclose"), Move(at, "commit"))
    assert kinds({"waits": {0: 4.0, 1: 0.0}}, {"waits": {0: 1.0, 1: None}}, moves=moves) == found


@pytest.mark.parametrize(("returned", "found"), [(0.0, []), (1.0, ["wait"])])
def test_a_run_that_is_open_at_the_end_raises(returned: float, found: list[str]) -> None:
    """On stock it returns, with what it has: when the session closes, or before that."""
    moves = (Move(6.0, "run"),)
    plan = Plan("a run", SOUNDS, {1: Answer(4), 2: Answer(4)}, JOBS, moves)
    stock = Measures(waits={0: plan.seconds - 6.0 - returned})
    pair = Pair(plan, stock, Measures(raised=frozenset({0})))
    assert [one.kind for one in worse(pair)] == found


@pytest.mark.parametrize(("asked", "found"), [(5.0, []), (4.5, ["late"])])
def test_stock_may_ask_for_the_users_last_words_as_it_closes(
    asked: float, found: list[str]
) -> None:
    """The application closes at 5 s, and on stock the answer is heard at 5.6 s."""
    stock = {"latency": {2: 5.6 - SOUNDS[1].over}, "asked": {2: asked}}
    assert kinds(stock, {"latency": {2: None}}, moves=(Move(5.0, "aclose"),)) == found


@pytest.mark.parametrize(
    ("words", "end", "found"),
    [("f2a f2b.", 11.0, []), ("r2a r2b.", 11.0, ["chopped"]), ("f2a f2b.", 3.0, ["chopped"])],
    ids=["fillers", "something else", "more than are due"],
)
def test_the_fillers_of_a_call_that_stock_has_not_made_are_no_pieces(
    words: str, end: float, found: list[str]
) -> None:
    """Audio begins eight times; five of these are fillers, each 2 s after the one before."""
    audio = tuple(Heard(2.0 + 2 * n, 2.6 + 2 * n, words) for n in range(5))
    ours = {"stretches": 8, "runs": (ran(2, 2.0, end),), "audio": audio}
    assert kinds({"stretches": 1}, ours) == found


@pytest.mark.parametrize(
    ("end", "moves", "found"),
    [
        (3.2, (), []),
        (7.0, (), ["undone"]),
        (7.0, (Move(5.6, "commit"),), []),
        (7.0, (Move(5.0, "commit"),), ["undone"]),
        (7.0, (Move(6.0, "aclose"),), []),
        (7.0, (Move(8.0, "aclose"),), ["undone"]),
        (9.5, (Move(4.5, "update_agent"),), []),
        (9.0, (Move(4.5, "update_agent"),), ["undone"]),
    ],
    ids=[
        "spoken",
        "no reason",
        "committed",
        "long after",
        "closed",
        "closed later",
        "a handoff has waited",
        "a handoff waits",
    ],
)
def test_a_call_is_cancelled_for_a_reason(
    end: float, moves: tuple[Move, ...], found: list[str]
) -> None:
    """The user speaks until 3.6 s. A commit waits for words for 1.5 s, a handoff for calls 5 s."""
    runs = (ran(1, 2.0, end, "CancelledError"),)
    jobs = {1: Job(1, 6.0, policy="cancel")}
    ours = {"effects": {1: 0}, "runs": runs}
    assert kinds({"effects": {1: 1}}, ours, jobs=jobs, moves=moves) == found


@pytest.mark.parametrize(
    ("policy", "end", "found"),
    [("hold", 5.0, []), ("detach", 5.0, ["undone"]), ("hold", 6.0, ["undone"])],
    ids=["held", "not held", "later"],
)
def test_a_call_is_cancelled_as_a_call_beside_it_lets_go_of_its_turn(
    policy: Any, end: float, found: list[str]
) -> None:
    """That one ends at 5 s; the user has spoken meanwhile."""
    runs = (ran(1, 2.0, end, "CancelledError"), ran(2, 2.0, 5.0))
    jobs = {1: Job(1, 6.0, policy="cancel"), 2: Job(2, 3.0, policy=policy)}
    assert kinds({"effects": {1: 1}}, {"effects": {1: 0}, "runs": runs}, jobs=jobs) == found


@pytest.mark.parametrize("how", ["CancelledError", "SpeechInterrupted"])
@pytest.mark.parametrize(("again", "found"), [("result", ["untold"]), ("CancelledError", [])])
def test_a_call_that_was_made_again_and_gave_a_result_is_told(
    how: str, again: str, found: list[str]
) -> None:
    """One run of it was cancelled, or its wait for the preamble was interrupted."""
    second = JobRun(1, "do_it", 2.9, 3.0, None, 3.2, again)
    ours = {"effects": {1: 1}, "runs": (ran(1, 1.0, 1.5, how), second)}
    jobs = {1: Job(1, 0.5, policy="cancel")}
    assert kinds({"effects": {1: 1}, "told": {1: 5.0}}, ours, jobs=jobs) == found


@pytest.mark.parametrize(
    ("at", "what", "policy", "raised", "found"),
    [
        (3.0, "interrupt", "hold", True, []),
        (3.0, "chat", "finish", True, []),
        (3.0, "interrupt", "detach", True, ["wait"]),
        (5.0, "interrupt", "hold", True, ["wait"]),
        (1.5, "interrupt", "hold", True, ["wait"]),
        (3.0, "say", "hold", True, ["wait"]),
        (3.0, "interrupt", "hold", False, ["wait"]),
    ],
    ids=["hold", "chat", "not held", "over", "not begun", "say", "it returns late"],
)
def test_an_interruption_is_refused_while_a_call_holds_its_turn(
    at: float, what: str, policy: Any, raised: bool, found: list[str]
) -> None:
    """From 2 to 4 s."""
    ours: dict[str, Any] = {"runs": (ran(1, 2.0, 4.0),)}
    ours |= {"raised": frozenset({0})} if raised else {"waits": {0: 3.0}, "silent": {0: 3.0}}
    stock = {"waits": {0: 0.0}, "silent": {0: 0.0}}
    jobs = {1: Job(1, 2.0, policy=policy)}
    assert kinds(stock, ours, jobs=jobs, moves=(Move(at, what),)) == found


@pytest.mark.parametrize(
    ("end", "on_stock", "asked", "ours", "found"),
    [
        (3.9, 3.9, 5.3, 2.4, []),
        (3.9, 3.9, 5.3, 2.7, ["late"]),
        (3.0, 3.9, 5.3, 2.4, ["late"]),
        (5.6, 3.9, 5.4, 2.5, ["late"]),
        (3.9, 4.4, 5.3, 2.4, ["late"]),
        (3.9, 3.9, 5.6, 2.7, ["late"]),
    ],
    ids=["as they come", "later", "over before", "still runs", "not ahead", "asked later"],
)
def test_a_call_that_ends_as_the_words_come_explains_that_the_model_is_not_asked_ahead(
    end: float, on_stock: float, asked: float, ours: float, found: list[str]
) -> None:
    """They come at 3.9 s. The agent's hook takes a second, and the commit half a second at most."""
    plan = Plan("asked ahead", SOUNDS, ANSWERS, JOBS, hook=1.0)
    runs = (ran(1, 2.0, end),)
    stock = Measures(latency={2: 1.0}, asked={2: on_stock}, runs=runs)
    pair = Pair(plan, stock, Measures(latency={2: ours}, asked={2: asked}, runs=runs))
    assert [w.kind for w in worse(pair)] == found


@pytest.mark.parametrize(("begun", "found"), [(2.0, ["late"]), (None, []), (4.0, [])])
def test_a_call_that_stock_has_not_made_explains_that_the_model_is_not_asked_ahead(
    begun: float | None, found: list[str]
) -> None:
    """On ours it runs from 2 s on, until after the commit. The words come at 3.9 s."""
    plan = Plan("asked ahead", SOUNDS, ANSWERS, JOBS, hook=1.0)
    runs = () if begun is None else (ran(1, begun, 9.0),)
    stock = Measures(latency={2: 1.0}, asked={2: 3.9}, runs=runs)
    ours = Measures(latency={2: 2.4}, asked={2: 5.3}, runs=(ran(1, 2.0, 9.0),))
    assert [w.kind for w in worse(Pair(plan, stock, ours))] == found


@pytest.mark.parametrize(
    ("policy", "begun", "end", "found"),
    [
        ("hold", 2.0, 60.0, []),
        ("finish", 2.0, 60.0, ["late"]),
        ("hold", 2.0, 20.0, ["late"]),
        ("hold", 4.8, 60.0, ["late"]),
    ],
    ids=["held", "only for some time", "it ends", "begun later"],
)
def test_nobody_is_answered_while_a_call_holds_its_turn_to_the_end(
    policy: Any, begun: float, end: float, found: list[str]
) -> None:
    """The conversation ends at 27.6 s. Stock answers at 4.6 s."""
    ours = {"latency": {2: None}, "runs": (ran(1, begun, end, "CancelledError"),)}
    jobs = {1: Job(1, 0.5, ends="hangs", policy=policy)}
    assert kinds({"latency": {2: 1.0}}, ours, jobs=jobs) == found
