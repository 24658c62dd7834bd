"""A host: a framework, with and without turnfsm, and the scenarios of its failures."""

from __future__ import annotations

from typing import Literal

import attrs

from .scenario import Scenario

__all__ = ["Contender", "FailureClass", "Host", "HostName", "load_host"]

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
