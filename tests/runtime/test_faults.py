"""Effects of the shipped flows that raise, hang or are cancelled, at every await point."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from typing import Any

import attrs
import pytest

from turnfsm import Event, TurnRuntime
from turnfsm.fsm import Flow, Machine, load_flow
from turnfsm.fsm.journal import replay
from turnfsm.runtime.effects import CURRENT
from turnfsm.runtime.testing.clock import VirtualClock

AWAITS = 3
FLOWS = {name: load_flow(name) for name in ("turn", "session")}
ACTIONS = [(name, action) for name, flow in FLOWS.items() for action in flow.actions]


class Boom(Exception):
    """What a faulty effect raises."""


@attrs.define
class Fault:
    """One action goes wrong at one point: before its first await (0), or at a later one."""

    action: str = ""
    way: str = ""
    at: int = 0


class Scripted:
    """A host whose effects are coroutines with three await points; one of them is faulty."""

    def __init__(self, flow: Flow, fault: Fault) -> None:
        self.fault = fault
        self.begun: dict[str, int] = dict.fromkeys(flow.actions, 0)
        self.answers: Mapping[str, bool] = {}
        for action in flow.actions:
            setattr(self, action, self._effect(action))
        for fact in flow.host_facts:
            setattr(self, fact, lambda fact=fact: self.answers.get(fact, True))

    def _effect(self, action: str) -> Callable[[Event], Any]:
        async def effect(event: Event) -> None:
            for point in range(AWAITS):
                self._go_wrong(action, point)
                if (action, self.fault.way, point) == (self.fault.action, "hangs", self.fault.at):
                    await asyncio.get_running_loop().create_future()
                await asyncio.sleep(0.01)

        def start(event: Event) -> Any:
            self.begun[action] += 1
            if self.fault.way == "raises at once" and action == self.fault.action:
                raise Boom
            return effect(event)

        return start

    def _go_wrong(self, action: str, point: int) -> None:
        if action != self.fault.action or point != self.fault.at:
            return
        if self.fault.way == "raises":
            raise Boom
        if self.fault.way == "is cancelled":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()  # by somebody else: it takes effect at this very await


@attrs.frozen
class Step:
    """A trigger, the host's answers, and what the machine says to it."""

    trigger: str
    host_facts: Mapping[str, bool]
    verdict: str
    state: str


def _paths(flow: Flow, action: str) -> Iterator[list[Step]]:
    """Random paths of the machine, each up to a step that carries out the action."""
    for seed in count():
        draws, machine, path = random.Random(seed), Machine(flow), list[Step]()
        for _ in range(60):
            trigger = draws.choice([*flow.triggers, *machine.timers])
            answers = {fact: draws.random() < 0.5 for fact in flow.host_facts}
            machine.set_host_facts(answers)
            verdict = machine.step(trigger)
            if verdict or draws.random() < 0.05:  # few refusals are enough
                path.append(Step(trigger, answers, str(verdict), machine.state))
            if verdict and action in verdict.actions:
                yield path
                break


async def _walk(flow: Flow, fault: Fault, path: list[Step]) -> Any:
    """What was decided, how often each effect began, and what was noted; nothing is left."""
    host = Scripted(flow, fault)
    turn = TurnRuntime(flow, host, timers=dict.fromkeys(flow.timers, 80_000.0))
    turn.start()
    for step in path:
        host.answers = step.host_facts
        assert str(turn.post(step.trigger, CURRENT)) == step.verdict
        await asyncio.sleep(0.015)  # the effects come past one await, or two
    assert turn.state == path[-1].state
    assert replay(turn.journal.read(), flow) is None
    noted = [note.data for note in turn.journal.notes("effect_failed")]
    await asyncio.sleep(1)
    await turn.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return [(round(entry.t, 3), str(entry.verdict)) for entry in turn.journal], host.begun, noted


MOST = 3  # paths for an action; each is walked with every fault


@pytest.mark.one_in(7)
@pytest.mark.parametrize("path", range(MOST))
@pytest.mark.parametrize(("name", "action"), ACTIONS)
async def test_a_faulty_effect_changes_no_decision(
    name: str, action: str, path: int, virtual_time: VirtualClock
) -> None:
    """Wherever an effect raises, hangs or is cancelled, every verdict is what it was without the
    fault, every other effect runs, the fault is noted, the journal replays, no task is left."""
    flow = FLOWS[name]
    faults = [Fault(action, "raises at once")]
    faults += [
        Fault(action, way, at)
        for way in ("raises", "hangs", "is cancelled")
        for at in range(AWAITS)
    ]
    walked = next(islice(_paths(flow, action), path, None))
    sound, begun, none = await _walk(flow, Fault(), walked)
    assert (none, begun[action] > 0) == ([], True)
    for fault in faults:
        decided, tried, noted = await _walk(flow, fault, walked)
        assert (decided, tried) == (sound, begun), fault
        wrong = set() if fault.way == "hangs" else {action}
        assert {data["action"] for data in noted} <= wrong, fault
        assert all(data["error"].startswith(SAID[fault.way]) for data in noted), fault
        assert noted or fault.at or not wrong, "what goes wrong before the first await is told"


SAID = {"raises at once": "Boom", "raises": "Boom", "is cancelled": "CancelledError"}
