"""A host: a framework, with and without turnfsm, whose scenarios are played on both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, Self

import attrs

from turnfsm.runtime.testing.heard import Heard

from .scenario import Outcome, Scenario

__all__ = [
    "Compared",
    "Contender",
    "FailureClass",
    "Host",
    "HostName",
    "Side",
    "compare",
    "load_host",
]


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


HostName = Literal["livekit", "pipecat"]


@attrs.frozen
class FailureClass:
    """A class of failures, and what prevents it here."""

    letter: str
    title: str
    is_: str
    cure: str


@attrs.frozen
class Contender:
    """One of the two sides that play a scenario.

    Attributes:
        name: Its name in tables.
        session: The argument of `Scenario.build`.
    """

    name: str
    session: object


@attrs.frozen
class Host:
    """A framework on which scenarios are played twice.

    Attributes:
        framework: The name of its package.
        version: The version that is installed.
        stock: The framework alone.
        ours: The same, governed by a flow.
        classes: The classes of failure, in the order of their letters.
        scenarios: The failures; each has problems on stock.
        controls: Conversations that go right on stock.
        intro: The beginning of the page about them; `{version}` is the version.
    """

    framework: str
    version: str
    stock: Contender
    ours: Contender
    classes: tuple[FailureClass, ...]
    scenarios: tuple[Scenario, ...]
    controls: tuple[Scenario, ...]
    intro: str

    @property
    def all(self) -> tuple[Scenario, ...]:
        """Failures and controls."""
        return (*self.scenarios, *self.controls)

    def scenario(self, id: str) -> Scenario:
        """The scenario with this id; KeyError names the known ones."""
        known = {s.id: s for s in self.all}
        if id not in known:
            raise KeyError(f"no scenario {id!r}; there are {', '.join(known)}")
        return known[id]


def load_host(name: HostName) -> Host:
    """The host of this name.

    Raises:
        ModuleNotFoundError: Its framework is not installed.
    """
    if name == "pipecat":
        from .pipecat import HOST as ON_PIPECAT

        return ON_PIPECAT
    from .livekit import HOST as ON_LIVEKIT

    return ON_LIVEKIT
