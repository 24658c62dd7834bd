"""Acceptance scenarios, and the hosts on which they are played: a framework alone and governed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, Self

import attrs

from turnfsm.runtime.testing.clock import VirtualLoop
from turnfsm.runtime.testing.heard import Heard

__all__ = [
    "Compared",
    "Contender",
    "FailureClass",
    "Host",
    "Outcome",
    "Scenario",
    "Side",
    "Stage",
    "compare",
]


@attrs.frozen
class Side:
    """One session in one scenario: what the user heard, and what was wrong."""

    heard: tuple[Heard, ...]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario, outcome: Outcome) -> Self:
        """Judge a conversation."""
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
    def verdict(self) -> Literal["as described", "wrong", "stock went right", "stock went wrong"]:
        """`wrong` is about ours. Stock went wrong in a control, or right in a known failure."""
        if not self.ours.right:
            return "wrong"
        if self.stock.right == self.scenario.control:
            return "as described"
        return "stock went right" if self.stock.right else "stock went wrong"


def compare(host: Host, scenarios: Iterable[Scenario]) -> Iterator[Compared]:
    """Play each scenario on both contenders, in virtual time."""
    for scenario in scenarios:
        stock, ours = (
            Side.of(scenario, scenario.play(one.session)) for one in (host.stock, host.ours)
        )
        yield Compared(scenario, stock, ours)


@attrs.frozen
class FailureClass:
    """A class of failures, and how turnfsm prevents it."""

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
        all: The scenarios: failures, then controls.
        intro: The beginning of the page about them; `{version}` is the version.
    """

    framework: str
    version: str
    stock: Contender
    ours: Contender
    classes: tuple[FailureClass, ...]
    all: tuple[Scenario, ...]
    intro: str

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The failures; each has problems on stock."""
        return tuple(scenario for scenario in self.all if not scenario.control)

    @property
    def controls(self) -> tuple[Scenario, ...]:
        """Conversations that go right on stock."""
        return tuple(scenario for scenario in self.all if scenario.control)

    def scenario(self, id: str) -> Scenario:
        """The scenario with this id; KeyError names the known ones."""
        known = {s.id: s for s in self.all}
        if id not in known:
            raise KeyError(f"no scenario {id!r}; there are {', '.join(known)}")
        return known[id]


class Outcome(Protocol):
    """The observations of a conversation."""

    @property
    def heard(self) -> Sequence[Heard]:
        """What the user heard."""

    @property
    def orphans(self) -> Collection[str]:
        """The names of tasks that outlived the session."""

    def timeline(self) -> str:
        """Everything that happened, line by line."""


class Stage(Protocol):
    """A conversation that can be played once."""

    def run(self, seconds: float, *, make_loop: Callable[..., VirtualLoop] = ...) -> Outcome:
        """Play it for a number of virtual seconds, on its own loop."""


Build = Callable[[Any], Stage]
"""Takes what runs the conversation, such as `AgentSession`: see `Contender.session`."""

Verdict = Callable[[Any], list[str]]
"""The problems, described by what the user heard and when; empty if there are none."""


@attrs.frozen
class Scenario:
    """A conversation with a known correct course, playable on any session of its host."""

    id: str
    title: str
    seconds: float
    build: Build
    verdict: Verdict
    links: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    """Issues and pull requests that report the failure."""
    failure: str = ""
    """The letter of its class in the host's `classes`."""
    wrong: str = ""
    """What goes wrong for the caller or the application on a stock session."""

    @property
    def control(self) -> bool:
        """It goes right on a stock session, which shows that the test kit is sound."""
        return not self.failure

    def play(
        self, session: object, *, make_loop: Callable[..., VirtualLoop] = VirtualLoop
    ) -> Outcome:
        """Play it in virtual time, on a loop of its own."""
        return self.build(session).run(self.seconds, make_loop=make_loop)

    def problems(self, session: object) -> list[str]:
        """Play it and judge it."""
        return self.verdict(self.play(session))

    def check(self, session: object) -> Outcome:
        """Play it; AssertionError with the problems and the timeline if it went wrong."""
        outcome = self.play(session)
        if found := self.verdict(outcome):
            said = "\n".join(f"- {problem}" for problem in found)
            raise AssertionError(f"{self.id}, {self.title}:\n{said}\n\n{outcome.timeline()}")
        return outcome
