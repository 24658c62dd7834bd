"""The same scenarios on a framework alone and governed, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, Self

import attrs

from turnfsm.runtime.testing.heard import Heard

from .host import Host
from .scenario import Outcome, Scenario

__all__ = ["Compared", "Side", "compare"]

Verdict = Literal["as described", "wrong", "stock went right", "stock went wrong"]


@attrs.frozen
class Side:
    """One session in one scenario: what the user heard, and what was wrong."""

    heard: tuple[Heard, ...]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario, outcome: Outcome) -> Self:
        """What a scenario says of a conversation."""
        left = [f"the task {name} outlives the session" for name in outcome.orphans]
        return cls(tuple(outcome.heard), (*scenario.verdict(outcome), *left))

    @property
    def right(self) -> bool:
        """Nothing was wrong."""
        return not self.problems


@attrs.frozen
class Compared:
    """A scenario on stock and governed."""

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


def compare(host: Host, scenarios: Iterable[Scenario]) -> Iterator[Compared]:
    """Play each scenario on both, in virtual time."""
    for scenario in scenarios:
        stock, ours = (
            Side.of(scenario, scenario.play(one.session)) for one in (host.stock, host.ours)
        )
        yield Compared(scenario, stock, ours)
