"""What explains that a call of the application, or of the model, comes later or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
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
from turnfsm.runtime.testing.livekit.speaker import Heard

SAID = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6))
"""The second sentence ends at 3.6 s, and asks for the job 1."""

CLEARED = (*SAID, Sound(4.2, 1, 0.3, 0.1))
"""The words of the third one come at 4.6 s."""

AHEAD = {"preemptive_generation": {"enabled": True}}

ASKED_TWICE = {2: ((3.9, True), (5.0, True))}

IN_VAIN = {"asked": {2: 4.3}, "put": {2: ((4.3, True), (6.0, False))}}


def found(
    stock: Mapping[str, Any],
    ours: Mapping[str, Any],
    *,
    sounds: tuple[Sound, ...] = SAID,
    policy: Any = "detach",
    moves: tuple[Move, ...] = (),
    settings: Mapping[str, Any] | None = None,
    ttft: float = 0.2,
    can_pause: bool = True,
    model: Any = "pipeline",
) -> list[str]:
    """What is worse. The policy is that of the job 2."""
    answers = {1: Answer(4, (2,)), 2: Answer(4, (1,), ttft), 3: Answer(4)}
    jobs = {1: Job(1, 0.5), 2: Job(2, 0.5, policy=policy)}
    plan = Plan("moves", sounds, answers, jobs, moves, settings=settings or {}, can_pause=can_pause)
    plan = attrs.evolve(plan, model=model)
    once = {"wanted": {1: 1, 2: 1}}
    return [w.kind for w in worse(Pair(plan, *(Measures(**once, **m) for m in (stock, ours))))]


def ran(job: int, start: float, end: float) -> JobRun:
    return JobRun(job, "do_it", start, end, None, end, "result")


@pytest.mark.parametrize(
    ("settings", "put", "stop", "undone"),
    [
        (AHEAD, ASKED_TWICE, 4.5, []),
        ({}, ASKED_TWICE, 4.5, ["undone"]),
        (AHEAD, {2: ((3.9, True), (5.0, False))}, 4.5, ["undone"]),
        (AHEAD, ASKED_TWICE, 5.5, ["undone"]),
        (AHEAD, ASKED_TWICE, 3.95, ["undone"]),
    ],
    ids=["ahead", "nothing is asked ahead", "given up again", "stopped later", "stopped before"],
)
def test_a_reply_that_stock_had_asked_for_ahead_is_asked_for_again_after_an_interruption(
    settings: Any, put: Any, stop: float, undone: list[str]
) -> None:
    """Stock asks ahead at 3.9 s and again at 5 s. Ours asks at 4 s, and is interrupted."""
    stock = {"effects": {1: 1}, "asked": {2: 3.9}, "put": put}
    ours = {"effects": {1: 0}, "asked": {2: 4.0}, "stops": (stop,)}
    assert found(stock, ours, settings=settings) == undone


@pytest.mark.parametrize(
    ("moves", "lost", "asked", "kinds"),
    [
        ((Move(4.8, "clear"),), {3}, 5.0, []),
        ((), {3}, 5.0, ["undone", "late"]),
        ((Move(7.0, "clear"),), {3}, 5.0, ["undone", "late"]),
        ((Move(4.8, "clear"),), (), 5.0, ["undone", "late"]),
        ((Move(4.8, "clear"),), {3}, 4.5, ["undone", "late"]),
    ],
    ids=["removed", "not cleared", "cleared later", "in the history", "asked before on stock too"],
)
def test_words_that_the_application_removes_have_interrupted_the_answer(
    moves: tuple[Move, ...], lost: Any, asked: float, kinds: list[str]
) -> None:
    """Ours asks at 4 s, and the words come at 4.6 s. On stock a tool delays the turn before."""
    words = {"words_lost": frozenset(lost)}
    stock = {"effects": {1: 1}, "asked": {2: asked}, "latency": {2: 2.0}, **words}
    ours = {"effects": {1: 0}, "asked": {2: 4.0}, "latency": {2: None}, **words}
    assert found(stock, ours, sounds=CLEARED, moves=moves) == kinds


@pytest.mark.parametrize(
    ("noise", "asked", "can_pause", "kinds"),
    [
        (Sound(3.8, 0, 1.0), 5.5, False, []),
        (Sound(3.8, 0, 1.0), 5.5, True, ["undone", "late"]),
        (Sound(3.8, 0, 1.0), 4.3, False, ["undone", "late"]),
        (Sound(3.8, 0, 0.3), 5.5, False, ["undone", "late"]),
        (Sound(2.5, 0, 1.0), 5.5, False, ["undone", "late"]),
        (Sound(6.0, 0, 1.0), 5.5, False, ["undone", "late"]),
    ],
    ids=["a noise", "held", "asked before on stock too", "short", "over before", "later"],
)
def test_a_noise_interrupts_an_answer_that_cannot_be_held(
    noise: Sound, asked: float, can_pause: bool, kinds: list[str]
) -> None:
    """Ours asks at 4 s. On stock a tool delays the turn."""
    stock = {"effects": {1: 1}, "asked": {2: asked}, "latency": {2: 3.0}}
    ours = {"effects": {1: 0}, "asked": {2: 4.0}, "latency": {2: None}}
    assert found(stock, ours, sounds=(*SAID, noise), can_pause=can_pause) == kinds


@pytest.mark.parametrize(
    ("on_stock", "ttft", "took", "slow"),
    [
        ({"asked": {2: 6.0}}, 1.5, 4.5, []),
        ({"asked": {2: 4.3}, "put": {2: ((4.3, False), (5.0, True))}}, 1.5, 4.5, []),
        ({"asked": {2: 4.3}, "put": {2: ((4.3, True),)}}, 1.5, 4.5, ["wait"]),
        ({**IN_VAIN, "outdated": ((4.3, 6.0),)}, 1.5, 4.5, []),
        (IN_VAIN, 1.5, 4.5, ["wait"]),
        ({"asked": {2: 6.0}}, 0.2, 4.5, ["wait"]),
        ({"asked": {2: 6.0}}, 1.5, 5.7, ["wait"]),
    ],
    ids=[
        "asked later",
        "ahead",
        "asked before",
        "in vain",
        "given up",
        "silence before",
        "silence behind",
    ],
)
@pytest.mark.parametrize("what", ["run", "wait"])
def test_what_is_asked_for_takes_its_turn_behind_an_answer_that_stock_gives_later(
    what: str, on_stock: Mapping[str, Any], ttft: float, took: float, slow: list[str]
) -> None:
    """It is asked for at 5 s. The model was asked at 4.5 s, and its answer ends at 8.5 s."""
    heard = (Heard(6.2, 8.5, "r2a r2b."), Heard(8.6, 9.5, "y0a y0b y0c."))
    stock = {"waits": {0: 0.0}, "silent": {0: 0.0}, "put": {2: ((6.0, True),)}, **on_stock}
    ours = {"waits": {0: took}, "silent": {0: 1.5}, "audio": heard}
    ours |= {"asked": {2: 4.5}, "put": {2: ((4.5, True),)}}
    moves = (Move(5.0, what),)
    assert found(stock, ours, moves=moves, settings=AHEAD, ttft=ttft) == slow


@pytest.mark.parametrize(
    ("policy", "held_until", "took", "slow"),
    [
        ("finish", 5.0, 4.0, []),
        ("detach", 5.0, 4.0, ["wait"]),
        ("finish", 4.2, 4.0, ["wait"]),
        ("finish", 5.0, 6.0, ["wait"]),
    ],
    ids=["held", "not held", "over before", "longer than the call"],
)
def test_a_run_makes_the_call_that_was_stopped_behind_another_one(
    policy: Any, held_until: float, took: float, slow: list[str]
) -> None:
    """Stock asks at 4 s, and makes the call at 4.3 s. Ours asks at 5 s, is stopped at 5.1 s, and
    makes it in the run, which begins at 6 s: from 6.5 to 9.5 s."""
    stock = {"waits": {0: 0.4}, "silent": {0: 0.4}, "asked": {2: 4.0}, "runs": (ran(1, 4.3, 7.3),)}
    ours = {
        "waits": {0: took},
        "silent": {0: took},
        "asked": {2: 5.0},
        "stops": (5.1,),
        "runs": (ran(2, 2.0, held_until), ran(1, 6.5, 9.5)),
    }
    assert found(stock, ours, moves=(Move(6.0, "run"),), policy=policy) == slow


@pytest.mark.parametrize(
    ("at", "on_stock", "replies", "call", "model", "slow"),
    [
        (3.2, 0.0, {}, (5.0, 8.0), "realtime", []),
        (4.2, 0.0, {}, (5.0, 8.0), "realtime", ["wait"]),
        (3.2, 1.0, {}, (5.0, 8.0), "realtime", ["wait"]),
        (3.2, 0.0, {0: (4.0, 4.4)}, (5.0, 8.0), "realtime", ["wait"]),
        (3.2, 0.0, {}, (5.0, 6.0), "realtime", ["wait"]),
        (3.2, 0.0, {}, (3.0, 8.0), "realtime", ["wait"]),
        (3.2, 0.0, {}, (5.0, 8.0), "pipeline", ["wait"]),
    ],
    ids=[
        "its call",
        "quiet user",
        "not at once",
        "heard on stock",
        "silence",
        "another turn's call",
        "pipeline",
    ],
)
def test_a_run_over_the_user_takes_its_time_where_stock_gives_it_up(
    at: float,
    on_stock: float,
    replies: Mapping[int, Any],
    call: tuple[float, float],
    model: str,
    slow: list[str],
) -> None:
    """The user speaks until 3.6 s. Its reply is heard from 4.2 to 5 s, the result until 9 s."""
    heard = (Heard(4.2, 5.0, "g80a g80b."), Heard(8.2, 9.0, "t1a t1b."))
    stock = {"waits": {0: on_stock}, "silent": {0: on_stock}, "replies": replies}
    ours = {"waits": {0: 9.0 - at}, "silent": {0: 7.4 - at}, "replies": {0: (4.2, 5.0)}}
    ours |= {"audio": heard, "runs": (ran(1, *call),)}
    assert found(stock, ours, moves=(Move(at, "run"),), model=model) == slow


@pytest.mark.parametrize(
    ("committed", "on_stock", "call", "model", "slow"),
    [
        (3.9, {}, (6.0, 9.0), "realtime", []),
        (3.3, {}, (6.0, 9.0), "realtime", ["wait"]),
        (5.3, {}, (6.0, 9.0), "realtime", ["wait"]),
        (3.9, {"asked": {2: 5.0}}, (6.0, 9.0), "realtime", ["wait"]),
        (3.9, {}, (6.0, 8.0), "realtime", ["wait"]),
        (3.9, {}, (6.0, 9.0), "pipeline", ["wait"]),
    ],
    ids=["its call", "before", "after", "asked on stock", "silence", "pipeline"],
)
def test_a_run_makes_the_call_of_a_commit_that_stock_has_cancelled(
    committed: float,
    on_stock: Mapping[str, Any],
    call: tuple[float, float],
    model: str,
    slow: list[str],
) -> None:
    """The sentence ends at 3.6 s, and the next one is said from 4 to 4.6 s. Ours asks at 5 s, and
    gives this up. The run begins at 5.6 s, and ends at 9.3 s."""
    stock = {"waits": {0: 0.4}, "silent": {0: 0.4}, **on_stock}
    ours = {"waits": {0: 3.7}, "silent": {0: 3.7}, "put": {2: ((5.0, False),)}}
    ours |= {"runs": (ran(1, *call),)}
    moves, sounds = (Move(5.6, "run"), Move(committed, "commit")), (*SAID, Sound(4.0, 2, 0.6))
    assert found(stock, ours, moves=moves, sounds=sounds, model=model) == slow


@pytest.mark.parametrize(
    ("policy", "held_until", "asked", "took", "slow"),
    [
        ("finish", 4.5, 4.5, 4.5, []),
        ("detach", 4.5, 4.5, 4.5, ["wait"]),
        ("finish", 4.0, 4.5, 4.5, ["wait"]),
        ("finish", 2.9, 2.9, 4.5, ["wait"]),
        ("finish", 4.5, 4.5, 5.7, ["wait"]),
    ],
    ids=["held", "not held", "over before", "answered before", "silence behind"],
)
def test_what_is_asked_for_takes_its_turn_behind_the_answer_to_a_turn_that_was_kept(
    policy: Any, held_until: float, asked: float, took: float, slow: list[str]
) -> None:
    """It is asked for at 5 s. Stock had asked the model at 3.9 s. The answer ends at 8.5 s."""
    heard = (Heard(6.2, 8.5, "r2a r2b."), Heard(8.6, 9.5, "y0a y0b y0c."))
    stock = {"waits": {0: 0.0}, "silent": {0: 0.0}, "asked": {2: 3.9}, "put": {2: ((3.9, True),)}}
    ours = {"waits": {0: took}, "silent": {0: 1.5}, "audio": heard}
    ours |= {"asked": {2: asked}, "put": {2: ((asked, True),)}, "runs": (ran(2, 2.0, held_until),)}
    moves = (Move(5.0, "wait"),)
    assert found(stock, ours, moves=moves, policy=policy, ttft=1.5) == slow
