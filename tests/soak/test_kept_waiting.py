"""An answer is late if the caller was kept waiting for it longer than on stock.

What does not count as waiting is bounded: next to it stands what looks alike and is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from test_declared import ran

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
"""The second sentence ends at 3.6 s. Its words may come until 4 s; stock answers at 4.6 s."""

AHEAD = {"preemptive_generation": {"enabled": True}}


def found(
    ours: Mapping[str, Any],
    stock: Mapping[str, Any] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    hook: float = 0.0,
    sounds: tuple[Sound, ...] = SAID,
    moves: tuple[Move, ...] = (),
    policy: Any = "detach",
    third: int = 4,
) -> list[int]:
    """The sentences that are late; the third answer has so many words."""
    answers = {n: Answer(third if n == 3 else 4, (n,), ttft=1.5) for n in (1, 2, 3)}
    jobs = {n: Job(n, 0.5, policy=policy) for n in (1, 2, 3)}
    plan = Plan("an answer", sounds, answers, jobs, moves, settings=settings or {}, hook=hook)
    on_stock = {"latency": {2: 1.0}, **(stock or {})}
    pair = Pair(plan, *(Measures(wanted={1: 1, 2: 1}, **m) for m in (on_stock, ours)))
    return [w.about for w in worse(pair) if w.kind == "late"]


@pytest.mark.parametrize(("latency", "late"), [(3.0, []), (3.4, [2])])
def test_what_a_tool_says_is_no_waiting(latency: float, late: list[int]) -> None:
    """Until 6 s."""
    audio = (Heard(4.0, 6.0, "s1a s1b s1c s1d."),)
    assert found({"audio": audio, "latency": {2: latency}}) == late


@pytest.mark.parametrize(
    ("first", "latency", "late"),
    [(0.6, 3.8, []), (0.6, 4.2, [2]), (0.1, 3.8, [2])],
    ids=["as long again", "longer", "too short to interrupt"],
)
def test_a_short_noise_in_the_wait_after_a_longer_one_begins_it_anew(
    first: float, latency: float, late: list[int]
) -> None:
    """The second noise ends at 5 s; words might come until 7.25 s."""
    sounds = (*SAID, Sound(3.8, 0, first), Sound(4.9, 0, 0.1))
    assert found({"latency": {2: latency}}, sounds=sounds) == late


@pytest.mark.parametrize(("begins", "late"), [(5.4, []), (5.5, [2])])
def test_another_reply_before_it_needs_another_request(begins: float, late: list[int]) -> None:
    """It is heard until 6 s."""
    audio = (Heard(4.0, 5.0, "s1a s1b"), Heard(begins, 6.0, "s2a s2b."))
    assert found({"audio": audio, "latency": {2: 3.3}}) == late


@pytest.mark.parametrize(
    ("took_over", "latency", "late"),
    [(3.5, 1.8, []), (3.5, 1.9, [2]), (4.2, 1.8, [2])],
    ids=["as they speak", "longer", "afterwards"],
)
def test_words_in_a_handoff_are_committed_later(
    took_over: float, latency: float, late: list[int]
) -> None:
    """The transcript comes at 3.9 s."""
    assert found({"handoffs": (took_over,), "latency": {2: latency}}) == late


@pytest.mark.parametrize(
    ("on_stock", "heard", "late"),
    [(10.0, 10.0, []), (9.5, 10.0, [2]), (None, 10.0, [2]), (10.0, 9.0, [2])],
    ids=["with it", "late itself", "not on stock", "after it"],
)
def test_what_is_said_first_about_more_words_answers_them(
    on_stock: float | None, heard: float, late: list[int]
) -> None:
    """A call holds its turn until 5 s, the user speaks from 5.4 to 8 s, and then the model makes
    a call that the session does not live to tell."""
    ours: dict[str, Any] = {"latency": {2: 6.4}, "runs": (ran(1, 2.0, 5.0),)}
    ours["audio"] = (Heard(heard, 12.0, "r3a r3b."),)
    stock: dict[str, Any] = {"latency": {2: 1.0}}
    stock["audio"] = () if on_stock is None else (Heard(on_stock, 12.0, "r3a r3b."),)
    assert found(ours, stock, sounds=(*SAID, Sound(5.4, 2, 2.6)), policy="hold") == late


@pytest.mark.parametrize(
    ("runs", "before", "late"),
    [
        ((ran(1, 1.6, 1.7),), "t1a t1b t1c t1d.", [2]),
        ((ran(1, 1.6, 1.7),), "t1a t1b", []),
        ((ran(1, 1.6, 1.7), ran(1, 2.0, 3.8)), "t1a t1b t1c t1d.", []),
    ],
    ids=["again", "it was cut", "of another call"],
)
def test_to_hear_a_result_again_is_waiting(
    runs: tuple[JobRun, ...], before: str, late: list[int]
) -> None:
    audio = (Heard(1.8, 2.9, before), Heard(4.0, 6.0, "t1a t1b t1c t1d."))
    assert found({"audio": audio, "latency": {2: 3.0}, "runs": runs}) == late


@pytest.mark.parametrize(("asked", "late"), [(2.9, []), (1.7, [2])], ids=["in time", "late itself"])
def test_what_the_application_wants_said_is_no_waiting_if_it_is_in_time(
    asked: float, late: list[int]
) -> None:
    """Stock says it at once, ours when the user is quiet."""
    stock = {"audio": (Heard(asked + 0.3, asked + 0.8, "y0a y0b y0c."),)}
    ours = {"audio": (Heard(4.0, 6.0, "y0a y0b y0c."),), "latency": {2: 3.0}}
    assert found(ours, stock, moves=(Move(asked, "say"),)) == late


@pytest.mark.parametrize(
    ("what", "latency", "late"),
    [("commit", 2.1, []), ("commit", 2.6, [2]), ("clear", 2.1, [2])],
    ids=["commit", "longer", "no commit"],
)
def test_a_commit_waits_a_second_for_words(what: str, latency: float, late: list[int]) -> None:
    assert found({"latency": {2: latency}}, moves=(Move(4.4, what),)) == late


@pytest.mark.parametrize(
    ("what", "begun", "late"),
    [("ask", 5.8, []), ("ask", 6.2, [2]), ("reply", 5.8, [2])],
    ids=["typed", "later", "instructions"],
)
def test_what_is_typed_waits_until_the_model_has_answered_what_was_said(
    what: str, begun: float, late: list[int]
) -> None:
    """The model thinks about the sentence until 5.5 s. The reply to what is typed takes a second;
    0.2 s after it, its call has ended."""
    put = {2: ((4.0, True),)}
    stock = {"put": put, "audio": (Heard(5.0, 6.0, "g80a g80b."),), "latency": {2: 2.6}}
    ours = {"put": put, "audio": (Heard(begun, begun + 1.0, "g80a g80b."),)}
    ours["latency"] = {2: begun + 1.2 - 3.6}
    assert found(ours, stock, moves=(Move(4.2, what),)) == late


@pytest.mark.parametrize(
    ("at", "policy", "on_stock", "answered", "late"),
    [
        (5.4, "hold", 2.0, 2.0, []),
        (5.4, "hold", 2.0, 1.5, [2]),
        (5.4, "hold", None, 2.0, [2]),
        (5.4, "hold", 1.0, 2.0, [3]),
        (5.9, "hold", 1.5, 1.5, [2]),
        (5.4, "detach", 2.0, 2.0, [2]),
    ],
    ids=["together", "after it", "not on stock", "late itself", "too late", "not held"],
)
def test_the_user_says_more_before_the_answer_is_due(
    at: float, policy: Any, on_stock: float | None, answered: float, late: list[int]
) -> None:
    """A call holds its turn until 5 s, so the answer is due at 5.6 s. It comes at 10 s."""
    ours = {"latency": {2: 6.4, 3: answered}, "runs": (ran(1, 2.0, 5.0),)}
    sounds = (*SAID, Sound(at, 2, 2.6))
    assert found(ours, {"latency": {2: 1.0, 3: on_stock}}, sounds=sounds, policy=policy) == late


@pytest.mark.parametrize(
    ("asked", "answered", "latency", "late"),
    [
        ({}, 1.3, 5.7, []),
        ({}, 1.4, 5.8, [2]),
        ({}, 6.4, 10.8, [2]),
        ({3: 8.5}, 1.3, 5.7, [2]),
        ({}, 1.3, 5.9, [2]),
        ({}, None, 5.7, [2]),
    ],
    ids=["together", "longer", "5 s later", "stock has asked, too", "after it", "never"],
)
def test_the_user_says_more_that_stock_never_puts_to_the_model(
    asked: dict[int, float], answered: float | None, latency: float, late: list[int]
) -> None:
    """Its words came after the commit. A call holds its turn until 5 s. Ours asks about both; the
    user speaks until 8 s, and the answer comes 0.9 s after words may come."""
    ours = {"latency": {2: latency, 3: answered}, "runs": (ran(1, 2.0, 5.0),), "asked": {3: 8.5}}
    stock = {"latency": {2: 1.0, 3: None}, "asked": asked}
    assert found(ours, stock, sounds=(*SAID, Sound(5.4, 2, 2.6)), policy="hold") == late


@pytest.mark.parametrize(
    ("model", "close", "heard", "answered", "undone"),
    [
        ("realtime", 7.0, (4.2, 6.6), (), []),
        ("pipeline", 7.0, (4.2, 6.6), (), [1]),
        ("realtime", 7.6, (4.2, 6.6), (), [1]),
        ("realtime", 7.0, (4.2, 6.0), (), [1]),
        ("realtime", 7.0, (4.2, 6.6), (2,), [1]),
    ],
    ids=["closed before", "a pipeline", "time enough", "silence", "answered"],
)
def test_a_call_is_not_made_if_the_session_closes_before_the_answer_is_due(
    model: Any,
    close: float,
    heard: tuple[float, float],
    answered: tuple[int, ...],
    undone: list[int],
) -> None:
    """The second sentence asks for it, at 3.6 s; stock makes it at 4.4 s. Ours first gives another
    answer, which stock never says."""
    moves, jobs = (Move(close, "aclose"),), {1: Job(1, 0.5)}
    plan = Plan("a close", SAID, {2: Answer(4, (1,))}, jobs, moves, model=model)
    stock = Measures(effects={1: 1}, wanted={1: 1}, runs=(ran(1, 4.4, 4.6),))
    said = {
        "own_answers": dict.fromkeys(answered, (6.7, 6.9)),
        "audio": (Heard(*heard, "r1a r1b."),),
    }
    ours = Measures(effects={1: 0}, wanted={1: 1}, **said)
    assert [w.about for w in worse(Pair(plan, stock, ours)) if w.kind == "undone"] == undone


@pytest.mark.parametrize(
    ("latency", "on_stock", "late"),
    [(1.0, None, []), (0.4, None, [2]), (2.2, None, [2]), (1.0, 2.0, [2, 3])],
    ids=["neither", "sooner", "after these words", "stock answers them"],
)
def test_the_answer_may_fail_together_with_that_to_the_next_sentence(
    latency: float, on_stock: float | None, late: list[int]
) -> None:
    """Stock answers the second sentence while the user says more, from 4.2 to 4.8 s, ours never."""
    ours = {"latency": {2: None, 3: None}}
    stock = {"latency": {2: latency, 3: on_stock}}
    assert found(ours, stock, sounds=(*SAID, Sound(4.2, 2, 0.6))) == late


@pytest.mark.parametrize(
    ("at", "policy", "together", "late"),
    [
        (5.4, "hold", {2: 3}, []),
        (5.8, "hold", {2: 3}, [2]),
        (5.4, "detach", {2: 3}, [2]),
        (5.4, "hold", {}, [2]),
    ],
    ids=["together", "too late", "not held", "each alone"],
)
def test_what_is_put_to_the_model_with_more_words_may_fail_with_these(
    at: float, policy: Any, together: dict[int, int], late: list[int]
) -> None:
    """A call holds its turn until 5 s. Nobody answers the third sentence."""
    ours = {"latency": {2: None, 3: None}, "together": together, "runs": (ran(1, 2.0, 5.0),)}
    stock = {"latency": {2: 1.0, 3: None}}
    assert found(ours, stock, sounds=(*SAID, Sound(at, 2, 0.6)), policy=policy) == late


@pytest.mark.parametrize(
    ("stop", "policy", "asked", "late"),
    [
        (5.4, "hold", 4.0, []),
        (5.8, "hold", 4.0, [2]),
        (5.4, "detach", 4.0, [2]),
        (5.4, "hold", 5.5, [2]),
        (5.05, "hold", 4.0, [2]),
    ],
    ids=["stopped", "too late", "not held", "asked after it", "on stock, too"],
)
def test_an_answer_may_be_stopped_that_was_not_due(
    stop: float, policy: Any, asked: float, late: list[int]
) -> None:
    """A call holds its turn until 5 s. Stock's answer has counted at 5.1 s."""
    ours = {"latency": {2: None}, "put": {2: ((asked, True),)}, "stops": (stop,)}
    ours["runs"] = (ran(1, 2.0, 5.0),)
    assert found(ours, {"put": {2: ((4.0, True),)}}, policy=policy) == late


@pytest.mark.parametrize(
    ("close", "policy", "late"),
    [(5.4, "hold", []), (5.8, "hold", [2]), (5.4, "detach", [2])],
    ids=["closed", "too late", "not held"],
)
def test_the_session_may_be_closed_before_an_answer_was_due(
    close: float, policy: Any, late: list[int]
) -> None:
    """A call holds its turn until 5 s."""
    ours = {"latency": {2: None}, "runs": (ran(1, 2.0, 5.0),)}
    assert found(ours, policy=policy, moves=(Move(close, "aclose"),)) == late


@pytest.mark.parametrize(
    ("before", "handoff", "latency", "late"),
    [(4.0, 5.0, 3.1, []), (4.0, 5.0, 3.4, [2]), (4.8, 5.0, 3.1, [2]), (4.0, 5.6, 3.1, [2])],
    ids=["again", "longer than that", "just put", "no handoff between"],
)
def test_the_next_agents_model_thinks_again_about_words_put_before_the_handoff(
    before: float, handoff: float, latency: float, late: list[int]
) -> None:
    """It is put to that model at 5.1 s. Stock answers 2 s after the words."""
    ours = {"latency": {2: latency}, "put": {2: ((before, False), (5.1, True))}}
    stock = {"latency": {2: 2.0}, "put": {2: ((4.0, True),)}}
    assert found({**ours, "handoffs": (handoff,)}, stock) == late


@pytest.mark.parametrize(
    ("at", "asked", "answered", "late"),
    [
        (4.5, 6.0, 1.2, []),
        (4.5, 6.0, 6.2, [2]),
        (4.7, 6.0, 1.2, [2]),
        (4.5, 6.5, 1.2, [2]),
        (4.5, 6.0, None, [2]),
    ],
    ids=["into it", "5 s later", "after it", "asked later", "never"],
)
def test_the_user_says_more_into_stocks_answer_that_stock_does_not_come_to_answer(
    at: float, asked: float, answered: float | None, late: list[int]
) -> None:
    """They speak until `at` + 1 s. Stock begins to answer at 4.6 s, and asks again at 6 s."""
    heard = at + 1.0 + (answered or 1.2)
    ours = {"latency": {2: round(heard - 3.6, 3), 3: answered}, "asked": {3: asked}}
    stock = {"latency": {2: 1.0, 3: None}, "asked": {3: 6.0}}
    assert found(ours, stock, sounds=(*SAID, Sound(at, 2, 1.0))) == late


@pytest.mark.parametrize(
    ("asked", "latency", "late"),
    [(4.0, 3.0, []), (4.0, 3.4, [2]), (None, 3.0, [2])],
    ids=["it is asked before", "longer", "later"],
)
def test_words_in_a_handoff_are_waited_for_until_the_model_is_asked(
    asked: float | None, latency: float, late: list[int]
) -> None:
    """On stock the transcript comes at 3.9 s; else the wait for more words lasts until 4.5 s. Ours
    says something else until 6 s."""
    stock: dict[str, Any] = {"handoffs": (3.5,), "latency": {2: 1.0}}
    if asked is not None:
        stock["put"] = {2: ((asked, True),)}
    audio = (Heard(4.0, 6.0, "s1a s1b s1c s1d."),)
    assert found({"audio": audio, "latency": {2: latency}}, stock) == late


@pytest.mark.parametrize(
    ("at", "asked", "until", "settings", "late"),
    [
        (3.8, 7.0, 6.5, AHEAD, []),
        (3.2, 7.0, 6.5, AHEAD, [2]),
        (3.8, 7.2, 6.5, AHEAD, [2]),
        (3.8, 7.0, 5.9, AHEAD, [2]),
        (3.8, 7.0, 6.5, {}, [2]),
    ],
    ids=["ahead", "its words had come", "asked later", "no call", "not ahead"],
)
def test_the_user_says_more_that_stock_puts_to_the_model_ahead(
    at: float, asked: float, until: float, settings: Mapping[str, Any], late: list[int]
) -> None:
    """Their words come 0.3 s after the end, at `at` + 0.9 s. Stock begins to answer at 4.6 s, asks
    ahead about these words at 6 s, and does not answer them. Ours answers them at 8.8 s."""
    answered = 8.8 - at - 0.6
    ours = {"latency": {2: 5.2, 3: answered}, "asked": {3: asked}, "runs": (ran(1, 2.0, until),)}
    stock = {"latency": {2: 1.0, 3: None}, "asked": {3: 6.0}}
    plan: dict[str, Any] = {"settings": settings, "hook": 1.0}
    assert found(ours, stock, sounds=(*SAID, Sound(at, 2, 0.6)), **plan) == late


@pytest.mark.parametrize(
    ("words", "put", "latency", "late"),
    [(0, 6.0, 4.2, []), (0, 6.0, 4.4, [2]), (4, 6.0, 4.2, [2]), (0, 6.2, 4.2, [2])],
    ids=["as soon as it has thought", "later", "it has words", "stock asks later"],
)
def test_the_user_says_more_for_which_the_model_has_no_words(
    words: int, put: float, latency: float, late: list[int]
) -> None:
    """From 3.9 to 4.5 s; the model is asked at 6 s, thinks for 1.5 s, and tells what came of the
    second sentence."""
    ours = {"latency": {2: latency, 3: None}, "put": {3: ((6.0, True),)}}
    stock = {"latency": {2: 1.0, 3: 4.0}, "put": {3: ((put, True),)}}
    sounds = (*SAID, Sound(3.9, 2, 0.6))
    assert [n for n in found(ours, stock, sounds=sounds, third=words) if n == 2] == late
