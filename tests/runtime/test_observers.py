"""Who is told of every verdict, when, and what they may do."""

from __future__ import annotations

import pytest
from calls import Host, runtime

from turnfsm.fsm import Verdict


def test_an_observer_hears_every_verdict_before_the_effects() -> None:
    """Taken and refused, with the entry's number; the state is already the new one."""
    host = Host()
    turn = runtime(host)
    heard: list[tuple[int, str, bool, str, int]] = []
    turn.observe(lambda seq, v: heard.append((seq, v.trigger, bool(v), turn.state, len(host.done))))
    turn.post("ring")
    turn.post("ring")
    assert heard == [(1, "ring", True, "busy", 0), (2, "ring", False, "busy", 2)]


def test_an_observer_that_ended_hears_nothing_more() -> None:
    """What `observe` gives ends it, once and for all."""
    turn = runtime()
    heard: list[int] = []
    end = turn.observe(lambda seq, verdict: heard.append(seq))
    turn.post("tick")
    end()
    end()
    turn.post("tick")
    assert heard == [1]


def test_an_observer_that_raises_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The caller, the other observers and the effects do not notice; the log does."""
    host = Host()
    turn = runtime(host)
    heard: list[int] = []

    def broken(seq: int, verdict: Verdict) -> None:
        raise ValueError("broken")

    turn.observe(broken)
    turn.observe(lambda seq, verdict: heard.append(seq))
    assert turn.post("ring")
    assert turn.post("tick")
    assert (heard, host.done) == ([1, 2], ["greet", "thank", "count"])
    assert caplog.text.count("raised at entry") == 2


def test_an_observer_that_posts_keeps_the_order_of_verdicts_and_effects() -> None:
    """Every observer hears the verdicts in their order; effects run in the order of choice."""
    host = Host()
    turn = runtime(host)
    first: list[str] = []
    second: list[str] = []

    def poster(seq: int, verdict: Verdict) -> None:
        first.append(verdict.trigger)
        if verdict.trigger == "ring":
            assert turn.post("tick")

    turn.observe(poster)
    turn.observe(lambda seq, verdict: second.append(verdict.trigger))
    turn.post("ring")
    assert first == second == ["ring", "tick"]
    assert host.done == ["greet", "thank", "count"]
    assert [entry.cause for entry in turn.journal] == [None, 1]


def test_an_observer_of_what_an_effect_posts() -> None:
    """It hears of it at once, and what it posts is caused by that entry."""
    host = Host(greet=lambda event: turn.post("tick"))
    turn = runtime(host)
    heard: list[str] = []

    def observer(seq: int, verdict: Verdict) -> None:
        heard.append(verdict.trigger)
        if verdict.trigger == "tick":
            turn.post("again")

    turn.observe(observer)
    turn.post("ring")
    assert heard == ["ring", "tick", "again"]
    assert [(e.trigger, e.cause) for e in turn.journal] == [
        ("ring", None),
        ("tick", 1),
        ("again", 2),
    ]
    assert host.done == ["greet", "thank", "count"]


def test_an_interrupt_in_an_observer_loses_no_effect() -> None:
    """The effects that were chosen run with the next post."""
    host = Host()
    turn = runtime(host)

    def interrupt(seq: int, verdict: Verdict) -> None:
        end()
        raise KeyboardInterrupt

    end = turn.observe(interrupt)
    with pytest.raises(KeyboardInterrupt):
        turn.post("ring")
    assert (turn.state, host.done) == ("busy", [])
    turn.post("tick")
    assert host.done == ["greet", "thank", "count"]


def test_what_an_effect_posts_later_is_still_caused_by_its_entry() -> None:
    """Telling what it posted first does not change the cause."""

    def greet(event: object) -> None:
        turn.post("tick")
        turn.post("again")

    turn = runtime(Host(greet=greet))
    turn.observe(lambda seq, verdict: None)
    turn.post("ring")
    assert turn.post("tick")
    assert [(entry.trigger, entry.cause) for entry in turn.journal] == [
        ("ring", None),
        ("tick", 1),
        ("again", 1),
        ("tick", None),
    ]


def test_an_effect_that_was_interrupted_leaves_the_rest_to_the_next_post() -> None:
    """Also if that one has no effect of its own, and nobody observes."""

    def greet(event: object) -> None:
        raise KeyboardInterrupt

    host = Host(greet=greet)
    turn = runtime(host)
    with pytest.raises(KeyboardInterrupt):
        turn.post("ring")
    assert host.done == ["greet"]
    assert not turn.post("ring")
    assert host.done == ["greet", "thank"]


def test_an_observer_that_is_stopped_leaves_nothing_behind() -> None:
    """A KeyboardInterrupt in it reaches the caller; the next post is told and carried out."""
    host = Host()
    turn = runtime(host)
    heard: list[str] = []

    def stopped(seq: int, verdict: Verdict) -> None:
        heard.append(verdict.trigger)
        if len(heard) == 1:
            turn.post("tick")
            raise KeyboardInterrupt

    turn.observe(stopped)
    with pytest.raises(KeyboardInterrupt):
        turn.post("user_stopped")
    assert (heard, host.done) == (["user_stopped"], [])
    turn.post("ring")
    assert heard == ["user_stopped", "ring"]
    assert host.done == ["count", "greet", "thank"]


def test_effects_of_an_observers_post_run_before_the_post_returns() -> None:
    """Its effects run before the post of the caller returns, with their cause."""
    host = Host()
    turn = runtime(host)
    turn.observe(lambda seq, verdict: verdict.trigger == "user_stopped" and turn.post("ring"))
    turn.post("user_stopped")
    assert host.done == ["greet", "thank"]
    assert [(entry.seq, entry.cause) for entry in turn.journal] == [(1, None), (2, 1)]
