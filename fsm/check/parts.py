"""The parts of the checker's model: moves, tests, rules, the world, and their bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import attrs

from turnfsm.fsm.machine import Program, Taken

__all__ = [
    "Alarm",
    "Arrival",
    "Bits",
    "Change",
    "Edge",
    "Judge",
    "Move",
    "Rule",
    "Test",
    "World",
    "subsets",
]

Arrival: TypeAlias = Literal["", "fresh", "stale"]


@attrs.frozen
class Move:
    """One possible move in a state.

    Attributes:
        arrives: ``fresh`` or ``stale`` for a trigger that belongs to a scope, else empty.
        taken: The machine's verdict; None if it refuses.
        host_facts: The bits of the host facts, as the host answered.
        read: The bits of the host facts that mattered.
    """

    source: str
    trigger: str
    arrives: Arrival
    taken: Taken | None
    host_facts: int = 0
    read: int = 0

    @property
    def dest(self) -> str:
        return self.taken.dest if self.taken else self.source

    @property
    def entered(self) -> bool:
        """That state is entered or re-entered, so its timers restart."""
        return self.taken is not None and self.taken.entered

    @property
    def restarts(self) -> tuple[str, ...]:
        """The timers that restart although the state is not entered."""
        return self.taken.restarts if self.taken else ()

    @property
    def keeps(self) -> tuple[str, ...]:
        """The timers that continue although a state is entered."""
        return self.taken.keeps if self.taken else ()

    @property
    def actions(self) -> tuple[str, ...]:
        return self.taken.actions if self.taken else ()


@attrs.frozen
class Test:
    """A conjunction over a configuration: ``bits & mask == want``."""

    mask: int = 0
    want: int = 0

    __test__ = False  # pytest collects classes by this name


Judge: TypeAlias = Callable[[Move], "tuple[Test, Test] | None"]
"""The configurations before and after a move that make the move wrong."""


@attrs.frozen(eq=False)
class Rule:
    """One way to break a property: by a move, or by being in a state.

    Attributes:
        property: The property's name.
        broken: What is wrong then, one sentence without a full stop.
        judge: For a rule about moves.
        state, test: For a rule about configurations; no state means every state.
        reads: The bits that it reads.
        builtin: The property is one of the ten.
        remedy: What to write, unless a trigger of an added state is the cause.
    """

    property: str
    broken: str
    judge: Judge | None = None
    state: str | None = None
    test: Test = Test()
    reads: int = 0
    builtin: bool = False
    remedy: str = ""


@attrs.frozen
class Change:
    """The ghosts that a trigger or an action clears and sets, and those that suspend it."""

    clears: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    suspended: tuple[str, ...] = ()


@attrs.frozen
class World:
    """What really happens, independent of the facts of the flow.

    Attributes:
        ghosts: The names of the checker's own facts, in the order of their bits.
        events, actions: For each trigger and action how it changes the ghosts.
        belongs: For each trigger the scope that it belongs to, whether or not the flow says so.
        begun: For each scope the ghost that is true while it is current.
    """

    ghosts: tuple[str, ...] = ()
    events: Mapping[str, Change] = attrs.field(factory=dict)
    actions: Mapping[str, Change] = attrs.field(factory=dict)
    belongs: Mapping[str, str] = attrs.field(factory=dict)
    begun: Mapping[str, str] = attrs.field(factory=dict)


Alarm: TypeAlias = tuple[int, int, int, int, Rule]  # before: mask, want; after: mask, want
Edge: TypeAlias = tuple[int, int, tuple[Alarm, ...], Move]  # bits kept, bits set


class Bits:
    """Maps names of facts, ghosts and scopes to bits. The bits of facts are the program's."""

    def __init__(self, program: Program, world: World) -> None:
        self.facts = program.bits
        at = len(self.facts)
        self.ghosts = {name: 1 << at + i for i, name in enumerate(world.ghosts)}
        at += len(world.ghosts)
        scopes = [*dict.fromkeys([*program.fences.values(), *world.belongs.values()])]
        self.scopes = {name: 1 << at + i for i, name in enumerate(scopes)}
        self.shift = at + len(scopes)
        self.host_facts = program.host_mask

    def test(self, when: Iterable[str] = (), unless: Iterable[str] = ()) -> Test:
        """A test over facts; a name that begins with ``~`` is a ghost."""
        want = self.mask(when)
        return Test(want | self.mask(unless), want)

    def mask(self, names: Iterable[str]) -> int:
        """The bits of these facts and, with ``~`` before them, ghosts."""
        mask = 0
        for name in names:
            mask |= self.ghosts[name[1:]] if name.startswith("~") else self.facts[name]
        return mask


def subsets(mask: int) -> Iterator[int]:
    """Every value that these bits can take, none first."""
    value = 0
    while True:
        yield value
        value = (value - mask) & mask
        if not value:
            return
