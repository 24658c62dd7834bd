"""A host: a framework, what runs a conversation on it, and the scenarios of its failures."""

from __future__ import annotations

from typing import Literal

import attrs

from .scenario import Scenario

__all__ = ["Contender", "FailureClass", "Host", "HostName", "load_host"]

HostName = Literal["livekit", "pipecat"]


@attrs.frozen
class FailureClass:
    """What a group of failures has in common, and what makes it impossible here."""

    letter: str
    title: str
    is_: str
    cure: str


@attrs.frozen
class Contender:
    """One of the two that play a scenario.

    Attributes:
        name: How tables call it.
        session: What `Scenario.build` gets.
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
        intro: How a page about them begins; `{version}` is the version.
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
