"""Deciding, committing, acting: all on the caller's stack."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import attrs
import pytest
from calls import Host, flow_of, runtime

from turnfsm import Event, TurnRuntime
from turnfsm.fsm import (
    FlowError,
    HostError,
    Machine,
    TurnfsmError,
    UnknownName,
    UnknownTrigger,
    compile_flow,
)
from turnfsm.runtime.journal import LiveJournal
from turnfsm.runtime.pump import EventPump


def test_the_verdict_is_immediate_and_needs_no_loop() -> None:
    """A post decides, commits and acts before it returns; no event loop is needed."""
    host = Host()
    turn = runtime(host)
    verdict = turn.post("ring")
    assert verdict
    assert (verdict.state, verdict.dest, verdict.actions) == ("idle", "busy", ("greet", "thank"))
    assert (turn.state, host.done) == ("busy", ["greet", "thank"])


def test_effects_see_the_committed_state() -> None:
    """The state has changed before the first effect runs."""
    seen: list[str] = []
    turn = runtime(Host(greet=lambda event: seen.append(turn.state)))
    turn.post("ring")
    assert seen == ["busy"]


def test_an_effect_gets_its_transition() -> None:
    """An event has the entry's number, the trigger, what it is of, the verdict and the data."""
    host = Host()
    turn = runtime(host)
    turn.post("tick")
    verdict = turn.post("step_started", "s1", why="asked")
    event = host.events[-1]
    assert (event.seq, event.trigger, event.of) == (2, "step_started", "s1")
    assert event.verdict is verdict
    assert event.data == {"why": "asked"}
    assert host.events[0].data == {}
    assert repr(event) == "<Event 2: step_started: idle -> talking / watch, record>"


def test_a_post_from_an_effect_is_decided_at_once_and_its_effects_wait() -> None:
    """Run to completion: the verdict is immediate, the effects join the queue."""
    inner: list[Any] = []

    def greet(event: Event) -> None:
        inner.append(turn.post("tick"))
        inner.append(list(host.done))

    host = Host(greet=greet)
    turn = runtime(host)
    turn.post("ring")
    assert inner[1] == ["greet"]
    assert inner[0].state == "busy"
    assert host.done == ["greet", "thank", "count"]


def test_what_an_effect_posts_may_move_on_while_effects_wait() -> None:
    """The effects that wait run although the state has moved on since they were chosen."""
    states: list[str] = []

    def greet(event: Event) -> None:
        turn.post("step_started", "s1")

    turn = runtime(Host(greet=greet, thank=lambda event: states.append(turn.state)))
    assert turn.post("ring").dest == "busy"
    assert states == ["talking"]


def test_the_cause_of_what_an_effect_posts_is_its_entry() -> None:
    """A chain of posts from effects can be followed back in the journal."""
    turn = runtime(Host(greet=lambda e: turn.post("tick"), count=lambda e: turn.post("again")))
    turn.post("ring")
    turn.post("again")
    causes = [(entry.seq, entry.trigger, entry.cause) for entry in turn.journal]
    assert causes == [(1, "ring", None), (2, "tick", 1), (3, "again", 2), (4, "again", None)]


def test_a_refused_trigger_changes_nothing() -> None:
    """State, facts, timers and effects are what they were; only the journal knows."""
    host = Host()
    turn = runtime(host)
    turn.post("user_started")
    before = (turn.state, turn.facts, list(host.done))
    verdict = turn.post("ring")
    assert not verdict
    assert (turn.state, (*turn.facts,), host.done) == (before[0], (*before[1], "allowed"), [])
    assert [entry.trigger for entry in turn.journal.refusals] == ["ring"]


@pytest.mark.parametrize(
    ("state", "trigger", "of", "reason", "why"),
    [
        ("idle", "ring", None, "guard", "user_speaking"),
        ("busy", "ring", None, "refuses", "busy refuses it"),
        ("idle", "barge_in", None, "refuses", "idle refuses it"),
        ("talking", "step_finished", "s0", "stale", "of step s0, while no step is current"),
    ],
)
def test_a_refusal_says_why(state: str, trigger: str, of: Any, reason: str, why: str) -> None:
    """A guard, a state and a scope that is over are told apart."""
    turn = runtime()
    turn.machine.restore(state, ["user_speaking"])
    verdict = turn.post(trigger, of)
    assert (verdict.reason, verdict.why) == (reason, why)  # type: ignore[union-attr]
    assert (verdict.trigger, verdict.state) == (trigger, state)
    assert turn.ask(trigger, of).reason == reason  # type: ignore[union-attr]


def test_asking_changes_nothing_and_keeps_no_entry() -> None:
    """`ask` answers as `post` would, and leaves no trace."""
    host = Host()
    turn = runtime(host)
    assert turn.ask("ring")
    assert not turn.ask("barge_in")
    assert (turn.state, host.done, len(turn.journal)) == ("idle", [], 0)


def test_an_unknown_trigger_is_an_error_before_and_after_the_end() -> None:
    """A typing error is never a refusal."""
    turn = runtime()
    with pytest.raises(UnknownTrigger, match="did you mean 'ring'"):
        turn.post("rings")
    turn.close()
    with pytest.raises(UnknownTrigger, match="'call' has no trigger 'rings'; did you mean 'ring'"):
        turn.post("rings")
    assert len(turn.journal) == 0


def test_a_trigger_of_a_scope_needs_of() -> None:
    """Without the step, a fence could not hold."""
    turn = runtime()
    for post in (turn.post, turn.post_threadsafe):
        with pytest.raises(TurnfsmError, match="belongs to a step; say which"):
            post("step_finished")


def test_an_event_of_an_abandoned_step_is_stale() -> None:
    """A timer that ends a scope ends its token, too."""
    turn = runtime()
    turn.post("step_started", "s1")
    turn.post("user_started")
    turn.fire("settle")
    verdict = turn.post("playout_started", "s1")
    assert verdict.reason == "stale"  # type: ignore[union-attr]
    assert turn.post("step_started", "s2")
    assert not turn.post("playout_started", "s1")
    assert turn.post("playout_started", "s2")


def test_host_facts_are_asked_at_the_moment_of_a_decision() -> None:
    """Only those that a guard of this trigger reads in this state, every time."""
    host = Host()
    turn = runtime(host)
    host.answers["allowed"] = lambda: False
    verdict = turn.post("ring")
    assert (verdict.reason, verdict.why) == ("guard", "not allowed")  # type: ignore[union-attr]
    host.answers["allowed"] = lambda: True
    assert turn.post("ring")
    turn.post("tick")
    assert host.asked == ["allowed", "allowed"]
    assert turn.holds("allowed")


def test_a_host_fact_that_raises_keeps_its_value(caplog: pytest.LogCaptureFixture) -> None:
    """The conversation goes on with the last answer; the journal and the log say so."""
    host = Host()
    turn = runtime(host)
    assert turn.ask("ring")
    host.answers["allowed"] = lambda: 1 // 0
    assert turn.post("ring")
    [note] = turn.journal.notes("host_fact_failed")
    assert note.data["fact"] == "allowed"
    assert "ZeroDivisionError" in note.data["error"]
    assert "host fact 'allowed' raised" in caplog.text


def test_a_host_fact_may_not_post(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing can come between the question and the decision."""
    host = Host()
    turn = runtime(host)
    host.answers["allowed"] = lambda: bool(turn.post("tick"))
    assert not turn.post("ring")
    assert "it may only answer, because the machine is deciding\n" in caplog.text
    assert [entry.trigger for entry in turn.journal] == ["ring"]
    assert turn.post("tick")


def test_a_host_fact_that_closes_the_runtime_ends_the_decision() -> None:
    """What was being decided is refused as closed and not kept."""
    host = Host()
    turn = runtime(host)
    host.answers["allowed"] = lambda: bool(turn.close())
    verdict = turn.post("ring")
    assert verdict.reason == "closed"  # type: ignore[union-attr]
    assert (turn.state, turn.closed, len(turn.journal)) == ("idle", True, 0)


@pytest.mark.parametrize("exc", [ValueError("no"), asyncio.CancelledError()])
def test_an_effect_that_raises_is_noted_and_the_next_one_runs(exc: BaseException) -> None:
    """An error in an effect reaches neither the caller nor the other effects."""

    def greet(event: Event) -> None:
        raise exc

    host = Host(greet=greet)
    turn = runtime(host)
    assert turn.post("ring")
    assert host.done == ["greet", "thank"]
    [note] = turn.journal.notes("effect_failed")
    assert note.data == {"action": "greet", "error": f"{type(exc).__name__}: {exc}", "cause": 1}
    assert turn.post("tick")


def test_an_effect_that_raises_is_a_trigger_where_the_flow_names_one() -> None:
    """`failed` is posted, with the entry that chose the effect as its cause."""
    host = Host(fetch=lambda event: 1 // 0)
    turn = runtime(host)
    turn.machine.restore("talking")
    turn.post("tick")
    entry = list(turn.journal)[-1]
    assert (entry.trigger, entry.cause, turn.state) == ("fetch_failed", 1, "busy")
    assert entry.data == {
        "action": "fetch",
        "error": "ZeroDivisionError: integer division or modulo by zero",
    }
    assert host.done == ["fetch", "look"]


def test_an_interrupt_leaves_what_was_chosen_for_the_next_post() -> None:
    """KeyboardInterrupt passes through; no effect is lost, their order is kept."""

    def greet(event: Event) -> None:
        turn.post("tick")
        raise KeyboardInterrupt

    host = Host(greet=greet)
    turn = runtime(host)
    with pytest.raises(KeyboardInterrupt):
        turn.post("ring")
    assert (turn.state, host.done) == ("busy", ["greet"])
    turn.post("tick")
    assert host.done == ["greet", "thank", "count", "count"]
    assert list(turn.journal)[-1].cause is None


def test_nothing_comes_between_guard_and_commit() -> None:
    """Posting suspends nowhere: other tasks run only between posts."""

    async def main() -> list[str]:
        turn = runtime()
        order: list[str] = []

        async def other() -> None:
            order.append(f"other sees {turn.state}")

        task = asyncio.create_task(other())
        turn.post("ring")
        turn.post("step_started", "s1")
        order.append("posted")
        await task
        await turn.aclose()
        return order

    assert asyncio.run(main()) == ["posted", "other sees talking"]


def test_a_cancelled_caller_does_not_cancel_the_machine() -> None:
    """A task that is cancelled while it waits has posted all the same, and others go on."""

    async def main() -> None:
        host = Host()
        turn = runtime(host)

        async def caller() -> None:
            turn.post("ring")
            await asyncio.sleep(10)
            turn.post("tick")

        task = asyncio.create_task(caller())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert (turn.state, host.done) == ("busy", ["greet", "thank"])
        assert turn.post("tick")
        await turn.aclose()

    asyncio.run(main())


def test_two_runtimes_share_a_program_and_nothing_else() -> None:
    """State, facts, journal and tokens are each one's own."""
    one, two = runtime(), runtime()
    assert one.machine.program is two.machine.program
    one.post("step_started", "s1")
    one.post("playout_started", "s1")
    assert (two.state, two.facts, len(two.journal), two.machine.tokens) == ("idle", (), 0, None)
    two.post("user_started")
    assert one.facts == ("heard",)


def test_a_program_lives_as_long_as_somebody_holds_it() -> None:
    """Programs are found by the identity of their flow, never by its name."""
    one = flow_of()
    two = attrs.evolve(one)
    assert one == two
    program = compile_flow(one)
    assert compile_flow(one) is program
    assert compile_flow(two) is not program


def test_a_burst_of_posts_loses_none() -> None:
    """The journal stays bounded and no post is lost."""
    turn = runtime(maxlen=1000)
    post = turn.post
    for _ in range(50_000):
        post("user_started")
        post("user_stopped")
    assert turn.journal.seq == 100_000
    assert len(turn.journal) == 1000
    assert next(iter(turn.journal)).seq == 99_001


def test_a_closed_runtime_refuses_and_says_so() -> None:
    """After `close` nothing is taken, nothing is kept, and asking says the same."""
    turn = runtime()
    turn.close()
    turn.close()
    for verdict in (turn.post("ring"), turn.ask("ring")):
        assert (verdict.reason, verdict.state) == ("closed", "idle")  # type: ignore[union-attr]
        why = "the runtime is closed; make a new one for a new session"
        assert str(verdict) == f"ring refused in idle: {why}"
    turn.note("late")
    assert len(turn.journal) == 0


def test_an_effect_that_closes_the_runtime_is_the_last_one() -> None:
    """Effects that wait are dropped: they would act for a session that is over."""
    host = Host(greet=lambda event: turn.close())
    turn = runtime(host)
    assert turn.post("ring")
    assert host.done == ["greet"]

    host = Host(thank=lambda event: (turn.post("tick"), turn.close()))
    turn = runtime(host)
    turn.post("ring")
    assert host.done == ["greet", "thank"]


def test_a_host_that_lacks_a_method_is_refused() -> None:
    """The flow, the action and the host's class are named; each instance is looked at."""

    class Half(Host):
        hush = None  # type: ignore[assignment]

    for _ in range(2):
        with pytest.raises(
            HostError, match="needs the action 'hush', which Half does not implement"
        ):
            runtime(Half())


def test_methods_of_the_instance_count() -> None:
    """A host may get its methods when it is made."""

    class Bare:
        pass

    full, bare = Host(), Bare()
    for name in ("greet", "thank", "fetch", "watch", "record", "hush", "count", "look"):
        setattr(bare, name, getattr(full, name))
    with pytest.raises(HostError, match="host fact 'allowed', 'quiet'"):
        TurnRuntime(flow_of(), bare)
    bare.allowed, bare.quiet = full.allowed, full.quiet  # type: ignore[attr-defined]
    turn = TurnRuntime(flow_of(), bare)
    turn.post("ring")
    assert full.done == ["greet", "thank"]
    with pytest.raises(HostError):
        TurnRuntime(turn.flow, Bare())


@pytest.mark.parametrize("seconds", [0, -1, 86_400, float("nan"), float("-inf")])
def test_timers_have_sensible_seconds(seconds: float) -> None:
    """More than nothing, less than a day."""
    with pytest.raises(TurnfsmError, match="give 0 < seconds < 86400"):
        runtime(timers={"patience": seconds})


@pytest.mark.parametrize("flow", [5, None, object()])
def test_what_is_no_flow_is_named(flow: Any) -> None:
    """A flow is a flow, the name of one, or a path."""
    with pytest.raises(FlowError, match=r"no flow .*or name a .yaml file"):
        TurnRuntime(flow, object())


def test_an_unknown_timer_is_named() -> None:
    """A misspelt timer gets a "did you mean"."""
    with pytest.raises(UnknownName, match="did you mean 'patience'"):
        runtime(timers={"patienc": 1.0})


def test_the_runtime_says_where_it_is() -> None:
    """`flow`, `state`, `facts`, `holds` and `now` read the machine and the journal's clock."""
    turn = runtime()
    turn.post("user_started")
    assert (turn.flow.name, turn.facts, turn.holds("user_speaking")) == (
        "call",
        ("user_speaking",),
        True,
    )
    assert turn.now >= next(iter(turn.journal)).t >= 0


def test_a_failing_effect_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """At ERROR, under the project's logger."""
    runtime(Host(greet=lambda event: 1 // 0)).post("ring")
    [record] = caplog.records
    assert (record.levelno, record.name) == (logging.ERROR, "turnfsm")
    assert record.exc_info is not None
    assert record.getMessage() == "action 'greet' raised after ring"


def test_effects_wait_for_one_another_when_somebody_observes() -> None:
    """Run to completion works the same with an observer: same order, same events."""
    log: list[str] = []

    def greet(event: Event) -> None:
        turn.post("tick")
        log.append(f"{event.trigger} greeted")

    def thank(event: Event) -> None:
        log.append(f"{event.trigger} thanked")

    def count(event: Event) -> None:
        log.append(f"{event.trigger} counted")

    turn = runtime(Host(greet=greet, thank=thank, count=count))
    turn.observe(lambda seq, verdict: None)
    turn.post("ring")
    assert log == ["ring greeted", "ring thanked", "tick counted"]


def test_an_effect_that_raises_is_noted_when_somebody_observes() -> None:
    """With an observer, the journal has the same records."""
    host = Host(greet=lambda event: 1 // 0)
    turn = runtime(host)
    turn.observe(lambda seq, verdict: None)
    turn.post("ring")
    [note] = turn.journal.notes("effect_failed")
    assert (note.data["action"], note.data["cause"]) == ("greet", 1)
    assert note.data["error"].startswith("ZeroDivisionError: ")
    assert host.done == ["greet", "thank"]


def test_what_an_effect_fails_for_is_told_with_its_trigger() -> None:
    """`failed` belongs to the same step, turn or call as what chose the effect."""
    turn = runtime(Host(fetch=lambda event: 1 // 0))
    turn.machine.restore("talking")
    turn.post("tick", "call 7")
    assert [entry.of for entry in turn.journal] == ["call 7", "call 7"]


def test_every_alternative_says_what_blocks_it() -> None:
    """Where several guards fail, the reason names each."""
    text = """
        flow: two
        initial: a
        facts: {session: {x: {set_by: up}, y: {set_by: up}}}
        requests: {go}
        events: {up}
        states:
          a: {on: {go: [{dest: b, conditions: [x]}, {dest: b, conditions: [y]}]}}
          b: {final: true}
    """
    turn = TurnRuntime(flow_of(text), object())
    assert turn.post("go").why == "not x; or not y"  # type: ignore[union-attr]
    assert str(turn.post("up")) == "up: stays a"


def test_a_pump_has_the_timers_of_its_flow() -> None:
    """Without a plan of its own, it takes the seconds that the flow declares."""

    async def main() -> str:
        machine = Machine(flow_of())
        pump = EventPump(machine, Host(), LiveJournal(machine.program))
        pump.post("ring")
        [handle] = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
        assert handle.when() == pytest.approx(asyncio.get_running_loop().time() + 2.0, abs=0.5)
        pump.close()
        return machine.state

    assert asyncio.run(main()) == "busy"
