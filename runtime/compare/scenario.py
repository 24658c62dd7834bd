"""An acceptance scenario: a stage to play, and a function that judges the outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from livekit.agents import AgentSession

from turnfsm.runtime.testing.livekit import Outcome, Stage

__all__ = ["ISSUES", "JS_ISSUES", "PULLS", "Scenario"]

ISSUES = "https://github.com/livekit/agents/issues/"
PULLS = "https://github.com/livekit/agents/pull/"
JS_ISSUES = "https://github.com/livekit/agents-js/issues/"


@attrs.frozen
class Scenario:
    """A conversation with a known right course, playable on any session class."""

    id: str
    title: str
    seconds: float
    build: Callable[[type[AgentSession[Any]]], Stage]
    verdict: Callable[[Outcome], list[str]]
    """The problems, said as what the user heard and when; empty when all went right."""
    links: tuple[str, ...] = ()
    """Issues and pull requests that report the failure."""
    failure: str = ""
    """The letter of its class in `CLASSES`."""
    control: bool = False
    """Goes right on a stock session: shows that the kit is sound."""
    wrong: str = ""
    """What the caller or the application gets on a stock session that is wrong."""

    def play(self, session_class: type[AgentSession[Any]]) -> Outcome:
        """Play it in virtual time, on a loop of its own."""
        return self.build(session_class).run(self.seconds)

    def problems(self, session_class: type[AgentSession[Any]]) -> list[str]:
        """Play it and judge it."""
        return self.verdict(self.play(session_class))

    def check(self, session_class: type[AgentSession[Any]]) -> Outcome:
        """Play it; AssertionError with the problems and the timeline if it went wrong."""
        outcome = self.play(session_class)
        if found := self.verdict(outcome):
            said = "\n".join(f"- {problem}" for problem in found)
            raise AssertionError(f"{self.id}, {self.title}:\n{said}\n\n{outcome.timeline()}")
        return outcome
