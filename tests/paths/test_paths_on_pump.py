"""The paths of the shipped flows on the real runtime, in virtual time: model and pump agree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from fsm import Flow, Verdict, load_flow, shipped_flows
from fsm.paths import PathStep, Scenario, cover
from runtime import TurnRuntime
from runtime.testing import VirtualClock

FLOWS = {name: load_flow(name) for name in shipped_flows()}


class Host:
    """Carries every action out by writing it down; answers as the path says."""

    def __init__(self, flow: Flow) -> None:
        self.answers: dict[str, bool] = dict.fromkeys(flow.given, False)
        self.done: list[str] = []
        for action in flow.actions:
            setattr(self, action, self._action(action))
        for fact in flow.given:
            setattr(self, fact, self._fact(fact))

    def _action(self, name: str) -> Callable[[object], None]:
        return lambda _event: self.done.append(name)

    def _fact(self, name: str) -> Callable[[], bool]:
        return lambda: self.answers[name]


class Runner:
    """One path on one runtime."""

    def __init__(self, flow: Flow, scenario: Scenario) -> None:
        assert scenario.timers is not None, scenario.name
        self.flow, self.host = flow, Host(flow)
        # A timer that no step of the path waits for is longer than all that it waits for.
        self.seconds: Mapping[str, float] = {
            **dict.fromkeys(flow.timers, 80_000.0),
            **scenario.timers,
        }
        self.runtime = TurnRuntime(flow, self.host, timers=self.seconds)
        self.seen: list[Verdict] = []
        self.runtime.observe(lambda _seq, verdict: self.seen.append(verdict))

    async def run(self, steps: tuple[PathStep, ...]) -> None:
        self.runtime.start()
        for step in steps:
            self.seen.clear()
            self.host.done.clear()
            self.host.answers |= step.given
            await self._happen(step)
            self._compare(step)
        await self.runtime.aclose()

    async def _happen(self, step: PathStep) -> None:
        if not step.timer:
            self.runtime.post(step.trigger, step.of)
            return
        # The state was entered at this very moment: no time passes between the steps of a path.
        await asyncio.sleep(self.seconds[step.trigger])

    def _compare(self, step: PathStep) -> None:
        (verdict,) = [v for v in self.seen if v.trigger == step.trigger]
        assert (verdict.reason if not verdict else "taken") == step.verdict, (step, verdict)
        assert self.runtime.state == step.state, step
        given = {*self.flow.given}
        assert tuple(f for f in self.runtime.facts if f not in given) == step.facts, step
        assert self.host.done == list(step.actions), step


CASES = [
    pytest.param(flow, scenario, id=f"{name}-{scenario.name.replace(' ', '-')}")
    for name, flow in FLOWS.items()
    for scenario in cover(flow).scenarios
]


@pytest.mark.parametrize(("flow", "scenario"), CASES)
async def test_the_runtime_follows_the_path(
    virtual_time: VirtualClock, flow: Flow, scenario: Scenario
) -> None:
    """Each trigger and timer gets the verdict, state, facts and actions that the path foretells."""
    await Runner(flow, scenario).run(scenario.steps)
