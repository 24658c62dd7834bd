"""Timers belong to a state: armed on entry, gone on exit, a trigger like any other."""

from __future__ import annotations

import asyncio
import time

import pytest
from calls import Host, flow_of, runtime

from turnfsm import TurnRuntime
from turnfsm.fsm.journal import replay
from turnfsm.runtime.testing.clock import VirtualClock, VirtualLoop
from turnfsm.runtime.timers import clock_of, plan_of


def fired(turn: TurnRuntime) -> list[tuple[float, str, bool]]:
    """The timers that fired: when, which, and whether they were taken."""
    timers = turn.flow.timers
    return [
        (round(e.t, 6), e.trigger, bool(e.verdict)) for e in turn.journal if e.trigger in timers
    ]


def handles() -> int:
    """How many timers of the loop are live."""
    loop = asyncio.get_running_loop()
    return sum(not handle.cancelled() for handle in loop._scheduled)  # type: ignore[attr-defined]


async def test_a_timer_is_armed_on_entry(virtual_time: VirtualClock) -> None:
    """It fires its seconds after the state was entered and leads on."""
    turn = runtime()
    turn.start()
    await asyncio.sleep(1)
    turn.post("ring")
    await asyncio.sleep(5)
    assert fired(turn) == [(3.0, "patience", True)]
    assert turn.state == "idle"
    await turn.aclose()


async def test_a_timer_is_gone_when_its_state_is_left(virtual_time: VirtualClock) -> None:
    """Also one whose loop timer is still there: it finds nothing to fire."""
    turn = runtime()
    turn.post("ring")
    turn.post("step_started", "s1")
    await asyncio.sleep(30)
    assert fired(turn) == []
    assert turn.state == "talking"
    await turn.aclose()


async def test_re_entry_restarts_timers_and_an_internal_transition_does_not(
    virtual_time: VirtualClock,
) -> None:
    """`dest: busy` in busy starts the timers again; without `dest` they go on."""
    turn = runtime()
    turn.post("ring")
    await asyncio.sleep(1.5)
    turn.post("again")
    await asyncio.sleep(1.5)
    turn.post("tick")
    await asyncio.sleep(1)
    assert fired(turn) == [(3.5, "patience", True)]
    await turn.aclose()


async def test_a_timer_that_is_held_back_is_armed_again(virtual_time: VirtualClock) -> None:
    """A refused timer, or one without `dest`, starts again; the others of its state go on."""
    host = Host()
    turn = runtime(host)
    turn.post("ring")
    turn.post("user_started")
    await asyncio.sleep(20)
    assert fired(turn) == [
        (2.0, "patience", False),
        (3.0, "nag", True),
        (6.0, "nag", True),
        (9.0, "nag", True),
        (10.0, "limit", True),
    ]
    assert host.done == ["greet", "thank", "count", "count", "count", "hush"]
    await turn.aclose()


GUARDED = """
flow: guarded
initial: waiting
facts:
  session: {busy: {set_by: began, cleared_by: ended}}
  host: {ready}
events: {began: {}, ended: {}, again: {}}
timers: {check: 0.25, look: 1.0}
states:
  waiting:
    on:
      again: {dest: waiting}
    after:
      check: {dest: over, conditions: [ready], unless: [busy]}
      look: {}
  over: {final: true}
"""


class Ready:
    """Answers for the host fact, and counts how often it was asked."""

    def __init__(self) -> None:
        self.value, self.asked = False, 0

    def ready(self) -> bool:
        self.asked += 1
        return self.value


async def test_an_identical_timer_refusal_is_journaled_once(virtual_time: VirtualClock) -> None:
    """A timer that is held back by the same facts is asked on and on, and not told of again."""
    host = Ready()
    turn = TurnRuntime(flow_of(GUARDED), host)
    turn.start()
    told: list[int] = []
    turn.observe(lambda seq, verdict: told.append(seq))
    turn.post("began")
    await asyncio.sleep(1.1)
    assert fired(turn) == [(0.25, "check", False), (1.0, "look", True)]
    turn.post("ended")  # another reason: that is news
    await asyncio.sleep(2)
    assert fired(turn)[2:] == [(1.25, "check", False)]
    turn.post("began")
    await asyncio.sleep(0.2)
    turn.post("again")  # the state was entered again: that is news, too
    await asyncio.sleep(0.3)
    assert [t for t, trigger, _ in fired(turn)[3:] if trigger == "check"] == [3.25, 3.55]
    turn.post("ended")
    host.value = True
    await asyncio.sleep(0.3)
    assert (turn.state, fired(turn)[-1]) == ("over", (3.8, "check", True))
    assert told == [entry.seq for entry in turn.journal]
    assert replay(turn.journal.read(), turn.flow) is None
    await turn.aclose()


async def test_a_timer_that_ends_a_scope_is_kept_each_time(virtual_time: VirtualClock) -> None:
    """It has no `dest` and no actions, and yet something ends with it."""
    text = """
        flow: spells
        initial: waiting
        scopes: {spell: {begins: began, ends: check}}
        events: {began: {of: spell}}
        timers: {check: 0.5}
        states: {waiting: {on: {began: {}}, after: {check: {}}}}
    """
    turn = TurnRuntime(flow_of(text), object())
    turn.start()
    for spell in ("s1", "s2"):
        turn.post("began", spell)
        assert turn.machine.tokens == {"spell": spell}
        await asyncio.sleep(0.6)
        assert turn.machine.tokens is None
    assert fired(turn) == [(0.5, "check", True), (1.0, "check", True)]
    await turn.aclose()


async def test_host_facts_are_asked_each_time_a_timer_fires(virtual_time: VirtualClock) -> None:
    """A timer that nobody hears of still asks the host, so it goes on as soon as it may. It is
    due: it is also asked when another timer has fired (`look`, at 1 s)."""
    host = Ready()
    turn = TurnRuntime(flow_of(GUARDED), host)
    turn.start()
    await asyncio.sleep(1.6)
    assert host.asked == 7
    host.value = True
    await asyncio.sleep(0.3)
    assert (turn.state, host.asked) == ("over", 9)
    await turn.aclose()


async def test_the_first_of_equal_deadlines_is_the_one_that_is_declared_first(
    virtual_time: VirtualClock,
) -> None:
    """`limit` comes before `nag` in the state, whatever their names."""
    for first, timers in {
        "limit": {"patience": 50.0, "limit": 4.0, "nag": 4.0},
        "patience": {"patience": 4.0, "limit": 4.0, "nag": 50.0},
    }.items():
        turn = runtime(timers=timers)
        turn.post("ring")
        await asyncio.sleep(10)
        assert [trigger for _, trigger, _ in fired(turn)] == [first]
        await turn.aclose()


async def test_deadlines_move_on_one_timer_of_the_loop(virtual_time: VirtualClock) -> None:
    """A thousand entries leave at most one live loop timer, and few that were cancelled."""
    loop = asyncio.get_running_loop()
    before = len(loop._scheduled)  # type: ignore[attr-defined]
    turn = runtime()
    turn.post("ring")
    for _ in range(1000):
        turn.post("again")
    assert handles() == 1
    assert loop._scheduled[-1].when() == 2.0  # type: ignore[attr-defined]
    assert len(loop._scheduled) - before == 1  # type: ignore[attr-defined]
    await asyncio.sleep(1.9)
    turn.post("again")
    await asyncio.sleep(1.9)
    assert (turn.state, handles()) == ("busy", 1)
    await asyncio.sleep(0.2)
    assert fired(turn) == [(3.9, "patience", True)]
    await turn.aclose()


async def test_a_shorter_timer_takes_the_place_of_a_longer_one(virtual_time: VirtualClock) -> None:
    """The loop's timer is set again only where it would come too late."""
    turn = runtime()
    turn.post("ring")
    turn.post("step_started", "s1")
    turn.post("user_started")
    await asyncio.sleep(1)
    assert fired(turn) == [(0.5, "settle", True)]
    await turn.aclose()
    assert handles() == 0


async def test_close_leaves_no_timer(virtual_time: VirtualClock) -> None:
    """After `close` nothing fires and nothing waits in the loop."""
    turn = runtime()
    turn.post("ring")
    turn.close()
    assert handles() == 0
    await asyncio.sleep(30)
    assert fired(turn) == []


async def test_an_effect_of_a_timer_may_close_the_runtime(virtual_time: VirtualClock) -> None:
    """Then no further timer of the state fires, although its deadline has passed."""
    turn = runtime(Host(count=lambda event: turn.close()), timers={"nag": 2.0, "patience": 9.0})
    turn.post("ring")
    await asyncio.sleep(30)
    assert fired(turn) == [(2.0, "nag", True)]
    assert handles() == 0


def test_timers_wait_for_a_loop() -> None:
    """A state that is entered without a loop has its timers when `start` gives it one."""
    turn = runtime(timers={"patience": 0.01})
    turn.post("ring")
    assert turn.state == "busy"

    async def main() -> str:
        turn.start()
        turn.start()
        await asyncio.sleep(0.05)
        return turn.state

    assert asyncio.run(main()) == "idle"
    assert turn.post("ring"), "a post after the loop's end is decided, too"
    assert turn.state == "busy"


def test_the_first_state_has_its_timers_from_the_start() -> None:
    """They are armed by `start`, on the loop that runs then."""
    text = """
        flow: short
        initial: waiting
        timers: {wait: 0.5}
        states:
          waiting: {after: {wait: {dest: over}}}
          over: {final: true}
    """

    async def main() -> str:
        await asyncio.sleep(100)
        turn = TurnRuntime(flow_of(text), object())
        turn.start()
        await asyncio.sleep(0.4)
        assert turn.state == "waiting"
        await asyncio.sleep(0.2)
        return turn.state

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(main()) == "over"


def test_time_goes_on_when_a_runtime_moves_into_a_loop_with_another_clock() -> None:
    """Entries and deadlines from before keep their distance; the journal's time never jumps."""
    turn = runtime()
    turn.post("tick")
    turn.post("ring")

    async def main() -> None:
        turn.start()
        await asyncio.sleep(1.5)
        turn.post("tick")
        await asyncio.sleep(1)
        await turn.aclose()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())
    times = [entry.t for entry in turn.journal]
    assert times == sorted(times)
    assert 0 <= times[0] < times[1] < 1
    assert times[2] - times[1] == pytest.approx(1.5, abs=0.2)
    assert [trigger for _, trigger, _ in fired(turn)] == ["patience"]
    assert times[3] - times[1] == pytest.approx(2.0, abs=1e-5)


async def test_a_clock_that_jumps_forward_fires_each_timer_once(virtual_time: VirtualClock) -> None:
    """After a suspended machine wakes, what is overdue fires in order, once, and then rests."""
    turn = runtime()
    turn.post("ring")
    turn.post("user_started")
    virtual_time.now += 3000
    await asyncio.sleep(0.1)
    assert [(trigger, taken) for _, trigger, taken in fired(turn)] == [
        ("patience", False),
        ("nag", True),
        ("limit", True),
    ]
    await turn.aclose()


async def test_a_clock_that_jumps_backward_delays_and_never_repeats(
    virtual_time: VirtualClock,
) -> None:
    """A timer keeps its deadline; nothing fires early, twice, or never."""
    await asyncio.sleep(100)
    turn = runtime()
    turn.post("ring")
    virtual_time.now -= 50
    turn.post("tick")
    await asyncio.sleep(60)
    assert fired(turn) == [(2.0, "patience", True)]
    turn.post("ring")
    await asyncio.sleep(3)
    assert len(fired(turn)) == 2
    await turn.aclose()


async def test_the_wall_clock_does_not_matter(
    virtual_time: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Setting the time of day moves neither timers nor the journal's seconds."""
    turn = runtime()
    turn.post("ring")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    await asyncio.sleep(5)
    assert fired(turn) == [(2.0, "patience", True)]
    await turn.aclose()


async def test_the_cause_of_a_timer_is_time(virtual_time: VirtualClock) -> None:
    """Not the effect whose task had armed it."""

    async def fetch(event: object) -> None:
        turn.post("barge_in")

    turn = runtime(Host(fetch=fetch))
    turn.machine.restore("talking")
    turn.post("tick")
    await asyncio.sleep(5)
    causes = {entry.trigger: entry.cause for entry in turn.journal}
    assert causes == {"tick": None, "barge_in": 1, "patience": None}
    await turn.aclose()


def test_a_runtime_without_a_loop_takes_the_first_that_runs() -> None:
    """It need not be started where its first timer is armed in a loop."""
    turn = runtime()

    async def main() -> str:
        turn.post("ring")
        await asyncio.sleep(2.5)
        return turn.state

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(main()) == "idle"
    ring, patience = turn.journal
    assert patience.t - ring.t == pytest.approx(2.0)


def test_deadlines_that_have_moved_on_keep_their_distance_in_another_loop() -> None:
    """Those of a state that has been held for a while, too: what was waited counts."""
    turn = runtime()

    async def first() -> None:
        turn.start()
        await asyncio.sleep(50)
        turn.post("ring")
        turn.post("user_started")
        await asyncio.sleep(9)

    async def then() -> None:
        turn.start()
        await asyncio.sleep(0.9)
        assert turn.state == "busy"
        await asyncio.sleep(0.2)

    for part in (first(), then()):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(part)
    assert turn.state == "idle"
    assert fired(turn)[-1][1:] == ("limit", True)


async def test_a_state_without_timers_forgets_those_of_the_one_before(
    virtual_time: VirtualClock,
) -> None:
    """Also when they have been looked at, and when the loop's timer is still to come."""
    turn = runtime()
    turn.post("ring")
    turn.post("user_started")
    await asyncio.sleep(3.5)
    turn.post("user_stopped")
    assert turn.state == "idle"
    await asyncio.sleep(20)
    assert [trigger for _, trigger, _ in fired(turn)] == ["patience", "nag"]
    turn.post("ring")
    await asyncio.sleep(2.5)
    assert fired(turn)[-1] == (25.5, "patience", True)
    await turn.aclose()


async def test_entering_a_state_without_timers_stops_pending_ones(
    virtual_time: VirtualClock,
) -> None:
    """Others of the same moment belong to the state that was left."""
    turn = runtime(timers={"patience": 4.0, "limit": 4.0, "nag": 4.0})
    turn.post("ring")
    await asyncio.sleep(10)
    assert fired(turn) == [(4.0, "patience", True)]
    assert handles() == 0
    await turn.aclose()


def test_what_all_runtimes_share_is_made_once() -> None:
    """The plan of a flow's timers is one object; asyncio's clock is read without its wrapper."""
    program = runtime().machine.program
    assert plan_of(program, {}) is plan_of(program, {})
    assert plan_of(program, {"nag": 1.0})["busy"][0] == 1.0
    loop = asyncio.new_event_loop()
    assert clock_of(loop) is time.monotonic
    loop.close()
