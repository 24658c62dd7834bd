"""When a sentence counts as answered: by a reply to it, or by what came of a call it asked for."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from livekit.agents import llm
from test_delays import found, ran

from turnfsm.runtime.testing.livekit.differential import Answer, Job, JobRun, Jobs, Plan, Sound
from turnfsm.runtime.testing.livekit.differential.agents import answer
from turnfsm.runtime.testing.livekit.differential.measured_sound import answers, begun, blips
from turnfsm.runtime.testing.livekit.differential.measured_words import together
from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.scripted_llm import Request
from turnfsm.runtime.testing.livekit.speaker import Heard

PLAN = Plan(
    "two sentences, one job",
    (Sound(1.0, 2, 0.6), Sound(3.0, 1, 0.3)),
    {1: Answer(0, (1,)), 2: Answer(4, (1,))},
    {1: Job(1, 0.5)},
)


def _request(at: float, words: str) -> Request:
    context = llm.ChatContext.empty()
    context.add_message(role="user", content=words)
    return Request(at, words, (), context)


def _answered(runs: list[tuple[float, float]], asked: list[float], told: list[float]) -> list[int]:
    """At which whole seconds the sentences are answered; 0 if never."""
    jobs = Jobs(PLAN.jobs)
    jobs.runs = [JobRun(1, "do_it", start, end, None, end, "result") for start, end in runs]
    requests = [_request(at, f"u{n}a u{n}b") for n, at in enumerate(asked, 1)]
    heard = [Heard(at, at + 0.9, "t1a t1b t1c t1d.") for at in told]
    found = answers(PLAN, jobs, Outcome(heard=heard, requests=requests), 30.0)
    return [0 if stretch is None else int(stretch.start) for _, stretch in found]


@pytest.mark.parametrize(
    ("runs", "asked", "told", "answered"),
    [
        ([(4.1, 4.5)], [4.0], [5.0], [5, 0]),
        ([(4.1, 4.5), (6.1, 6.5)], [4.0], [7.0, 9.0], [9, 0]),
        ([(4.1, 4.5), (6.1, 6.5)], [4.0, 6.0], [5.0, 7.0], [5, 7]),
        ([(4.1, 4.5)], [4.0, 6.0], [5.0, 7.0], [5, 0]),
        ([(4.1, 4.5)], [5.0], [7.0], [0, 0]),
    ],
    ids=["of its call", "of a repeated call", "of two calls", "of the one before", "asked later"],
)
def test_a_result_answers_the_sentence_that_asked_for_it(
    runs: list[tuple[float, float]], asked: list[float], told: list[float], answered: list[int]
) -> None:
    """A call is repeated if the model does not see the first one: nobody has asked for it."""
    assert _answered(runs, asked, told) == answered


def test_the_end_of_a_sentence_that_a_commit_has_cut_in_two_asks_for_its_call() -> None:
    """The model is asked about its beginning with the sentence before."""
    jobs = Jobs(PLAN.jobs)
    jobs.runs = [JobRun(1, "do_it", 4.1, 4.5, None, 4.5, "result")]
    requests = [_request(3.2, "u1a u1b u2a"), _request(4.0, "u2b")]
    outcome = Outcome(heard=[Heard(5.0, 5.9, "t1a t1b t1c t1d.")], requests=requests)
    _, (_, heard) = answers(PLAN, jobs, outcome, 30.0)
    assert heard is not None


@pytest.mark.parametrize(("told", "answered"), [("t2a t2b. t1a t1b.", True), ("t1a t1b.", False)])
def test_what_is_told_with_the_result_of_a_repeated_call_answers(told: str, answered: bool) -> None:
    """The first call is repeated when the second one is made."""
    plan = attrs.evolve(PLAN, answers={1: Answer(0, (1,)), 2: Answer(0, (2,))})
    plan = attrs.evolve(plan, jobs={1: Job(1, 0.5), 2: Job(2, 0.5)})
    jobs = Jobs(plan.jobs)
    runs = (1, 4.1), (1, 6.1), (2, 6.1)
    jobs.runs = [JobRun(n, "do_it", at, at + 0.4, None, at + 0.4, "result") for n, at in runs]
    outcome = Outcome(
        heard=[Heard(7.0, 8.0, told)],
        requests=[_request(at, f"u{n}a u{n}b") for n, at in ((1, 4.0), (2, 6.0))],
    )
    found = dict(answers(plan, jobs, outcome, 30.0))
    assert found[1] == found[2] == (outcome.heard[0] if answered else None)


@pytest.mark.parametrize(
    ("both", "answered"), [("u1a u1b u2a", [9, 9]), ("u2a", [7, 7])], ids=["together", "apart"]
)
def test_words_that_the_model_was_asked_about_ahead_ask_for_one_call(
    both: str, answered: list[int]
) -> None:
    """Ahead about the first sentence, then about both: the second call repeats the first."""
    jobs = Jobs(PLAN.jobs)
    jobs.runs = [JobRun(1, "do_it", at, at + 0.4, None, at + 0.4, "result") for at in (5.1, 6.1)]
    heard = [Heard(at, at + 0.9, "t1a t1b t1c t1d.") for at in (7.0, 9.0)]
    requests = [_request(4.0, "u1a u1b"), _request(5.0, both)]
    found = answers(PLAN, jobs, Outcome(heard=heard, requests=requests), 30.0)
    assert [int(stretch.start) for _, stretch in found if stretch is not None] == answered


@pytest.mark.parametrize(
    ("heard", "found"),
    [
        ([Heard(4.3, 4.4, "")], {1: (4.3, 4.4)}),
        ([Heard(3.9, 4.0, "")], {}),
        ([Heard(4.3, 4.4, "y0a"), Heard(4.5, 4.6, "")], {}),
    ],
    ids=["after the request", "before it", "after something else"],
)
def test_an_answer_of_which_less_than_a_word_is_heard_has_begun(
    heard: list[Heard], found: dict[int, tuple[float, float]]
) -> None:
    outcome = Outcome(heard=heard, requests=[_request(4.0, "u1a u1b")])
    assert dict(begun(PLAN, Jobs(PLAN.jobs), outcome, 30.0)) == found


@pytest.mark.parametrize(("again", "answered"), [(False, 6), (True, 9)])
def test_an_earlier_result_within_another_reply_answers_if_it_is_not_told_again(
    again: bool, answered: int
) -> None:
    """The second call has the same result, at 8 s; the model was to tell the first one besides."""
    jobs = Jobs(PLAN.jobs)
    jobs.runs = [
        JobRun(1, "do_it", at, end, None, end, "result") for at, end in ((4.1, 4.5), (6.1, 8.0))
    ]
    shown = _request(6.0, "u2a")
    shown.chat_ctx.items += [
        llm.FunctionCall(call_id="call_1", name="do_it", arguments='{"number": 1}'),
        llm.FunctionCallOutput(call_id="call_1", name="do_it", output="done1", is_error=False),
    ]
    shown.chat_ctx.add_message(role="user", content="typed80")
    besides = "The user may not have heard of the result of do_it (call_1)."
    shown.chat_ctx.add_message(role="system", content=besides)
    said = answer(PLAN, shown).text
    heard = [Heard(6.5, 8.4, said)] + [Heard(9.0, 9.9, "t1a t1b t1c t1d.")] * again
    requests = [_request(4.0, "u1a u1b"), _request(6.0, "u2a"), shown]
    found = dict(answers(PLAN, jobs, Outcome(heard=heard, requests=requests), 30.0))[2]
    assert found is not None
    assert "t1a" in said
    assert int(found.start) == answered


@pytest.mark.parametrize(
    ("said", "told", "answered"),
    [("u2a", 6.2, 6), ("u1a u1b", 6.2, 0), ("u2a", 5.9, 0)],
    ids=["asked since", "asked before", "told before"],
)
def test_what_came_of_an_earlier_call_answers_who_asks_for_it_again(
    said: str, told: float, answered: int
) -> None:
    """The second call runs from 6.1 to 6.5 s, and has the same result. The model was shown that of
    the first one with the first words, or with those that ask for it again."""
    jobs = Jobs(PLAN.jobs)
    jobs.runs = [JobRun(1, "do_it", at, at + 0.4, None, at + 0.4, "result") for at in (4.1, 6.1)]
    shown = _request(6.0 if said == "u2a" else 5.9, said)
    shown.chat_ctx.items += [
        llm.FunctionCall(call_id="call_1", name="do_it", arguments='{"number": 1}'),
        llm.FunctionCallOutput(call_id="call_1", name="do_it", output="done1", is_error=False),
    ]
    outcome = Outcome(
        heard=[Heard(told, told + 0.9, "t1a t1b t1c t1d.")],
        requests=[_request(4.0, "u1a u1b"), shown, _request(6.0, "u2a")],
    )
    found = dict(answers(PLAN, jobs, outcome, 30.0))[2]
    assert (0 if found is None else int(found.start)) == answered


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (["u2a u1a u1b"], "r2a r2b r2c r2d."),
        (["u2a", "u1a u1b"], "r2a r2b r2c r2d."),
        (["u2a", "", "u1a u1b"], ""),
        (["u2a", "typed80"], "g80a g80b g80c g80d g80e."),
    ],
    ids=["one turn", "two turns", "the agent spoke in between", "typed"],
)
def test_the_model_answers_the_sentence_that_was_said_last(said: list[str], reply: str) -> None:
    """Its transcript comes before that of the sentence before."""
    context = llm.ChatContext.empty()
    for words in said:
        context.add_message(role="user" if words else "assistant", content=words or "r2a r2b.")
    assert answer(PLAN, Request(4.0, said[-1], (), context)).text == reply


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        (None, "t1a t1b t1c t1d. t2a t2b t2c t2d."),
        ("The user may not have heard of the result of do_it (call_2).", "t2a t2b t2c t2d."),
        ("New results arrived (call_ids: ['call_1_final']).", "t1a t1b t1c t1d."),
        (
            "Another reply tells what has come of do_it (call_1): leave that out.",
            "t2a t2b t2c t2d.",
        ),
        (
            "Another reply tells what has come of do_it (call_9).",
            "t1a t1b t1c t1d. t2a t2b t2c t2d.",
        ),
    ],
    ids=["the step of the calls", "TurnSession", "LiveKit", "left out", "of another call"],
)
def test_the_model_tells_the_results_that_it_is_asked_to_tell(asks: str | None, told: str) -> None:
    """The first call has called `ctx.update()`. Nothing has told the two results."""
    context = llm.ChatContext.empty()
    for number, id in (1, "call_1_final"), (2, "call_2"):
        call = {"call_id": id, "name": "do_it"}
        context.items.append(llm.FunctionCall(arguments=f'{{"number": {number}}}', **call))
        output = llm.FunctionCallOutput(output=f"done{number}", is_error=False, **call)
        context.items.append(output)
    if asks is not None:
        context.add_message(role="system", content=asks)
    assert answer(PLAN, Request(4.0, "", (), context)).text == told


@pytest.mark.parametrize(("output", "said"), [("done1", "t1a t1b t1c t1d."), ("", "t0a t0b.")])
def test_the_model_does_not_tell_an_empty_result(output: str, said: str) -> None:
    """The tool has returned None."""
    context = llm.ChatContext.empty()
    context.items.append(llm.FunctionCall(call_id="c", name="do_it", arguments='{"number": 1}'))
    given = llm.FunctionCallOutput(call_id="c", name="do_it", output=output, is_error=False)
    context.items.append(given)
    assert answer(PLAN, Request(4.0, "", (), context)).text == said


@pytest.mark.parametrize(("end", "found"), [(4.01, 0), (4.1, 1)])
def test_audio_shorter_than_a_frame_is_no_blip(end: float, found: int) -> None:
    """A paused reply is resumed that was heard but for its last moment."""
    heard = [Heard(3.0, 3.9, "r1a r1b"), Heard(4.0, end, "")]
    outcome = Outcome(heard=heard)
    assert len(list(blips(PLAN, outcome, ["r1a r1b r1c"], 30.0))) == found


@pytest.mark.parametrize(
    ("resumed", "before", "found"),
    [(True, "r1a r1b r1c", 0), (False, "r1a r1b r1c", 1), (True, "r1a r1b", 1)],
    ids=["the end of it", "another", "cut again"],
)
def test_the_end_of_a_paused_reply_is_no_blip(resumed: bool, before: str, found: int) -> None:
    """It was paused in its last word. Only its silence is left."""
    heard = [Heard(3.0, 3.9, before), Heard(5.0, 5.12, "")]
    outcome = Outcome(heard=heard, false_interruptions=[(5.0, resumed)])
    assert len(list(blips(PLAN, outcome, ["r1a r1b r1c"], 30.0))) == found


@pytest.mark.parametrize(("outcome", "found"), [("cancelled", {1: 2}), ("complete", {})])
def test_a_request_that_was_dropped_asks_nothing(outcome: str, found: dict[int, int]) -> None:
    """The model was asked about the first sentence, and then about both."""
    first, both = _request(4.0, "u1a u1b"), _request(5.0, "u1a u1b u2a")
    first.outcome = outcome
    assert together(Outcome(requests=[first, both])) == found


def test_a_sentence_of_which_the_beginning_is_missing_was_asked_with_the_next() -> None:
    """The application had cleared its first word."""
    assert together(Outcome(requests=[_request(4.0, "u1b u1c u2a")])) == {1: 2}


@pytest.mark.parametrize(
    ("cut", "start", "latency", "late"),
    [
        ({1}, 4.2, 5.2, False),
        ({1}, 4.2, 6.0, True),
        ({1}, 5.0, 5.2, True),
        ((), 4.2, 5.2, True),
    ],
    ids=["cancelled", "long after its end", "made later", "not cancelled"],
)
def test_stock_may_tell_the_result_of_an_earlier_call_that_was_cancelled_on_ours(
    cut: Any, start: float, latency: float, late: bool
) -> None:
    """It ends at 6.2 s on stock, and the call of this sentence at 8.4 s on both."""
    told = {2: "t1a t1b t1c t1d."}
    both = (ran(1, 2.0, 6.2), ran(1, 4.2, 8.4))
    stock = {"answered_with": told, "latency": {2: 3.0}, "runs": both}
    ours = {"asked": {2: 4.0}, "latency": {2: latency}, "runs": (ran(1, start, 8.4),)}
    found_worse = found({**ours, "cut": frozenset(cut)}, {**stock, "asked": {2: 4.0}})
    assert found_worse == ["late"] * late
