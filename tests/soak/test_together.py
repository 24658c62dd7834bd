"""Sentences that are put to the model in one turn: it answers the one that was said last."""

from __future__ import annotations

import pytest
from livekit.agents import llm

from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    JobRun,
    Measures,
    Pair,
    Plan,
    Sound,
    worse,
)
from turnfsm.runtime.testing.livekit.differential.measured_words import together
from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.scripted_llm import Request


def _request(at: float, words: str, outcome: str = "complete") -> Request:
    context = llm.ChatContext.empty()
    context.add_message(role="user", content=words)
    request = Request(at, words, (), context)
    request.outcome = outcome
    return request


def test_a_sentence_that_was_said_last_is_answered_though_its_transcript_came_first() -> None:
    assert together(Outcome(requests=[_request(4.0, "u2a u1a u1b")])) == {1: 2}


@pytest.mark.parametrize(("committed", "found"), [("u1a u2a", {1: 2}), ("u1a u2a u3a", {1: 3})])
def test_a_request_that_was_dropped_has_asked_if_its_words_are_a_turn(
    committed: str, found: dict[int, int]
) -> None:
    """The user went on to speak before the model had answered: in a turn of its own, or in the same
    turn."""
    history = llm.ChatContext.empty()
    history.add_message(role="user", content=committed)
    requests = [_request(4.0, "u1a u2a", "cancelled"), _request(5.0, committed)]
    assert together(Outcome(requests=requests, history=history)).get(1) == found[1]


@pytest.mark.parametrize(("committed", "found"), [("u1a u2a", {1: 2}), ("u1a", {})])
def test_a_request_that_was_made_ahead_has_asked_if_its_words_are_a_turn(
    committed: str, found: dict[int, int]
) -> None:
    """The model answered at once, and then the user went on to speak in the same turn."""
    history = llm.ChatContext.empty()
    history.add_message(role="user", content=committed)
    requests = [_request(4.0, "u1a"), _request(5.0, "u1a u2a")]
    assert together(Outcome(requests=requests, history=history)) == found


@pytest.mark.parametrize(
    ("realtime", "more", "found"),
    [(True, (), {1: 2}), (False, (), {}), (True, (_request(5.0, "u3a"),), {})],
    ids=["realtime", "pipeline", "the user went on"],
)
def test_a_realtime_model_was_asked_last_about_words_whose_transcript_never_came(
    realtime: bool, more: tuple[Request, ...], found: dict[int, int]
) -> None:
    """The request was given up as the session closed."""
    request = _request(4.0, "u1a u2a", "cancelled")
    request.realtime = realtime
    assert together(Outcome(requests=[request, *more])) == found


@pytest.mark.parametrize(("apart", "found"), [(False, {1: 2}), (True, {})])
def test_a_request_about_results_does_not_ask_about_words_before_them_again(
    apart: bool, found: dict[int, int]
) -> None:
    """The transcript of the first sentence came last, and was put to the model with the second
    one. A call of the answer has ended then."""
    both, results = _request(4.0, "u2a"), _request(8.0, "u2a")
    both.chat_ctx.add_message(role="user", content="u1a u1b")
    results.chat_ctx.add_message(role="user", content="u1a u1b")
    results.chat_ctx.add_message(role="assistant", content="r2a r2b.")
    alone = [_request(9.0, "u1a u1b")] if apart else []
    assert together(Outcome(requests=[both, results, *alone])) == found


@pytest.mark.parametrize(
    ("between", "found"),
    [
        (Sound(5.0, 0, 0.6), []),
        (Sound(5.0, 1, 0.6, 0.8), []),
        (Sound(5.0, 0, 0.2), ["undone"]),
        (Sound(5.0, 1, 0.6, 0.1), ["undone"]),
        (Sound(5.6, 0, 0.2), ["undone"]),
    ],
    ids=["noise", "slow words", "short noise", "words", "later"],
)
def test_a_call_is_explained_if_the_user_was_never_quiet_after_its_turn_was_kept(
    between: Sound, found: list[str]
) -> None:
    """The first sentence waits for a call that holds its turn until 5.1 s. The last one begins at
    6.4 s, and the model is asked about both."""
    sounds = (Sound(1.0, 2, 0.6), between, Sound(6.4, 2, 0.6))
    jobs = {1: Job(1, 0.5), 2: Job(2, 3.0, policy="hold")}
    plan = Plan("a kept turn", sounds, {n: Answer(4, (n,)) for n in (1,)}, jobs)
    wanted = {1: 1, 2: 1}
    stock = Measures(effects={1: 1}, asked={1: 2.0}, wanted=wanted)
    held = JobRun(2, "do_hold", 1.5, 5.1, None, 5.1, "result")
    ours = Measures(
        effects={1: 0}, asked={1: 7.5, 3: 7.5}, together={1: 3}, runs=(held,), wanted=wanted
    )
    assert [worst.kind for worst in worse(Pair(plan, stock, ours))] == found


@pytest.mark.parametrize(
    ("ttft", "put", "found"),
    [
        (0.8, {2: ((4.2, False),)}, []),
        (0.2, {2: ((4.2, False),)}, ["undone"]),
        (0.8, {}, ["undone"]),
    ],
    ids=["thinks until then", "has answered before", "never asked"],
)
def test_a_call_is_explained_if_the_user_speaks_while_the_model_thinks_about_a_kept_turn(
    ttft: float, put: dict[int, tuple[tuple[float, bool], ...]], found: list[str]
) -> None:
    """The first sentence waits for a call that holds its turn until 3.2 s, and is put to the model
    with the second one. The user goes on at 5 s, and the model is asked about all three."""
    sounds = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6, 0.05), Sound(5.0, 2, 0.6))
    jobs = {1: Job(1, 0.5), 2: Job(2, 1.5, policy="hold")}
    answers = {1: Answer(4, (1,)), 2: Answer(4, (), ttft), 3: Answer(4)}
    plan = Plan("a kept turn", sounds, answers, jobs)
    wanted = {1: 1, 2: 1}
    stock = Measures(effects={1: 1}, asked={1: 2.0}, wanted=wanted)
    held = JobRun(2, "do_hold", 1.5, 3.2, None, 3.2, "result")
    asked = {1: 4.2, 2: 4.2, 3: 6.2}
    ours = Measures(
        effects={1: 0}, asked=asked, put=put, together={1: 3}, runs=(held,), wanted=wanted
    )
    assert [worst.kind for worst in worse(Pair(plan, stock, ours))] == found


@pytest.mark.parametrize(
    ("ahead", "asked", "made", "own", "undone"),
    [
        (True, 4.0, 4.3, {}, []),
        (False, 4.0, 4.3, {}, ["undone"]),
        (True, 4.5, 4.6, {}, ["undone"]),
        (True, 4.0, 3.2, {}, ["undone"]),
        (True, 4.0, 4.3, {1: (3.2, 3.5)}, ["undone"]),
    ],
    ids=["ahead", "not ahead", "asked later", "made at once", "stock answers it"],
)
def test_a_call_that_stock_was_asked_for_ahead_is_explained(
    ahead: bool, asked: float, made: float, own: dict[int, tuple[float, float]], undone: list[str]
) -> None:
    """The words of the first sentence come last. Stock asks ahead about them at 3 s, and drops
    that. Then both put them to the model together with the second one, and it answers this."""
    settings = {"preemptive_generation": {"enabled": ahead}}
    answers, jobs = {1: Answer(4, (1,)), 2: Answer(4)}, {1: Job(1, 0.5)}
    said = (Sound(1.0, 1, 0.3, stt_delay=1.5), Sound(1.6, 1, 0.3))
    plan = Plan("asked ahead", said, answers, jobs, settings=settings)
    call = JobRun(1, "do_it", made, made + 0.5, None, made + 0.5, "result")
    put = {1: ((3.0, True),), 2: ((4.0, True),)}
    latency = {1: 3.0, 2: 3.0}
    stock = Measures(
        put=put,
        asked={1: 3.0, 2: 4.0},
        own_answers=own,
        effects={1: 1},
        wanted={1: 1},
        runs=(call,),
        latency=latency,
    )
    ours = Measures(
        **{"put": {2: ((asked, True),)}, "asked": {2: asked}, "together": {1: 2}},
        effects={1: 0},
        wanted={1: 1},
        latency=latency,
    )
    assert [w.kind for w in worse(Pair(plan, stock, ours)) if w.kind == "undone"] == undone


@pytest.mark.parametrize(("at", "found"), [(11.2, []), (12.4, ["undone"])], ids=["hooks", "later"])
def test_a_call_is_explained_if_the_hook_of_each_turn_ran_until_the_model_was_asked(
    at: float, found: list[str]
) -> None:
    """The first sentence waits for a call that holds its turn until 4.2 s. The hook takes a second.
    The answer to the first two, asked for at 5.4 s, takes until the user goes on at 8 s."""
    sounds = (Sound(1.0, 2, 0.6), Sound(3.6, 2, 0.6, 0.05), Sound(8.0, 2, 0.6, 1.5))
    jobs = {1: Job(1, 0.5), 2: Job(2, 1.5, policy="hold")}
    answers = {1: Answer(4, (1,)), 2: Answer(4, (), 2.6), 3: Answer(4)}
    plan = Plan("a kept turn", sounds, answers, jobs, hook=1.0)
    wanted = {1: 1, 2: 1}
    stock = Measures(effects={1: 1}, asked={1: 2.0}, wanted=wanted)
    held = JobRun(2, "do_hold", 1.5, 4.2, None, 4.2, "result")
    ours = Measures(
        effects={1: 0},
        asked={1: 5.4, 2: 5.4, 3: at},
        put={2: ((5.4, False),)},
        together={1: 3},
        runs=(held,),
        wanted=wanted,
    )
    assert [worst.kind for worst in worse(Pair(plan, stock, ours))] == found


@pytest.mark.parametrize(
    ("put", "end", "found"),
    [
        ({1: ((5.1, True),)}, 5.1, []),
        ({}, 5.1, ["undone"]),
        ({1: ((5.1, True),)}, 2.2, ["undone"]),
    ],
    ids=["its rest is asked", "never asked", "nothing held it"],
)
def test_a_call_is_explained_if_stock_asked_about_the_rest_of_a_turn_that_ours_kept(
    put: dict[int, tuple[tuple[float, bool], ...]], end: float, found: list[str]
) -> None:
    """Stock has not heard how the first sentence begins. On ours a call holds its turn, and the
    user goes on at 5 s; the session closes so soon that the words do not count as lost."""
    sounds = (Sound(3.0, 4, 1.2), Sound(5.0, 2, 0.6))
    jobs = {1: Job(1, 0.5), 2: Job(2, 3.0, policy="finish")}
    plan = Plan("a kept turn", sounds, {1: Answer(4, (1,)), 2: Answer(4)}, jobs)
    wanted = {1: 1, 2: 1}
    stock = Measures(effects={1: 1}, asked={2: 6.4}, put=put, wanted=wanted)
    held = JobRun(2, "do_finish", 2.0, end, None, end, "result")
    ours = Measures(
        effects={1: 0}, asked={1: 6.4, 2: 6.4}, together={1: 2}, runs=(held,), wanted=wanted
    )
    assert [worst.kind for worst in worse(Pair(plan, stock, ours))] == found
