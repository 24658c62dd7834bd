"""Plays the paths of a flow on the event pump, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from turnfsm.fsm import Flow, Taken, Verdict, load_flow
from turnfsm.fsm.cover import CoveringPath, PathStep
from turnfsm.runtime.turn import TurnRuntime

from .clock import run

__all__ = ["play_path"]

FAR = 80_000.0


def play_path(path: CoveringPath, flow: Flow | str) -> tuple[str, ...]:
    """Play a path on the event pump: post its triggers and let its timers fire.

    Args:
        path: A path of `turnfsm.testing.session_paths` or of `turnfsm paths`.
        flow: The flow, or its name or path.

    Returns:
        One sentence for each difference from the path; empty if the pump followed it.

    Example:
        >>> from turnfsm.testing import play_path, session_paths
        >>> play_path(session_paths("push_to_talk").paths[0], "push_to_talk")
        ()
    """
    player = _Player(load_flow(flow) if isinstance(flow, str) else flow, path)
    run(player.play(), limit=float("inf"))
    return tuple(player.problems)


class _Host:
    """Records every action, and answers as the path says."""

    def __init__(self, flow: Flow) -> None:
        self.answers = dict.fromkeys(flow.host_facts, False)
        self.done: list[str] = []
        for action in flow.actions:
            setattr(self, action, self._action(action))
        for fact in flow.host_facts:
            setattr(self, fact, self._fact(fact))

    def _action(self, name: str) -> Callable[[object], None]:
        return lambda _event: self.done.append(name)

    def _fact(self, name: str) -> Callable[[], bool]:
        return lambda: self.answers[name]


class _Player:
    def __init__(self, flow: Flow, path: CoveringPath) -> None:
        self.flow, self.path, self.host = flow, path, _Host(flow)
        self.problems: list[str] = []
        self.seen: list[Verdict] = []
        # Timers that no step of the path waits for are longer than all others.
        self.seconds: Mapping[str, float] = dict.fromkeys(flow.timers, FAR) | dict(
            path.timers or {}
        )

    async def play(self) -> None:
        runtime = TurnRuntime(self.flow, self.host, timers=self.seconds)
        runtime.observe(lambda _seq, verdict: self.seen.append(verdict))
        runtime.start()
        for number, step in enumerate(self.path.steps, 1):
            self.seen.clear()
            self.host.done.clear()
            self.host.answers |= step.host_facts
            await self._happen(runtime, step)
            self._compare(runtime, step, f"step {number}, {step.trigger}")
        await runtime.aclose()

    async def _happen(self, runtime: TurnRuntime, step: PathStep) -> None:
        if step.timer:  # the state was entered just now, as no time passes between steps
            await asyncio.sleep(self.seconds[step.trigger])
        else:
            runtime.post(step.trigger, step.of)

    def _compare(self, runtime: TurnRuntime, step: PathStep, where: str) -> None:
        facts = tuple(f for f in runtime.facts if f not in self.flow.host_facts)
        verdicts = tuple(_word(v) for v in self.seen if v.trigger == step.trigger)
        pairs: dict[str, tuple[object, object]] = {
            "verdict": (verdicts, (step.verdict,)),
            "state": (runtime.state, step.state),
            "facts": (facts, step.facts),
            "actions": (tuple(self.host.done), step.actions),
        }
        for what, (got, wanted) in pairs.items():
            if got != wanted:
                self.problems.append(f"{where}: {what} {got!r}, not {wanted!r}")


def _word(verdict: Verdict) -> str:
    return "taken" if isinstance(verdict, Taken) else verdict.reason
