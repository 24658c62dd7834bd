"""A timer that no guard lets through is due; a transition can start single timers again."""

from __future__ import annotations

import asyncio

from calls import flow_of

from turnfsm import TurnRuntime
from turnfsm.fsm.journal import replay
from turnfsm.runtime.testing.clock import VirtualClock

ROOM = """
flow: room
initial: waiting
facts:
  session:
    noisy: {set_by: sound, cleared_by: silence}
    asked: {set_by: question}
  host:
    closed: It is late.
events:
  sound: A sound begins.
  silence: It has ended.
  question: Somebody asks.
  token: The model is at work.
timers: {wait: 0.5, look: 2.0, limit: 4.0}
actions: {answer: Answer., nudge: Ask again.}
states:
  waiting:
    on:
      silence: {unless: asked, restarts: wait}
      token: {restarts: [limit]}
    after:
      wait: {dest: over, unless: [noisy, closed], actions: answer}
      look: {conditions: noisy, actions: nudge}
      limit: {dest: over, actions: answer}
  over: {final: true}
"""


class Room:
    """Carries the actions out, and says whether it is closed."""

    def __init__(self) -> None:
        self.shut, self.done = False, list[str]()

    def closed(self) -> bool:
        return self.shut

    def answer(self, event: object) -> None:
        self.done.append("answer")

    def nudge(self, event: object) -> None:
        self.done.append("nudge")


def _timers(turn: TurnRuntime) -> list[tuple[float, str, bool]]:
    names = turn.flow.timers
    return [(round(e.t, 6), e.trigger, bool(e.verdict)) for e in turn.journal if e.trigger in names]


def _room(host: Room | None = None) -> TurnRuntime:
    turn = TurnRuntime(flow_of(ROOM), host or Room())
    turn.start()
    return turn


async def test_a_timer_that_is_due_is_taken_by_the_trigger_that_lets_it(
    virtual_time: VirtualClock,
) -> None:
    """Not when its seconds have passed once more: silences that are shorter would never do."""
    turn = _room()
    turn.post("sound")
    await asyncio.sleep(0.6)
    turn.post("question")  # the next silence starts no wait
    assert turn.state == "waiting"
    await asyncio.sleep(0.1)
    turn.post("silence")
    assert turn.state == "over"
    assert _timers(turn) == [(0.5, "wait", False), (0.7, "wait", True)]
    assert replay(turn.journal.read(), turn.flow) is None
    await turn.aclose()


async def test_a_timer_that_is_due_is_tried_again_when_the_host_may_answer_differently(
    virtual_time: VirtualClock,
) -> None:
    """No trigger says that a host fact has changed."""
    host = Room()
    host.shut = True
    turn = _room(host)
    await asyncio.sleep(0.8)
    host.shut = False
    await asyncio.sleep(0.3)
    assert _timers(turn) == [(0.5, "wait", False), (1.0, "wait", True)]
    await turn.aclose()


async def test_a_timer_that_stays_is_due_once(virtual_time: VirtualClock) -> None:
    """Taken without `dest`, it starts again, and its seconds pass before it is taken again."""
    host = Room()
    host.shut = True
    turn = _room(host)
    await asyncio.sleep(2.5)
    turn.post("sound")
    assert host.done == ["nudge"]
    turn.post("silence")
    turn.post("sound")
    assert host.done == ["nudge"]
    await asyncio.sleep(1.4)
    assert host.done == ["nudge"]
    await turn.aclose()


async def test_a_transition_restarts_the_timers_that_it_names(virtual_time: VirtualClock) -> None:
    """The others of the state run on, and the state is not entered."""
    turn = _room()
    turn.post("sound")
    await asyncio.sleep(0.4)
    assert turn.post("silence").restarts == ("wait",)
    await asyncio.sleep(0.4)
    assert turn.state == "waiting"
    await asyncio.sleep(0.2)
    assert _timers(turn) == [(0.9, "wait", True)]
    await turn.aclose()


async def test_a_restart_forgets_that_a_timer_was_due(virtual_time: VirtualClock) -> None:
    """The silence after a long sound lasts for the whole wait."""
    turn = _room()
    turn.post("sound")
    await asyncio.sleep(0.8)
    turn.post("silence")
    await asyncio.sleep(1.0)
    assert _timers(turn) == [(0.5, "wait", False), (1.3, "wait", True)]
    await turn.aclose()


async def test_a_timer_that_is_restarted_does_not_delay_another(
    virtual_time: VirtualClock,
) -> None:
    """`limit` counts from the last token, `wait` from the beginning."""
    host = Room()
    turn = _room(host)
    turn.post("sound")
    for _ in range(10):
        await asyncio.sleep(0.5)
        turn.post("token")
    assert turn.state == "waiting"
    await asyncio.sleep(4.1)
    assert _timers(turn)[-1] == (9.0, "limit", True)
    assert host.done[-1] == "answer"
    await turn.aclose()


async def test_what_a_timer_causes_is_not_the_effect_of_the_task_that_posts(
    virtual_time: VirtualClock,
) -> None:
    """A timer that is due fires in the stack of whoever posts; the journal names no cause."""
    turn = _room()
    turn.post("sound")
    await asyncio.sleep(0.6)
    turn.post("question")
    turn.post("silence")
    last = list(turn.journal)[-1]
    assert (last.trigger, last.cause) == ("wait", None)
    await turn.aclose()
