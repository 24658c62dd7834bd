"""An answer is explained that somebody cut while something else was heard first, and no other."""

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
from turnfsm.runtime.testing.livekit.differential.reasons.cuts import cut_behind_what_came_first
from turnfsm.runtime.testing.livekit.speaker import Heard

SAID = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6), Sound(6.0, 2, 0.6))
"""The second sentence ends at 3.6 s; stock answers it at 4.6 s; the third one begins at 6 s."""

STOCK = {"asked": {2: 4.0}, "latency": {2: 1.0}, "effects": {1: 1}}

INTO_THE_USER = Heard(3.2, 4.4, "s2a s2b s2c.")
HELD = Heard(4.2, 6.0, "s2a s2b s2c.")
WITH_NEWS = Heard(4.2, 6.0, "s2a s2b s2c. t9a t9b.")
ANOTHER = Heard(4.2, 6.0, "r9a r9b r9c.")
BEFORE = Heard(2.4, 2.9, "s2a s2b s2c.")


def compared(
    ours: Mapping[str, Any],
    stock: Mapping[str, Any],
    *,
    model: str = "server",
    moves: tuple[Move, ...] = (),
    sounds: tuple[Sound, ...] = SAID,
    words: int = 4,
    policy: Any = "detach",
) -> Pair:
    """The second sentence asks for the first job, which is never done on ours. `policy`: of the
    second job."""
    answers = {n: Answer(words, (1,) if n == 2 else ()) for n in (1, 2, 3)}
    jobs = {1: Job(1, 0.5), 2: Job(2, 0.5, policy=policy)}
    plan = Plan("an answer that is cut", sounds, answers, jobs, moves, model=model)  # type: ignore[arg-type]
    once = {"wanted": {1: 1, 2: 1}}
    both = [Measures(**{**once, **STOCK, **m}) for m in (stock, {"latency": {2: None}, **ours})]
    return Pair(plan, *both)


def found(ours: Mapping[str, Any], stock: Mapping[str, Any], **plan: Any) -> list[str]:
    """What is worse."""
    return [w.kind for w in worse(compared(ours, stock, **plan))]


@pytest.mark.parametrize(
    ("before", "heard", "asked", "late"),
    [
        (INTO_THE_USER, HELD, 4.0, False),
        (INTO_THE_USER, WITH_NEWS, 4.0, False),
        (INTO_THE_USER, HELD, 5.0, True),
        (INTO_THE_USER, Heard(4.2, 5.2, "s2a s2b s2c."), 4.0, True),
        (INTO_THE_USER, ANOTHER, 4.0, True),
        (BEFORE, HELD, 4.0, True),
    ],
    ids=[
        "held",
        "with results",
        "asked later",
        "over long before",
        "said by ours alone",
        "not into the user",
    ],
)
def test_what_stock_had_said_into_the_user_comes_before_the_answer(
    before: Heard, heard: Heard, asked: float, late: bool
) -> None:
    """On ours it was held; then the user spoke again."""
    ours = {"asked": {2: asked}, "audio": (heard,)}
    assert found(ours, {"audio": (before,)}) == ["late"] * late


@pytest.mark.parametrize(
    ("policy", "before", "late"),
    [
        ("finish", (), False),
        ("detach", (), True),
        ("finish", (BEFORE,), True),
    ],
    ids=["finishes", "goes on beside the turn", "stock had said it"],
)
def test_what_a_tool_says_that_finishes_its_turn_comes_before_the_answer(
    policy: Any, before: tuple[Heard, ...], late: bool
) -> None:
    """Stock has cut it, perhaps before it was heard; ours was held, until the user spoke again."""
    assert found({"audio": (HELD,)}, {"audio": before}, policy=policy) == ["late"] * late


@pytest.mark.parametrize(
    ("news", "on_stock", "late"),
    [
        ((4.5, 5.9), (), False),
        ((4.5, 5.9), ((4.5, 5.9),), True),
        ((4.5, 5.2), (), True),
    ],
    ids=["ours alone", "both", "over long before"],
)
def test_results_that_stock_does_not_tell_come_before_the_answer(
    news: tuple[float, float], on_stock: tuple[Any, ...], late: bool
) -> None:
    """And what interrupts may be the application."""
    sounds, moves = SAID[:2], (Move(6.0, "interrupt"),)
    ours = {"news": (news,), "stops": (6.0,)}
    assert found(ours, {"news": on_stock}, sounds=sounds, moves=moves) == ["late"] * late


@pytest.mark.parametrize(("put", "late"), [(4.0, False), (5.0, True)])
def test_a_model_that_has_heard_the_end_of_a_sentence_is_asked_about_it(
    put: float, late: bool
) -> None:
    """The next agent's model hears no more of it on stock, and answers that."""
    ours = {"asked": {2: 4.0}, "audio": (HELD,)}
    stock = {"asked": {}, "put": {2: ((put, True),)}, "audio": (INTO_THE_USER,)}
    assert found(ours, stock) == ["late"] * late


@pytest.mark.parametrize(("latency", "late"), [(4.4, False), (5.0, True)])
def test_what_was_cut_may_be_answered_with_the_next_sentence(latency: float, late: bool) -> None:
    """That ends at 6.6 s, and is answered at 8 s on both."""
    ours = {"asked": {2: 4.0}, "audio": (HELD,), "latency": {2: latency, 3: 1.4}}
    stock = {"audio": (INTO_THE_USER,), "latency": {2: 1.0, 3: 1.4}}
    assert found(ours, stock) == ["late"] * late


@pytest.mark.parametrize(("words", "late"), [(0, False), (2, True)], ids=["noise", "words"])
def test_what_a_noise_has_cut_may_be_answered_at_any_time(words: int, late: bool) -> None:
    """Nobody asks for it again: later is better than never."""
    ours = {"asked": {2: 4.0}, "audio": (HELD,), "latency": {2: 9.0, 3: 1.4}}
    stock = {"audio": (INTO_THE_USER,), "latency": {2: 1.0, 3: 1.4}}
    sounds = (*SAID[:2], Sound(6.0, words, 0.6))
    assert found(ours, stock, sounds=sounds) == ["late"] * late


@pytest.mark.parametrize(
    ("own", "latency", "late"),
    [((5.7, 6.0), 8.4, False), (None, 8.4, True), ((6.2, 6.4), 8.4, True), ((5.7, 6.0), 9.0, True)],
    ids=["cut on stock, too", "no answer", "after the cut", "later than the next sentence"],
)
def test_an_answer_that_was_cut_on_stock_before_it_counted_was_due_then(
    own: Any, latency: float, late: bool
) -> None:
    """On stock a result counts, at 7 s. The user speaks again at 6 s, and is answered at 12 s."""
    ours = {"asked": {2: 4.0}, "audio": (HELD,), "latency": {2: latency, 3: 5.4}}
    stock = {"audio": (INTO_THE_USER,), "latency": {2: 3.4, 3: 5.4}}
    stock |= {"own_answers": {} if own is None else {2: own}}
    assert cut_behind_what_came_first(2, compared(ours, stock)) is not late


@pytest.mark.parametrize(
    ("made", "end", "first", "asked", "late"),
    [
        (7.3, 11.0, False, 7.1, False),
        (7.3, 10.0, False, 7.1, True),
        (7.3, 11.4, False, 7.1, True),
        (7.3, 11.0, True, 7.1, True),
        (7.3, 11.0, False, 8.0, True),
        (None, 11.0, False, 7.1, True),
    ],
    ids=["beside it", "ended before", "ends later", "made again", "asked later", "not on stock"],
)
def test_a_call_that_was_cut_is_made_beside_the_answer_to_the_next_sentence(
    made: float | None, end: float, first: bool, asked: float, late: bool
) -> None:
    """On stock it was made at 5 s. The third sentence is answered at 8 s there, here at 11.2 s."""
    call = JobRun(1, "do_it", 7.3, end, None, end, "result")
    before = JobRun(1, "do_it", 5.0, 5.5, None, 5.5, "result")
    ours = {
        **{"asked": {2: 4.0, 3: asked}, "audio": (HELD,), "latency": {2: 7.6, 3: 4.6}},
        "runs": (before, call) if first else (call,),
    }
    stock = {
        **{"asked": {2: 4.0, 3: 7.1}, "audio": (INTO_THE_USER,), "latency": {2: 1.0, 3: 1.4}},
        "runs": () if made is None else (before,),
    }
    assert found(ours, stock) == ["late"] * late


@pytest.mark.parametrize(("model", "undone"), [("server", False), ("pipeline", True)])
def test_a_realtime_model_makes_its_calls_with_its_answer(model: str, undone: bool) -> None:
    """So a call is not made either; a pipeline makes it before."""
    ours = {"news": ((4.5, 5.9),), "effects": {1: 0}}
    assert found(ours, {}, model=model) == ["undone"] * undone


@pytest.mark.parametrize(
    ("brought", "first", "whole", "answer", "kinds"),
    [
        ((1,), 0, False, "t2a t2b.", []),
        ((), 0, False, "t2a t2b.", ["undone", "late"]),
        ((1,), 1, False, "t2a t2b.", ["undone", "late"]),
        ((1,), 0, True, "t2a t2b.", ["late"]),
        ((1,), 0, False, "r3a r3b. t2a t2b.", ["late"]),
    ],
    ids=["of its result", "of words", "it was made", "answered", "its own answer"],
)
def test_a_call_that_stock_makes_with_the_result_of_one_that_was_cut_is_not_made(
    brought: tuple[int, ...], first: int, whole: bool, answer: str, kinds: list[str]
) -> None:
    """The first call is cut on ours. The application interrupts the answer to the third sentence,
    which asks for the second call, on both sides. Stock makes this one when it is asked about the
    first one's result, and tells its result."""
    runs = (JobRun(1, "do_it", 4.2, 4.4, None, 4.5, "result"),) * first
    put = {3: ((7.0, False),)}
    ours = {
        **{"news": ((4.5, 5.9),), "effects": {1: first, 2: 0}, "runs": runs, "put": put},
        "latency": {2: None, 3: None},
    }
    stock = {
        **{"effects": {1: 1, 2: 1}, "brought": {2: frozenset(brought)}},
        **{"latency": {2: 1.0, 3: 9.0}, "answered_with": {3: answer}, "put": {3: ((7.0, whole),)}},
    }
    assert found(ours, stock) == kinds


@pytest.mark.parametrize(("made", "undone"), [(4.6, []), (7.0, ["undone"]), (None, ["undone"])])
def test_a_call_that_stock_makes_before_a_word_of_its_answer_is_heard_is_due_then(
    made: float | None, undone: list[str]
) -> None:
    """Stock's answer was cut, too, as it began; on ours another speech was heard until then."""
    runs = (
        () if made is None else (JobRun(1, "do_it", made, made + 0.5, None, made + 0.5, "result"),)
    )
    ours = {"asked": {2: 4.0}, "audio": (HELD,), "effects": {1: 0}, "latency": {2: None}}
    stock = {"audio": (INTO_THE_USER,), "latency": {2: None}, "runs": runs}
    assert found(ours, stock) == undone


@pytest.mark.parametrize(
    ("put", "own", "on_stock", "kinds"),
    [
        ({1: ((3.7, True),)}, {1: (4.0, 5.0)}, False, []),
        ({1: ((3.7, True),)}, {1: (4.0, 4.6)}, False, ["undone", "late"]),
        ({1: ((3.7, True),)}, {1: (4.0, 5.0)}, True, ["undone", "late"]),
        ({1: ((3.7, True),), 2: ((4.0, False),)}, {1: (4.0, 5.0)}, False, ["undone", "late"]),
    ],
    ids=["until then", "over before", "stock answers it, too", "it was asked"],
)
def test_ours_may_still_answer_what_was_said_before(
    put: Mapping[int, Any], own: Mapping[int, Any], on_stock: bool, kinds: list[str]
) -> None:
    """The application interrupts at 5 s, and nobody asks for the answer to the second sentence."""
    first = {1: ((3.7, True),)} if on_stock else {}
    ours = {"put": put, "own_answers": own, "stops": (5.0,), "effects": {1: 0}}
    moves = (Move(5.0, "interrupt"),)
    stock = {"put": first, "own_answers": {1: (3.8, 4.0)} if on_stock else {}}
    assert found(ours, stock, moves=moves, sounds=SAID[:2]) == kinds


@pytest.mark.parametrize(
    ("words", "ended", "told", "stop", "whole", "undone"),
    [
        (0, 2.5, {}, 4.25, False, False),
        (4, 2.5, {}, 4.25, False, True),
        (0, 4.1, {}, 4.25, False, True),
        (0, 2.5, {2: 2.8}, 4.25, False, True),
        (0, 2.5, {}, 4.4, False, True),
        (0, 2.5, {}, 4.25, True, True),
    ],
    ids=[
        "with a result",
        "it speaks anyway",
        "no result yet",
        "it was told",
        "interrupted later",
        "it had answered",
    ],
)
def test_a_model_that_is_to_tell_a_result_makes_its_call_a_moment_later(
    words: int, ended: float, told: Mapping[int, float], stop: float, whole: bool, undone: bool
) -> None:
    """It is asked at 4 s; on stock the call is made at 4.2 s."""
    call = JobRun(1, "do_it", 4.2, 4.7, None, 4.7, "result")
    other = JobRun(2, "do_it", ended - 0.5, ended, None, ended, "result")
    stock = {"put": {2: ((4.0, True),)}, "runs": (other, call), "latency": {2: None}}
    ours = {"put": {2: ((4.0, whole),)}, "asked": {2: 4.0}, "runs": (other,), "told": told}
    ours |= {"effects": {1: 0}, "stops": (stop,)}
    moves = (Move(stop, "interrupt"),)
    kinds = found(ours, stock, moves=moves, sounds=SAID[:2], model="pipeline", words=words)
    assert kinds == ["undone"] * undone


@pytest.mark.parametrize(
    ("tool", "asked", "ends", "also", "late"),
    [
        ((1.0, 3.9), 4.0, 4.9, {}, []),
        ((1.0, 3.7), 4.0, 4.9, {}, ["late"]),
        ((3.3, 3.9), 4.0, 4.9, {}, ["late"]),
        ((1.0, 3.9), 4.3, 4.9, {}, ["late"]),
        ((1.0, 3.9), 4.0, 4.5, {}, ["late"]),
        ((1.0, 3.9), 4.0, 4.9, {0: (4.2, 4.4)}, ["late"]),
    ],
    ids=[
        "behind it",
        "it had ended",
        "a later tool",
        "asked later",
        "time enough",
        "on stock, too",
    ],
)
def test_an_answer_is_cut_behind_a_reply_that_a_tool_has_cost_on_stock(
    tool: tuple[float, float],
    asked: float,
    ends: float,
    also: Mapping[int, tuple[float, float]],
    late: list[str],
) -> None:
    """The application asks for it at 3.8 s. Stock's answer is heard from 4.6 to 5.1 s."""
    run = JobRun(2, "do_it", *tool, None, tool[1], "result")
    stock = {"own_answers": {2: (4.6, 5.1)}, "runs": (run,), "replies": also, "effects": {}}
    ours = {"asked": {2: asked}, "replies": {0: (4.2, ends)}}
    plan = {"model": "pipeline", "moves": (Move(3.8, "ask"),)}
    assert found({**ours, "effects": {}}, stock, **plan) == late


@pytest.mark.parametrize(("close", "undone"), [(4.25, []), (4.4, ["undone"])])
def test_a_close_may_come_in_the_moment_that_a_result_more_takes(
    close: float, undone: list[str]
) -> None:
    """The model is asked at 4 s; on stock the call is made at 4.2 s."""
    call = JobRun(1, "do_it", 4.2, 4.7, None, 4.7, "result")
    other = JobRun(2, "do_it", 2.0, 2.5, None, 2.5, "result")
    stock = {"put": {2: ((4.0, True),)}, "runs": (other, call), "latency": {2: None}}
    ours = {"put": {2: ((4.0, False),)}, "asked": {2: 4.0}, "runs": (other,), "effects": {1: 0}}
    plan = {"moves": (Move(close, "aclose"),), "sounds": SAID[:2], "model": "pipeline", "words": 0}
    assert found(ours, stock, **plan) == undone


@pytest.mark.parametrize(
    ("tool", "heard", "on_stock", "model", "undone"),
    [
        ((3.0, 5.0), (4.2, 5.9), 6.5, "server", []),
        ((3.0, 3.5), (4.2, 5.9), 6.5, "server", ["undone"]),
        ((3.0, 6.6), (4.2, 5.9), 6.5, "server", ["undone"]),
        ((3.0, 3.9), (4.2, 5.9), 4.2, "server", ["undone"]),
        ((3.0, 5.0), (4.2, 5.0), 6.5, "server", ["undone"]),
        ((3.0, 5.0), (4.2, 5.9), 6.5, "pipeline", ["undone"]),
    ],
    ids=["sooner", "no tool", "not behind it", "no sooner", "over long before", "a pipeline"],
)
def test_a_call_is_cut_behind_a_reply_that_waits_for_a_tool_on_stock(
    tool: tuple[float, float],
    heard: tuple[float, float],
    on_stock: float,
    model: str,
    undone: list[str],
) -> None:
    """The application asks for the reply at 3.8 s. Stock makes the call at 4.6 s; the user
    interrupts at 6 s."""
    call = JobRun(1, "do_it", 4.6, 5.1, None, 5.1, "result")
    before = JobRun(2, "do_it", *tool, None, tool[1], "result")
    replies = {0: (on_stock, on_stock + 1.0)}
    stock = {"runs": (before, call), "replies": replies, "latency": {2: None}}
    ours = {"asked": {2: 4.0}, "replies": {0: heard}, "effects": {1: 0}}
    assert found(ours, stock, model=model, moves=(Move(3.8, "ask"),)) == undone


@pytest.mark.parametrize(
    ("told", "again", "whole", "late"),
    [
        (5.0, 5.5, False, []),
        (6.9, 5.5, False, []),
        (7.0, 5.5, False, ["late"]),
        (3.0, 5.5, False, ["late"]),
        (None, 5.5, False, ["late"]),
        (5.0, None, False, ["late"]),
        (5.0, 5.5, True, ["late"]),
    ],
    ids=["told", "just in time", "later", "before", "never", "not made again", "answered"],
)
def test_a_call_that_stock_repeats_does_not_answer_who_asked_for_it_again(
    told: float | None, again: float | None, whole: bool, late: list[str]
) -> None:
    """An earlier turn had made the call. Both sides give up the answer to the second sentence;
    stock tells at 6.6 s what has come of the call that it has repeated."""
    first = JobRun(1, "do_it", 1.7, 2.2, None, 2.2, "result")
    second = () if again is None else (JobRun(1, "do_it", again, 6.0, None, 6.0, "result"),)
    stock = {"put": {2: ((4.0, False),)}, "latency": {2: 3.0}, "runs": (first, *second)}
    ours = {"put": {2: ((4.0, whole),)}, "asked": {2: 4.0}, "runs": (first,), "effects": {1: 1}}
    ours |= {} if told is None else {"told": {1: told}}
    assert found(ours, stock, sounds=SAID[:2], model="pipeline") == late


TYPED = {"asked": {2: 4.2}, "replies": {0: (4.3, 6.0)}, "put": {1: ((2.0, True),)}}
ANSWERS = {"own_answers": {1: (2.4, 4.2)}}


@pytest.mark.parametrize(
    ("ours", "on_stock", "close", "undone"),
    [
        ({}, {}, 6.0, False),
        ({}, {}, 6.2, True),
        ({"asked": {2: 4.4}}, {}, 6.0, True),
        ({"replies": {0: (4.3, 5.0)}}, {}, 6.0, True),
        ({"own_answers": {1: (2.4, 3.6)}}, {}, 6.0, True),
        ({}, {"put": {1: ((2.0, False),)}}, 6.0, True),
        ({}, {"replies": {0: (4.3, 5.0)}}, 6.0, True),
    ],
    ids=[
        "behind it",
        "due",
        "asked later",
        "a shorter reply",
        "nothing was heard",
        "put on stock, too",
        "heard on stock, too",
    ],
)
def test_the_reply_to_typed_words_comes_before_a_call(
    ours: Mapping[str, Any], on_stock: Mapping[str, Any], close: float, undone: bool
) -> None:
    """Something is typed at 3.7 s, while ours answers the first sentence, which stock has never
    answered. Stock makes the call at 5.5 s."""
    made = JobRun(1, "do_it", 5.5, 6.0, None, 6.0, "result")
    stock = {"asked": {2: 4.1}, "latency": {}, "runs": (made,), **on_stock}
    moves = (Move(3.7, "ask"), Move(close, "aclose"))
    measured = {"effects": {1: 0}, **TYPED, **ANSWERS, **ours}
    kinds = found(measured, stock, model="pipeline", moves=moves, sounds=SAID[:2])
    assert kinds == ["undone"] * undone
