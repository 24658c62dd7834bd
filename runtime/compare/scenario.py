"""An acceptance scenario: a stage to play, and a function that judges the outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import attrs

from turnfsm.runtime.testing.clock import VirtualLoop
from turnfsm.runtime.testing.heard import Heard

__all__ = ["Outcome", "Scenario", "Stage"]


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


@attrs.frozen
class Scenario:
    """A conversation with a known correct course, playable on any session of its host."""

    id: str
    title: str
    seconds: float
    build: Callable[[Any], Stage]
    """Takes what runs the conversation, such as `AgentSession`: see `Contender.session`."""
    verdict: Callable[[Any], list[str]]
    """The problems, said as what the user heard and when; empty when all went right."""
    links: tuple[str, ...] = ()
    """Issues and pull requests that report the failure."""
    failure: str = ""
    """The letter of its class in the host's `classes`."""
    control: bool = False
    """It goes right on a stock session, which shows that the kit is sound."""
    wrong: str = ""
    """What goes wrong for the caller or the application on a stock session."""

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
