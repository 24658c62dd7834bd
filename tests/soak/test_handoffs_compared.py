"""What is explained of an answer that comes in the middle of a handoff, and what is not."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    JobRun,
    Jobs,
    Measures,
    Move,
    Pair,
    Plan,
    Sound,
    worse,
)
from turnfsm.runtime.testing.livekit.differential.measured_calls import scripted
from turnfsm.runtime.testing.livekit.speaker import Heard

SAID = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6))
SKIPPED = "skipping new realtime generation, the speech scheduling is not running"


@pytest.mark.parametrize(("model", "named"), [("pipeline", "AgentTask"), ("server", "Agent")])
@pytest.mark.parametrize(
    ("starts", "errors"),
    [((3.0, 3.0), 1), ((3.0, 3.0, 3.0), 2), ((3.0, 3.5), 0)],
    ids=["one step", "three calls", "two steps"],
)
def test_livekit_logs_that_a_step_hands_over_twice(
    model: Any, named: str, starts: tuple[float, ...], errors: int
) -> None:
    """The plan lets two calls of one step hand over; both sessions log each that is too many."""
    hand_over = {number: Job(number, 0.5, ends="hands_off") for number in (1, 2)}
    plan = Plan("two handoffs", SAID, {1: Answer(4, (1, 2))}, hand_over, (), model=model)
    jobs = Jobs(hand_over)
    for number, start in enumerate(starts):
        jobs.runs.append(JobRun(1 + number % 2, "do_it", start, 4.0, None, 4.0, "result"))
    logged = scripted(plan, jobs)
    assert logged[f"expected to receive only one {named} from the tool executions"] == errors


@pytest.mark.parametrize(
    ("heard", "close", "at", "found"),
    [
        ((4.0, 4.9), 5.0, 2.0, []),
        ((4.0, 4.9), 7.0, 2.0, ["agent"]),
        ((4.0, 4.2), 5.0, 2.0, ["agent"]),
        ((4.0, 4.9), 5.0, 6.0, ["agent"]),
    ],
    ids=["soon", "long after", "nobody spoke", "not asked for"],
)
def test_a_close_before_the_next_agent_could_take_over_is_explained(
    heard: tuple[float, float], close: float, at: float, found: list[str]
) -> None:
    """The user speaks until 3.6 s; their words may come until 4 s. Stock hands over at 4.1 s."""
    moves = (Move(at, "update_agent"), Move(close, "aclose"))
    plan = Plan("a handoff", SAID, {1: Answer(4), 2: Answer(4)}, {1: Job(1, 0.5)}, moves)
    audio = (Heard(*heard, "r1a r1b."),)
    stock = Measures(handed_over=True, handoffs=(4.1,), wanted={1: 0})
    pair = Pair(plan, stock, Measures(audio=audio, wanted={1: 0}))
    assert [w.kind for w in worse(pair)] == found


@pytest.mark.parametrize(
    ("news", "close", "found"),
    [((4.9, 5.5), 5.5, []), (None, 5.5, ["agent"]), ((5.2, 5.5), 6.2, ["agent"])],
    ids=["thinks and tells", "silence", "longer"],
)
def test_a_result_that_is_told_before_the_next_agent_takes_over_delays_it(
    news: tuple[float, float] | None, close: float, found: list[str]
) -> None:
    """The agent has spoken until 4.5 s; then it is asked for what has come of a call. Stock hands
    over at 4.1 s."""
    moves = (Move(2.0, "update_agent"), Move(close, "aclose"))
    plan = Plan("a handoff", SAID, {1: Answer(4), 2: Answer(4)}, {1: Job(1, 0.5)}, moves)
    told = () if news is None else (Heard(*news, "t1a"),)
    audio = (Heard(4.0, 4.5, "r1a r1b."), *told)
    stock = Measures(handed_over=True, handoffs=(4.1,), wanted={1: 0})
    spans = () if news is None else (news,)
    pair = Pair(plan, stock, Measures(audio=audio, news=spans, wanted={1: 0}))
    assert [w.kind for w in worse(pair)] == found


@pytest.mark.parametrize(
    ("hands_over", "took_over", "since", "on_stock", "kinds"),
    [
        (1.5, (5.5,), 6.0, (), []),
        (2.5, (5.5,), 6.0, (), ["unseen"]),
        (1.5, (4.0,), 6.0, (), ["unseen"]),
        (1.5, (2.5, 5.5), 6.0, (), ["unseen"]),
        (1.5, (5.5,), 5.2, (), ["unseen"]),
        (1.5, (5.5,), 6.0, (JobRun(1, "do_it", 3.0, 5.0, None, 5.0, "result"),), ["unseen"]),
    ],
    ids=["before", "copied after it", "ended later", "taken over", "seen by neither", "on stock"],
)
def test_an_agent_that_was_made_before_the_words_does_not_see_their_call(
    hands_over: float, took_over: Any, since: float, on_stock: Any, kinds: list[str]
) -> None:
    """The words are over at 1.6 s; the call runs from 3 to 5 s."""
    moves = (Move(hands_over, "update_agent"),)
    plan = Plan("a handoff", SAID[:1], {1: Answer(4, (1,))}, {1: Job(1, 2.0)}, moves)
    run = JobRun(1, "do_it", 3.0, 5.0, None, 5.0, "result")
    done: dict[str, Any] = {"wanted": {1: 1}, "handed_over": True, "effects": {1: 1}}
    stock = Measures(**done, runs=on_stock, words_lost=frozenset({1}))
    ours = Measures(**done, runs=(run,), asked={1: 2.0}, unseen={1: since}, handoffs=took_over)
    assert [one.kind for one in worse(Pair(plan, stock, ours))] == kinds


@pytest.mark.parametrize(
    ("model", "hands_over", "kinds"),
    [("server", 2.7, []), ("server", 2.9, ["unseen"]), ("pipeline", 2.7, ["unseen"])],
    ids=["before the transcript", "after it", "the words come sooner"],
)
def test_the_words_of_a_realtime_model_come_into_the_conversation_with_their_transcript(
    model: Any, hands_over: float, kinds: list[str]
) -> None:
    """The words are over at 1.6 s, the model hears that at 2.1 s, and transcribes them in 0.6 s;
    the call runs from 3 to 5 s."""
    moves = (Move(hands_over, "update_agent"),)
    said = (attrs.evolve(SAID[0], stt_delay=0.6),)
    plan = Plan("", said, {1: Answer(4, (1,))}, {1: Job(1, 2.0)}, moves, model=model)
    run = JobRun(1, "do_it", 3.0, 5.0, None, 5.0, "result")
    done: dict[str, Any] = {"wanted": {1: 1}, "handed_over": True, "effects": {1: 1}}
    stock = Measures(**done, words_lost=frozenset({1}))
    ours = Measures(**done, runs=(run,), asked={1: 2.2}, unseen={1: 6.0}, handoffs=(5.5,))
    assert [one.kind for one in worse(Pair(plan, stock, ours))] == kinds


@pytest.mark.parametrize(
    ("second", "put", "over", "waits", "kinds"),
    [
        (2.0, 2.7, (2.6, 5.5), "interrupts", []),
        (2.65, 2.7, (2.6, 5.5), "interrupts", ["unseen"]),
        (2.0, 2.5, (2.6, 5.5), "interrupts", ["unseen"]),
        (2.0, 2.7, (2.6, 4.5), "interrupts", ["unseen"]),
        (2.0, 2.7, (2.6, 5.5), "", ["unseen"]),
    ],
    ids=["given to the first", "made by the first", "put before", "ended later", "to be told"],
)
def test_an_agent_made_before_its_words_went_to_another_agent_does_not_see_their_call(
    second: float, put: float, over: tuple[float, ...], waits: Any, kinds: list[str]
) -> None:
    """Two agents are to take over, and the first puts the words to the model, which are over at
    1.6 s; the call runs from 3 to 5 s, and may interrupt."""
    moves = (Move(1.5, "update_agent"), Move(second, "update_agent"))
    plan = Plan("two handoffs", SAID[:1], {1: Answer(4, (1,))}, {1: Job(1, 2.0, waits)}, moves)
    run = JobRun(1, "do_it", 3.0, 5.0, None, 5.0, "result")
    done: dict[str, Any] = {"wanted": {1: 1}, "handed_over": True, "effects": {1: 1}}
    stock = Measures(**done, words_lost=frozenset({1}))
    ours = Measures(
        **done,
        runs=(run,),
        asked={1: put},
        put={1: ((put, True),)},
        unseen={1: 6.0},
        handoffs=over,
    )
    assert [one.kind for one in worse(Pair(plan, stock, ours))] == kinds
