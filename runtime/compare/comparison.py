"""The same scenarios on two session classes, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import attrs
from livekit.agents import AgentSession

from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.testing.livekit import Heard, Outcome

from .scenario import Scenario

__all__ = ["Compared", "Side", "compare"]

Verdict = Literal["as described", "wrong", "stock went right", "stock went wrong"]


@attrs.frozen
class Side:
    """One session class in one scenario: what the user heard, and what was wrong."""

    heard: tuple[Heard, ...]
    problems: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Nothing was wrong."""
        return not self.problems


@attrs.frozen
class Compared:
    """A scenario on stock `AgentSession` and on `TurnSession`."""

    scenario: Scenario
    stock: Side
    ours: Side

    @property
    def verdict(self) -> Verdict:
        """`wrong` is about ours; stock may go wrong in a control, or no longer in a failure."""
        if not self.ours.right:
            return "wrong"
        if self.stock.right == self.scenario.control:
            return "as described"
        return "stock went right" if self.stock.right else "stock went wrong"


def compare(scenarios: Iterable[Scenario]) -> Iterator[Compared]:
    """Play each scenario on both, in virtual time."""
    for scenario in scenarios:
        stock = _play(scenario, AgentSession)
        yield Compared(scenario, stock, _play(scenario, TurnSession))


def _play(scenario: Scenario, session_class: type[AgentSession[Any]]) -> Side:
    outcome = scenario.play(session_class)
    problems = [*scenario.verdict(outcome), *_left(outcome)]
    return Side(tuple(outcome.heard), tuple(problems))


def _left(outcome: Outcome) -> list[str]:
    return [f"the task {name} outlives the session" for name in outcome.orphans]
