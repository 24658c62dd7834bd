"""What follows if only ours has words answered: a realtime model answers what stands last.

Each reason is bounded: next to what it explains stands what looks alike and is still found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from test_declared import ran

from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    Measures,
    Move,
    Pair,
    Plan,
    Sound,
    worse,
)
from turnfsm.runtime.testing.livekit.speaker import Heard

SAID = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6, 0.0), Sound(5.0, 2, 0.6, 0.0))
"""They end at 1.6, 3.6 and 5.6 s, each with its words."""

TYPED = (Move(3.5, "ask"),)
ERROR = "failed to generate a reply: the response was cancelled"
REFUSED = "[RuntimeError('This generation handle does not allow interruptions')]"
QUEUED = "a queued speech does not allow interruptions and will play after the interruption"


def found(
    stock: Mapping[str, Any],
    ours: Mapping[str, Any],
    *,
    model: Any = "realtime",
    sounds: tuple[Sound, ...] = SAID,
    jobs: tuple[Job, ...] = (),
    moves: tuple[Move, ...] = (),
) -> list[str]:
    """What is worse. The first two sentences ask for the jobs 1 and 2; the model thinks 0.2 s."""
    answers = {1: Answer(4, (1,)), 2: Answer(4, (2,)), 3: Answer(4, (), 0.2)}
    all_jobs = {1: Job(1, 0.5), 2: Job(2, 0.5), **{job.number: job for job in jobs}}
    plan = Plan("three sentences", sounds, answers, all_jobs, moves, model=model)
    once = {"wanted": {1: 1, 2: 1}}
    pair = Pair(plan, *(Measures(**{**once, **m}) for m in (stock, ours)))
    return [w.kind for w in worse(pair)]


@pytest.mark.parametrize(
    ("on_stock", "heard", "late"),
    [((), (4.5, 7.5), []), ((3.8, 4.2), (4.5, 7.5), ["late"]), ((), (4.5, 6.0), ["late"])],
    ids=["only ours", "sooner on stock", "silence after it"],
)
def test_an_answer_that_only_ours_gives_delays_the_next(
    on_stock: tuple[float, ...], heard: tuple[float, float], late: list[str]
) -> None:
    """The third sentence is answered at 7.8 s, on stock at 6.1 s."""
    stock = {"latency": {3: 0.5}, "audio": [Heard(*on_stock, "r2a r2b.")] if on_stock else []}
    ours = {"latency": {3: 2.2}, "audio": (Heard(*heard, "r2a r2b."),)}
    assert found(stock, ours) == late


@pytest.mark.parametrize(
    ("run", "late"),
    [((4.3, 7.4), []), ((3.0, 7.4), ["late"]), ((4.3, 6.0), ["late"])],
    ids=["its call runs", "the call ran before", "the call is over"],
)
def test_a_call_that_only_ours_was_asked_for_delays_the_next_answer(
    run: tuple[float, float], late: list[str]
) -> None:
    """Likewise."""
    ours = {"put": {2: ((4.0, True),)}, "latency": {3: 2.2}, "runs": (ran(2, *run),)}
    assert found({"latency": {3: 0.5}}, ours) == late


@pytest.mark.parametrize(("on_stock", "waits"), [({}, []), ({2: ((4.0, True),)}, ["wait"])])
def test_a_run_ends_when_words_are_answered_that_only_ours_has_answered(
    on_stock: Any, waits: list[str]
) -> None:
    """The run begins at 3.5 s; the call that the words ask for runs until 9 s."""
    ours = {"put": {2: ((4.0, True),)}, "waits": {0: 5.7}, "runs": (ran(2, 4.2, 9.0),)}
    stock = {"put": on_stock, "waits": {0: 0.7}}
    assert found(stock, ours, moves=(Move(3.5, "run"),)) == waits


@pytest.mark.parametrize(
    ("heard", "put", "agent"),
    [
        ((6.0, 9.0), {2: ((4.0, True),)}, []),
        ((6.0, 9.0), {}, ["agent"]),
        ((6.0, 8.0), {2: ((4.0, True),)}, ["agent"]),
    ],
    ids=["until the close", "no words more", "silence before the close"],
)
def test_a_close_while_words_are_answered_that_only_ours_answers_comes_before_a_handoff(
    heard: tuple[float, float], put: Any, agent: list[str]
) -> None:
    """Stock hands over at 6 s, and the session closes at 9 s."""
    ours = {"put": put, "audio": (Heard(*heard, "r2a"),)}
    stock = {"handed_over": True, "handoffs": (6.0,)}
    assert found(stock, ours, moves=(Move(9.0, "aclose"),)) == agent


@pytest.mark.parametrize(
    ("spoken", "together", "undone"),
    [((4.0, 7.0), {2: 3}, []), ((4.0, 5.0), {2: 3}, ["undone"]), ((4.0, 7.0), {}, ["undone"])],
    ids=["the agent spoke until then", "silence before", "not put at all"],
)
def test_two_sentences_are_put_together_if_the_agent_spoke_until_then(
    spoken: tuple[float, float], together: Any, undone: list[str]
) -> None:
    """Stock asks about the second one at 4 s, ours about both at 7 s."""
    stock = {"effects": {2: 1}, "asked": {2: 4.0}}
    ours = {"effects": {2: 0}, "asked": {3: 7.0}, "together": together}
    heard = (Heard(*spoken, "r1a"),)
    assert found(stock, {**ours, "audio": heard}) == undone


@pytest.mark.parametrize(("both", "undone"), [(7.0, []), (8.0, ["undone"])])
def test_two_sentences_are_put_together_at_once_if_the_later_one_was_put_before(
    both: float, undone: list[str]
) -> None:
    """Its transcript came first. Ours asks about it at 7 s, when the agent has spoken."""
    stock = {"effects": {2: 1}, "asked": {2: 4.0}}
    ours = {"effects": {2: 0}, "asked": {3: 7.0, 2: both}, "together": {2: 3}}
    assert found(stock, {**ours, "audio": (Heard(4.0, 7.0, "r1a"),)}) == undone


@pytest.mark.parametrize(
    ("before", "put", "reply", "worse_kinds"),
    [
        ({2: 4.0}, {}, 4.5, []),
        ({}, {}, 4.5, ["undone", "late"]),
        ({2: 4.0}, {2: ((6.0, True),)}, 4.5, ["undone", "late"]),
        ({2: 3.0}, {}, 4.5, ["undone", "late"]),
        ({2: 4.0}, {}, 3.7, ["undone", "late"]),
    ],
    ids=["before it", "never put", "put again", "typed later", "typed words answered before"],
)
def test_a_model_that_gets_typed_words_behind_what_it_has_heard_answers_these(
    before: Any, put: Any, reply: float, worse_kinds: list[str]
) -> None:
    """The user types at 3.5 s, and has the reply to both."""
    stock = {"effects": {2: 1}, "latency": {2: 0.5}}
    replies = {0: (reply, reply + 1.0)}
    ours = {"effects": {2: 0}, "latency": {2: None}, "replies": replies}
    ours |= {"before_typed": before, "put": put}
    assert found(stock, ours, moves=TYPED) == worse_kinds


@pytest.mark.parametrize(
    ("text", "times", "at", "heard", "warned"),
    [
        (QUEUED, 1, 3.5, 4.5, []),
        (QUEUED, 1, 3.5, 30.0, []),
        ("something else", 1, 3.5, 4.5, ["warning"]),
        (QUEUED, 1, 3.5, 3.8, ["warning"]),
        (QUEUED, 1, 5.0, 5.5, ["warning"]),
        (QUEUED, 2, 3.5, 4.5, ["warning"]),
    ],
    ids=["queued", "never heard", "another", "being said", "said later", "more often"],
)
def test_to_interrupt_while_something_uninterruptible_waits_is_warned_of_on_any_session(
    text: str, times: int, at: float, heard: float, warned: list[str]
) -> None:
    """A tool interrupts at 4 s. Stock says it before that, or after it."""
    audio = (Heard(heard, heard + 0.9, "y0a y0b y0c."),) if heard < 30.0 else ()
    ours = {"stops": (4.0,), "warnings": {text: times}, "audio": audio}
    assert found({}, ours, moves=(Move(at, "say_on"),)) == warned


@pytest.mark.parametrize(
    ("end", "heard", "logged"),
    [(9.0, "y0a y0b y0c.", []), (9.0, "y1a y1b y1c.", ["log"]), (9.7, "y0a y0b y0c.", ["log"])],
    ids=["refused", "something else", "after it"],
)
def test_to_interrupt_what_cannot_be_interrupted_is_refused_on_any_session(
    end: float, heard: str, logged: list[str]
) -> None:
    """It was asked for at 3.5 s, and is heard from 8.6 to 9.5 s. On stock it is over before."""
    jobs, moves = (Job(1, 0.5, "interrupts"),), (Move(3.5, "say_on"),)
    ours = {"runs": (ran(1, 2.0, end, "RuntimeError"),), "audio": (Heard(8.6, 9.5, heard),)}
    ours |= {"effects": {1: 1}, "errors": {REFUSED: 1}}
    stock = {"runs": (ran(1, 2.0, end),), "effects": {1: 1}}
    assert found(stock, ours, jobs=jobs, moves=moves) == logged


@pytest.mark.parametrize(
    ("what", "at", "heard", "on_stock", "raises"),
    [
        ("interrupt", 4.7, "y0a y0b y0c.", 4.8, []),
        ("chat", 4.7, "y0a y0b y0c.", 4.8, []),
        ("interrupt", 4.7, "y0a y0b y0c.", 3.6, ["wait"]),
        ("interrupt", 4.7, "y0a y0b y0c.", 30.0, ["wait"]),
        ("interrupt", 4.7, "r1a r1b.", 4.8, ["wait"]),
        ("interrupt", 4.3, "y0a y0b y0c.", 4.8, ["wait"]),
        ("interrupt", 5.6, "y0a y0b y0c.", 5.8, ["wait"]),
        ("force", 4.7, "y0a y0b y0c.", 4.8, ["wait"]),
        ("say", 4.7, "y0a y0b y0c.", 4.8, ["wait"]),
    ],
    ids=[
        "interrupt",
        "chat",
        "sooner on stock",
        "never on stock",
        "something else",
        "before it",
        "after it",
        "by force",
        "not to interrupt",
    ],
)
def test_the_application_may_not_interrupt_what_it_wants_said_when_this_comes_sooner(
    what: Any, at: float, heard: str, on_stock: float, raises: list[str]
) -> None:
    """It was asked for at 3.5 s, and is heard from 4.6 to 5.5 s."""
    said = (Heard(on_stock, on_stock + 0.9, "y0a y0b y0c."),) if on_stock < 30.0 else ()
    stock = {"waits": {1: 0.0}, "audio": said}
    ours = {"waits": {1: None}, "raised": frozenset({1}), "audio": (Heard(4.6, 5.5, heard),)}
    assert found(stock, ours, moves=(Move(3.5, "say_on"), Move(at, what))) == raises


@pytest.mark.parametrize(
    ("model", "at", "logged"),
    [("server", 3.9, []), ("server", 4.5, ["log"]), ("realtime", 3.9, ["log"])],
)
def test_a_reply_that_is_asked_for_as_the_model_begins_to_answer_is_given_up(
    model: Any, at: float, logged: list[str]
) -> None:
    """The model ends the user's turn at 4.1 s, and answers by itself."""
    ours = {"errors": {ERROR: 1}}
    assert found({}, ours, model=model, moves=(Move(at, "chat"),)) == logged


@pytest.mark.parametrize(
    ("heard", "on_stock", "stops", "untold"),
    [
        ("r2a r2b", "t1a t1b", (7.0,), []),
        ("g2a g2b", "t1a t1b", (7.0,), ["untold"]),
        ("r2a r2b", "r2a t1a", (7.0,), ["untold"]),
        ("r2a r2b", "t1a t1b", (), ["untold"]),
    ],
    ids=["cut", "no answer", "stock answers, too", "nobody stopped the last one"],
)
def test_a_result_behind_an_answer_that_was_cut_is_told_with_the_next_one(
    heard: str, on_stock: str, stops: tuple[float, ...], untold: list[str]
) -> None:
    """The third sentence cuts it, and the application stops the answer to this."""
    asked = {2: 3.9, 3: 6.1}
    told = {"told": {1: 4.0}, "audio": (Heard(4.0, 4.9, on_stock),)}
    stock = {"effects": {1: 1}, "asked": asked, **told}
    ours = {"effects": {1: 1}, "audio": (Heard(4.0, 5.4, heard),), "runs": (ran(1, 2.0, 3.0),)}
    own = {2: (4.0, 5.4)} if heard.startswith("r") else {}
    ours |= {"own_answers": own, "asked": asked, "stops": stops}
    assert found(stock, ours) == untold


@pytest.mark.parametrize(
    ("how", "together", "later", "untold"),
    [
        ("CancelledError", True, False, []),
        ("result", True, False, ["untold"]),
        ("CancelledError", False, False, ["untold"]),
        ("CancelledError", True, True, ["untold"]),
    ],
    ids=["cancelled", "not cancelled", "stock tells them apart", "a reply follows"],
)
def test_a_result_that_stock_tells_with_the_one_of_a_cancelled_call_is_explained(
    how: str, together: bool, later: bool, untold: list[str]
) -> None:
    """Somebody interrupts the turn of both calls at 4 s, and is not answered."""
    told = {1: 6.0, 2: 6.0 if together else 8.0}
    runs = (ran(1, 2.0, 2.5), ran(2, 2.0, 4.0, how))
    audio = (Heard(5.0, 6.0, "y1a"),) if later else ()
    ours = {"effects": {1: 1, 2: 1}, "runs": runs, "audio": audio}
    stock = {"effects": {1: 1, 2: 1}, "told": told}
    jobs = (Job(2, 3.0, policy="cancel"),)
    kinds = found(stock, {**ours, "mentioned": frozenset({2})}, jobs=jobs)
    assert kinds == untold


@pytest.mark.parametrize(
    ("heard", "took", "kinds"),
    [((), 3.0, []), ((2,), 3.0, ["wait"]), ((), 3.4, ["wait"])],
    ids=["only ours", "stock, too", "longer"],
)
def test_a_call_of_the_application_waits_for_an_answer_of_which_stock_says_nothing(
    heard: tuple[int, ...], took: float, kinds: list[str]
) -> None:
    """Both sessions ask the model at 4 s, and it thinks for 0.2 s. On stock a noise cuts the answer
    before it is heard, and the model takes it for said."""
    put = {2: ((4.0, True),)}
    stock = {"put": put, "own_answers": dict.fromkeys(heard, (6.0, 6.4))}
    stock |= {"waits": {0: 1.0}, "silent": {0: 0.4}, "audio": (Heard(4.4, 5.0, "g0a."),)}
    ours = {"put": put, "own_answers": {2: (4.4, 5.4)}, "waits": {0: took}}
    ours |= {"silent": {0: took - 1.4}}
    ours["audio"] = (Heard(4.4, 5.4, "r2a r2b."), Heard(6.0, 6.4, "g0a."))
    sounds, moves = SAID[:2], (Move(4.0, "run"),)
    assert found(stock, ours, sounds=sounds, moves=moves) == kinds
