"""What explains that a call is not made, or that nobody hears of its result, and what does not."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from test_declared import kinds, ran

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

CLOSE = (Move(5.0, "aclose"),)


@pytest.mark.parametrize(("told", "found"), [(5.5, []), (4.5, ["untold"])])
def test_what_stock_tells_after_the_close_is_explained(told: float, found: list[str]) -> None:
    """The application closes at 5 s."""
    stock = {"effects": {1: 1}, "told": {1: told}}
    assert kinds(stock, {"effects": {1: 1}}, moves=CLOSE) == found


@pytest.mark.parametrize(
    ("news", "stops", "found"),
    [
        ((3.9, 5.0), (5.0,), []),
        ((3.9, 5.0), (), ["untold"]),
        ((3.9, 4.4), (5.0,), ["untold"]),
        ((4.5, 5.0), (5.0,), ["untold"]),
    ],
    ids=["told until the stop", "nobody stopped it", "over before", "begun later"],
)
def test_other_results_that_were_told_when_somebody_interrupted_explain_an_untold_one(
    news: tuple[float, float], stops: tuple[float, ...], found: list[str]
) -> None:
    """Stock tells it at 4 s."""
    ours = {"effects": {1: 1}, "told": {2: news[0]}, "news": (news,), "stops": stops}
    assert kinds({"effects": {1: 1}, "told": {1: 4.0}}, ours) == found


@pytest.mark.parametrize(
    ("stop", "ours", "found"),
    [
        (4.2, {}, []),
        (5.0, {}, ["untold"]),
        (5.0, {"audio": (Heard(4.0, 4.9, "r2a r2b."),)}, []),
        (5.0, {"runs": (ran(1, 2.0, 4.5),)}, []),
        (5.0, {"runs": (ran(1, 2.0, 2.5), ran(2, 2.3, 4.9))}, []),
        (5.0, {"runs": (ran(1, 2.0, 2.5), ran(2, 2.3, 3.5))}, ["untold"]),
        (2.3, {}, ["untold"]),
        (4.3, {"asked": {2: 4.1}}, []),
        (4.3, {"asked": {2: 4.5}}, ["untold"]),
    ],
    ids=[
        "soon",
        "later",
        "something else was heard",
        "the call ended later",
        "another call held the turn",
        "it did so before",
        "stopped before it ended",
        "answered",
        "asked afterwards",
    ],
)
def test_an_interruption_before_a_result_could_be_told_explains_that_it_is_not(
    stop: float, ours: dict[str, Any], found: list[str]
) -> None:
    """Its call has ended at 2.5 s, on stock at 3.5 s. The user speaks until 3.6 s; their words may
    come until 4 s. Stock tells it at 4.4 s."""
    stock = {"effects": {1: 1, 2: 1}, "told": {1: 4.4}, "runs": (ran(1, 2.0, 3.5),)}
    measured = {"effects": {1: 1, 2: 1}, "runs": (ran(1, 2.0, 2.5),), "stops": (stop,), **ours}
    assert kinds(stock, measured, jobs={2: Job(2, 0.5, policy="hold")}) == found


@pytest.mark.parametrize(
    ("hook", "delay", "close", "found"),
    [
        (1.0, 0.5, 5.1, []),
        (0.0, 0.5, 5.1, ["untold"]),
        (1.0, 0.1, 5.1, ["untold"]),
        (1.0, 0.5, 6.1, ["untold"]),
    ],
    ids=["in the hook", "no hook", "words before the end", "after the hook"],
)
def test_a_close_during_the_hook_for_words_that_cut_a_result_explains_it(
    hook: float, delay: float, close: float, found: list[str]
) -> None:
    """The call ends at 4 s, when the user has been quiet for 0.4 s; stock tells it at 4.2 s, and
    cuts it when the words come."""
    sounds = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6, delay))
    answers, moves = {1: Answer(4, (1,)), 2: Answer(4)}, (Move(close, "aclose"),)
    plan = Plan("a hook", sounds, answers, {1: Job(1, 0.5)}, moves, hook=hook)
    once: dict[str, Any] = {"effects": {1: 1}, "wanted": {1: 1}, "runs": (ran(1, 2.0, 4.0),)}
    pair = Pair(plan, Measures(**once, told={1: 4.2}), Measures(**once))
    assert [w.kind for w in worse(pair)] == found


@pytest.mark.parametrize(
    ("begun", "end", "found"),
    [(2.9, 3.5, []), (2.9, 4.5, ["untold"]), (3.3, 3.5, ["untold"])],
    ids=["told until the user spoke", "cut later", "begun later"],
)
def test_other_results_that_were_told_when_the_user_spoke_explain_an_untold_one(
    begun: float, end: float, found: list[str]
) -> None:
    """Stock tells it at 3 s, when the user begins to speak."""
    ours = {"effects": {1: 1}, "told": {2: begun}, "news": ((begun, end),)}
    assert kinds({"effects": {1: 1}, "told": {1: 3.0}}, ours) == found


@pytest.mark.parametrize(
    ("how", "news", "found"),
    [
        ("CancelledError", (2.8, 3.5), []),
        ("result", (2.8, 3.5), ["untold"]),
        ("CancelledError", (2.8, 2.9), ["untold"]),
        ("CancelledError", (1.8, 3.5), ["untold"]),
    ],
    ids=["cut", "not cancelled", "nobody spoke", "told before the end"],
)
def test_a_cancelled_call_that_is_told_first_explains_an_untold_result(
    how: str, news: tuple[float, float], found: list[str]
) -> None:
    """The user speaks again at 3 s; the other call ends at 2.5 s."""
    ours: dict[str, Any] = {
        "effects": {1: 1, 2: 1},
        "told": {2: news[0]},
        "news": (news,),
        "runs": (ran(1, 1.5, 2.5), ran(2, 1.5, 1.7, how)),
    }
    stock = {"effects": {1: 1, 2: 1}, "told": {1: 4.0}}
    assert kinds(stock, ours, jobs={2: Job(2, 0.5, policy="cancel")}) == found


@pytest.mark.parametrize(
    ("first", "cut", "found"),
    [
        ("t2a", 3.9, []),
        ("r2a t2a", 3.9, ["untold"]),
        ("t1a", 3.9, ["untold"]),
        ("t2a", 4.3, ["untold"]),
        ("t2a", 3.7, ["untold"]),
    ],
    ids=["cut", "an answer", "not cancelled", "later", "before"],
)
def test_words_that_come_while_a_cancelled_call_is_told_explain_an_untold_result(
    first: str, cut: float, found: list[str]
) -> None:
    """The user speaks from 3 to 3.6 s, and the words come at 3.9 s. The reply begins at 3.2 s, and
    nothing of it is understood but its first word."""
    ours: dict[str, Any] = {
        "effects": {1: 1, 2: 1},
        "news": ((3.2, cut),),
        "audio": (Heard(3.2, cut, first),),
        "runs": (ran(1, 1.5, 2.5), ran(2, 1.5, 1.7, "CancelledError")),
    }
    stock = {"effects": {1: 1, 2: 1}, "told": {1: 4.0}}
    assert kinds(stock, ours, jobs={2: Job(2, 0.5, policy="cancel")}) == found


@pytest.mark.parametrize(
    ("start", "end", "how", "taken_over", "found"),
    [
        (4.0, 10.0, "CancelledError", 10.0, []),
        (4.0, 7.0, "CancelledError", 7.0, ["undone"]),
        (4.0, 10.0, "RuntimeError", 10.0, ["undone"]),
        (5.5, 10.5, "CancelledError", 10.5, []),
        (5.5, 10.3, "CancelledError", 10.3, ["undone"]),
        (5.5, 10.5, "CancelledError", 5.4, ["undone"]),
    ],
    ids=[
        "after the limit",
        "before the limit",
        "not cancelled",
        "begun during the handoff",
        "begun then, before the limit",
        "begun by the next agent",
    ],
)
def test_a_call_that_a_handoff_has_not_waited_for_is_explained(
    start: float, end: float, how: str, taken_over: float, found: list[str]
) -> None:
    """The application hands over at 5 s."""
    ours = {"effects": {1: 0}, "runs": (ran(1, start, end, how),), "handoffs": (taken_over,)}
    moves = (Move(5.0, "update_agent"),)
    assert kinds({"effects": {1: 1}}, ours, moves=moves) == found


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (2.0, 6.0, []),
        (2.0, 3.0, ["untold"]),
        (2.3, 6.0, ["untold"]),
    ],
    ids=["beside it", "over before", "of another turn"],
)
def test_a_close_while_a_call_beside_it_runs_explains_an_untold_result(
    start: float, end: float, found: list[str]
) -> None:
    """The application closes at 5 s. Stock has not made the other call."""
    runs = ran(1, 2.0, 2.5), ran(2, start, end)
    stock = {"effects": {1: 1, 2: 0}, "told": {1: 2.9}, "runs": runs[:1]}
    assert kinds(stock, {"effects": {1: 1, 2: 1}, "runs": runs}, moves=CLOSE) == found


@pytest.mark.parametrize(
    ("policy", "how", "end", "found"),
    [
        ("cancel", "CancelledError", 10.0, []),
        ("detach", "CancelledError", 10.0, ["untold"]),
        ("cancel", "RuntimeError", 10.0, ["untold"]),
        ("cancel", "result", 4.5, ["untold"]),
    ],
    ids=["cancelled with it", "told afterwards", "not cancelled", "ended before"],
)
def test_a_result_is_explained_whose_call_was_cancelled_in_a_handoff(
    policy: Any, how: str, end: float, found: list[str]
) -> None:
    """The application hands over at 5 s."""
    ours = {"effects": {1: 1}, "runs": (ran(1, 4.0, end, how),)}
    stock = {"effects": {1: 1}, "told": {1: 12.0}}
    jobs = {1: Job(1, 0.5, policy=policy)}
    assert kinds(stock, ours, jobs=jobs, moves=(Move(5.0, "update_agent"),)) == found


@pytest.mark.parametrize(
    ("end", "warned", "found"),
    [
        (10.2, ("did not end in time; its agent is closed",), []),
        (10.2, (), ["untold"]),
        (9.8, ("did not end in time; its agent is closed",), ["untold"]),
    ],
    ids=["left", "no warning", "ended in time"],
)
def test_a_call_may_end_by_itself_when_its_agent_is_closed(
    end: float, warned: tuple[str, ...], found: list[str]
) -> None:
    """The application hands over at 5 s, and the handoff waits for 5 s."""
    warnings = dict.fromkeys(warned, 1)
    ours = {
        "effects": {1: 1},
        "runs": (ran(1, 4.0, end, "RuntimeError"),),
        "warnings": warnings,
    }
    stock = {"effects": {1: 1}, "told": {1: 12.0}, "warnings": warnings}
    jobs = {1: Job(1, 0.5, policy="cancel")}
    assert kinds(stock, ours, jobs=jobs, moves=(Move(5.0, "update_agent"),)) == found


@pytest.mark.parametrize(
    ("audio", "warned", "found"),
    [
        (((10.6, 11.2), (11.4, 12.4)), True, []),
        (((10.6, 11.2), (11.8, 12.4)), True, ["untold"]),
        (((10.6, 11.2), (11.4, 12.0)), True, ["untold"]),
        (((11.2, 12.4),), True, ["untold"]),
        (((10.6, 11.2), (11.4, 12.4)), False, ["untold"]),
    ],
    ids=["spoke", "was silent", "had ended", "began late", "had waited"],
)
def test_the_next_agents_greeting_until_the_close_explains_an_untold_result(
    audio: tuple[tuple[float, float], ...], warned: bool, found: list[str]
) -> None:
    """The application hands over at 5 s, and closes the session at 12.4 s. The call ends when its
    agent is closed."""
    warnings = {"did not end in time; its agent is closed": 1} if warned else {}
    ours = {"effects": {1: 1}, "runs": (ran(1, 4.0, 10.5),), "warnings": warnings}
    ours |= {"handoffs": (10.5,), "audio": tuple(Heard(*span, "hello") for span in audio)}
    ours |= {"asked": {1: 11.0}}
    stock = {"effects": {1: 1}, "told": {1: 11.0}, "warnings": warnings}
    moves = (Move(5.0, "update_agent"), Move(12.4, "aclose"))
    assert kinds(stock, ours, moves=moves) == found


@pytest.mark.parametrize(
    ("second", "found"),
    [((4.2, 5.0), []), ((4.6, 5.0), ["untold"])],
    ids=["at once", "after a pause"],
)
def test_other_results_may_be_told_one_after_the_other(
    second: tuple[float, float], found: list[str]
) -> None:
    """Two, from 3.9 s on; somebody interrupts at 5 s. Stock tells it at 4 s."""
    ours = {"effects": {1: 1}, "told": {2: 3.9}, "news": ((3.9, 4.0), second), "stops": (5.0,)}
    assert kinds({"effects": {1: 1}, "told": {1: 4.0}}, ours) == found


@pytest.mark.parametrize(
    ("policy", "end", "found"),
    [("hold", 6.0, []), ("detach", 6.0, ["undone"]), ("hold", 4.5, ["undone"])],
    ids=["held", "not held", "over before"],
)
def test_a_call_is_explained_whose_words_waited_for_another_call_until_the_close(
    policy: Any, end: float, found: list[str]
) -> None:
    """Stock asks at 2.5 s, the application closes at 5 s."""
    ours = {"effects": {1: 1, 2: 0}, "runs": (ran(1, 2.0, end),)}
    stock = {"effects": {1: 1, 2: 1}, "asked": {2: 2.5}, "runs": (ran(2, 2.7, 3.2),)}
    jobs = {1: attrs.evolve(Job(1, 0.5), policy=policy)}
    assert kinds(stock, ours, jobs=jobs, moves=CLOSE) == found


@pytest.mark.parametrize(("ours", "found"), [({}, []), ({2: ((4.0, False),)}, ["undone"])])
def test_a_part_of_the_words_may_wait_for_another_call_until_the_close(
    ours: Any, found: list[str]
) -> None:
    """The application has cleared the rest. Stock asks at 2.5 s; it closes at 5 s."""
    measured = {"effects": {1: 1, 2: 0}, "runs": (ran(1, 2.0, 6.0),), "put": ours}
    put = {2: ((2.5, True),)}
    stock = {"effects": {1: 1, 2: 1}, "put": put, "runs": (ran(2, 2.7, 3.2),)}
    jobs = {1: attrs.evolve(Job(1, 0.5), policy="hold")}
    assert kinds(stock, measured, jobs=jobs, moves=CLOSE) == found


@pytest.mark.parametrize(
    ("begins", "until", "found"),
    [(4.8, 6.0, []), (5.2, 6.0, ["undone"]), (4.6, 4.7, ["undone"])],
    ids=["its reply", "another reply", "over before"],
)
def test_a_call_is_explained_whose_words_waited_for_the_reply_to_another_call_until_the_close(
    begins: float, until: float, found: list[str]
) -> None:
    """The call that holds its turn ends at 4.5 s, the application closes at 5 s."""
    audio = (Heard(begins, until, "t1a t1b t1c t1d."),)
    ours = {"effects": {1: 1, 2: 0}, "runs": (ran(1, 2.0, 4.5),), "audio": audio}
    stock = {"effects": {1: 1, 2: 1}, "asked": {2: 2.5}, "runs": (ran(2, 2.7, 3.2),)}
    jobs = {1: Job(1, 0.5, policy="hold")}
    assert kinds(stock, ours, jobs=jobs, moves=CLOSE) == found


@pytest.mark.parametrize(
    ("start", "again", "found"),
    [(2.0, 6.0, []), (2.0, 4.5, ["untold"]), (1.0, 6.0, ["untold"])],
    ids=["not ended", "ended", "another call"],
)
def test_a_call_whose_wait_raised_has_no_result_to_tell_if_no_other_has_ended_at_the_close(
    start: float, again: float, found: list[str]
) -> None:
    """On stock the wait returns, and the result is told at 4 s. The application closes at 5 s."""
    raised = ran(1, start, 2.5, "SpeechInterrupted")
    ours = {"effects": {1: 1}, "runs": (raised, ran(1, 3.0, again))}
    stock = {"effects": {1: 2}, "runs": (ran(1, 2.0, 3.5),), "told": {1: 4.0}}
    assert kinds(stock, ours, moves=CLOSE) == found


@pytest.mark.parametrize(("close", "found"), [(6.5, []), (9.0, ["undone"])])
def test_a_close_behind_a_call_that_held_the_words_explains_a_call(
    close: float, found: list[str]
) -> None:
    """The other call ends at 6 s, and ours asks then; stock has asked at 4 s and begun at 5 s."""
    ours = {"effects": {1: 1, 2: 0}, "asked": {2: 6.0}, "runs": (ran(1, 2.0, 6.0),)}
    stock = {"effects": {1: 1, 2: 1}, "asked": {2: 4.0}, "runs": (ran(2, 5.0, 5.5),)}
    jobs = {1: Job(1, 0.5, policy="hold")}
    assert kinds(stock, ours, jobs=jobs, moves=(Move(close, "aclose"),)) == found


@pytest.mark.parametrize(("how", "found"), [("ToolError", []), ("RuntimeError", ["untold"])])
def test_a_tool_that_ends_its_own_turn_and_fails_explains_that_no_reply_follows(
    how: str, found: list[str]
) -> None:
    """A RuntimeError says that it was not allowed to."""
    stock = {"effects": {1: 1}, "told": {1: 4.0}}
    ours = {"effects": {1: 1}, "runs": (ran(1, 2.0, 2.5, how),)}
    assert kinds(stock, ours, jobs={1: Job(1, 0.5, waits="interrupts")}) == found


@pytest.mark.parametrize(
    ("policy", "until", "how", "waits", "found"),
    [
        ("finish", 3.0, "RuntimeError", "interrupts", []),
        ("hold", 3.0, "RuntimeError", "interrupts", []),
        ("detach", 3.0, "RuntimeError", "interrupts", ["untold"]),
        ("hold", 2.3, "RuntimeError", "interrupts", ["untold"]),
        ("hold", 3.0, "CancelledError", "interrupts", ["untold"]),
        ("hold", 3.0, "RuntimeError", "", ["untold"]),
    ],
    ids=["finish", "hold", "not held", "held no more", "cancelled", "does not interrupt"],
)
def test_a_tool_that_may_not_interrupt_a_held_turn_has_no_result_to_tell(
    policy: Any, until: float, how: str, waits: Any, found: list[str]
) -> None:
    """It fails at 2.5 s; on stock it interrupts, and its result is told."""
    jobs = {1: Job(1, 0.5, waits=waits), 2: Job(2, 1.0, policy=policy)}
    runs = ran(1, 2.0, 2.5, how), ran(2, 2.2, until, "result")
    stock = {"effects": {1: 1, 2: 1}, "told": {1: 4.0}}
    assert kinds(stock, {"effects": {1: 1, 2: 1}, "runs": runs}, jobs=jobs) == found


@pytest.mark.parametrize(
    ("heard", "count", "text", "found"),
    [
        (
            ("1.00-2.00 s 't1a t1b.'", "3.00-3.50 s 't1a'", "5.00-6.00 s 't1a t1b.'"),
            3,
            "t1a t1b.",
            [],
        ),
        (("1.00-2.00 s 't1a t1b.'",) * 3, 3, "t1a t1b.", ["again"]),
        (("1.00-1.50 s 'f1a'",) * 3, 3, "f1a f1b.", ["again"]),
    ],
    ids=["once cut", "three times", "a filler"],
)
def test_a_result_that_was_cut_may_be_told_again(
    heard: tuple[str, ...], count: int, text: str, found: list[str]
) -> None:
    """Its tool has run twice."""
    runs = ran(1, 0.5, 0.9), ran(1, 2.5, 2.9)
    ours = {"effects": {1: 1}, "runs": runs, "repeats": {text: count}, "heard": heard}
    assert kinds({"effects": {1: 1}}, ours) == found


@pytest.mark.parametrize(
    ("policy", "waits", "close", "cut", "found"),
    [
        ("finish", "playout", 6.2, 3.0, []),
        ("hold", "playout", 6.2, 3.0, []),
        ("detach", "playout", 6.2, 3.0, ["untold"]),
        ("finish", "", 6.2, 3.0, ["untold"]),
        ("finish", "playout", 8.0, 3.0, ["untold"]),
        ("finish", "playout", 6.2, 4.5, ["untold"]),
    ],
    ids=["finish", "hold", "not held", "does not wait", "closed later", "cut as late"],
)
def test_a_call_that_waits_for_its_whole_preamble_ends_later_perhaps_after_the_close(
    policy: Any, waits: Any, close: float, cut: float, found: list[str]
) -> None:
    """The preamble is heard from 2 to 4.5 s, on stock until 3 s. Stock tells the result at 5.5 s,
    half a second after its call has ended."""
    jobs = {1: Job(1, 1.0, waits=waits, policy=policy, after=1.0)}
    words = "r1a r1b r1c."
    run = JobRun(1, "do_it", 2.1, 4.0, 5.0, 5.0, "result")
    stock = {
        "effects": {1: 1},
        "told": {1: 5.5},
        "runs": (run,),
        "audio": (Heard(2.0, cut, words),),
    }
    held = JobRun(1, "do_it", 2.1, 5.5, 6.5, 6.5, "result")
    ours = {"effects": {1: 1}, "runs": (held,), "audio": (Heard(2.0, 4.5, words),)}
    assert kinds(stock, ours, jobs=jobs, moves=(Move(close, "aclose"),)) == found
