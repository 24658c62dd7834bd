"""Helpers to write the rules of the ten properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import attrs

from turnfsm.fsm.flow import Flow

from .parts import Bits, Judge, Move, Rule, Test

__all__ = ["Maker", "Where", "anywhere"]

Where: TypeAlias = Callable[[Move], bool]


def anywhere(move: Move) -> bool:
    """Every move."""
    return True


@attrs.frozen
class Maker:
    """Makes the rules of one property. A name that begins with ``~`` is a ghost."""

    property: str
    bits: Bits
    flow: Flow

    def move(
        self,
        broken: str,
        where: Where,
        when: Iterable[str] = (),
        unless: Iterable[str] = (),
        before: Iterable[str] = (),
        before_not: Iterable[str] = (),
    ) -> Rule:
        """A move that is wrong if `before` holds before it, and `when` but not `unless` after
        it."""
        after, was = self.bits.test(when, unless), self.bits.test(before, before_not)
        reads = after.mask | was.mask
        judge = _judge(where, was, after)
        return Rule(self.property, broken, judge, reads=reads, builtin=True)

    def chosen(
        self,
        action: str,
        broken: str,
        when: Iterable[str] = (),
        unless: Iterable[str] = (),
        where: Where = anywhere,
    ) -> Rule:
        """An action that is wrong if these facts hold when it is carried out."""
        sentence = f"{action} is chosen {broken}"
        return self.move(sentence, lambda m: action in m.actions and where(m), when, unless)

    def granted(self, request: str, *actions: str, unless: Iterable[str] = ()) -> Rule:
        """A granted request that lacks the action which the proof relies on."""
        broken = f"{request} is granted without {' or '.join(actions)}"
        return self.move(
            broken,
            lambda m: (
                m.trigger == request and m.taken is not None and not {*actions} & {*m.actions}
            ),
            unless=unless,
        )

    def refused(
        self, request: str, broken: str, when: Iterable[str] = (), unless: Iterable[str] = ()
    ) -> Rule:
        """A request that is refused although the state does not list it under `refuses`."""
        silent = {n for n, state in self.flow.states.items() if request not in state.refuses}
        return self.move(
            f"{request} is refused {broken}",
            lambda m: (
                m.trigger == request
                and m.taken is None
                and m.arrives != "stale"
                and m.source in silent
            ),
            when,
            unless,
        )

    def held(
        self,
        state: str | None,
        broken: str,
        when: Iterable[str] = (),
        unless: Iterable[str] = (),
        remedy: str = "",
    ) -> Rule:
        """A state that is wrong while these facts hold."""
        test = self.bits.test(when, unless)
        sentence = f"{state} is held {broken}" if state else broken
        return Rule(
            self.property,
            sentence,
            state=state,
            test=test,
            reads=test.mask,
            builtin=True,
            remedy=remedy,
        )

    def host_facts(self, *names: str) -> tuple[str, ...]:
        """The host facts that this flow declares."""
        return tuple(name for name in names if name in self.flow.host_facts)


def _judge(where: Where, before: Test, after: Test) -> Judge:
    def judge(move: Move) -> tuple[Test, Test] | None:
        return (before, after) if where(move) else None

    return judge
