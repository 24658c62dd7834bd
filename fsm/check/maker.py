"""Makes the rules of properties: helpers for the ten, and the rules that a flow declares."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

import attrs

from turnfsm.fsm.flow import Always, Flow, Never

from .parts import Bits, Judge, Move, Rule, Test

__all__ = ["Maker", "Where", "declared_rules", "on"]


def declared_rules(flow: Flow, bits: Bits) -> Iterator[Rule]:
    """One rule for each ``never``, one for each fact of each ``always``."""
    for never in flow.properties.never:
        yield _never(never, bits)
    for always in flow.properties.always:
        yield from _always(always, bits)


def _never(never: Never, bits: Bits) -> Rule:
    test = bits.test(never.when, never.unless)
    because = f" ({never.because.rstrip('.')})" if never.because else ""
    if never.action is None:
        broken = f"{never.state or 'a state'} is held{_facts(never.when, never.unless)}{because}"
        return Rule(never.name, broken, state=never.state, test=test, reads=test.mask)
    broken = f"{never.action} is chosen{_facts(never.when, never.unless)}{because}"
    judge = _chosen(never.action, never.state, test)
    return Rule(never.name, broken, judge, reads=test.mask)


def _chosen(action: str, state: str | None, test: Test) -> Judge:
    def judge(move: Move) -> tuple[Test, Test] | None:
        wrong = action in move.actions and state in (None, move.source)
        return (Test(), test) if wrong else None

    return judge


def _always(always: Always, bits: Bits) -> Iterator[Rule]:
    because = f" ({always.because.rstrip('.')})" if always.because else ""
    for names, value in ((always.when, False), (always.unless, True)):
        for name in names:
            test = bits.test((name,), ()) if value else bits.test((), (name,))
            broken = f"{always.state} is held while {'' if value else 'not '}{name}{because}"
            yield Rule(always.name, broken, state=always.state, test=test, reads=test.mask)


def _facts(when: tuple[str, ...], unless: tuple[str, ...]) -> str:
    facts = [*when, *(f"not {name}" for name in unless)]
    return f" while {', '.join(facts)}" if facts else ""


Where: TypeAlias = Callable[[Move], bool]


def on(
    trigger: str | Collection[str] | None = None,
    *,
    source: str | Collection[str] | None = None,
    dest: str | Collection[str] | None = None,
    does: str | None = None,
    lacks: str | Collection[str] = (),
    fresh: bool = False,
    taken: bool | None = None,
    entered: bool | None = None,
) -> Where:
    """Whether a move fits all that is given.

    Args:
        trigger, source, dest: Its trigger and states are, or are among, these.
        does, lacks: It has this action, and none of those.
        fresh: It is not stale.
        taken, entered: The machine takes it; it enters a state.
    """
    triggers, sources, dests, missing = map(_names, (trigger, source, dest, lacks))

    def fits(move: Move) -> bool:
        return (
            (triggers is None or move.trigger in triggers)
            and (sources is None or move.source in sources)
            and (dests is None or move.dest in dests)
            and (does is None or does in move.actions)
            and not (missing and {*missing} & {*move.actions})
            and not (fresh and move.arrives == "stale")
            and taken in (None, move.taken is not None)
            and entered in (None, move.entered)
        )

    return fits


def _names(names: str | Collection[str] | None) -> Collection[str] | None:
    return (names,) if isinstance(names, str) else names


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
        where: Where = on(),  # noqa: B008
    ) -> Rule:
        """An action that is wrong if these facts hold when it is carried out."""
        sentence = f"{action} is chosen {broken}"
        return self.move(sentence, lambda m: action in m.actions and where(m), when, unless)

    def granted(self, request: str, *actions: str, unless: Iterable[str] = ()) -> Rule:
        """A granted request that lacks the action which the proof relies on."""
        broken = f"{request} is granted without {' or '.join(actions)}"
        return self.move(broken, on(request, taken=True, lacks=actions), unless=unless)

    def refused(
        self, request: str, broken: str, when: Iterable[str] = (), unless: Iterable[str] = ()
    ) -> Rule:
        """A request that is refused although the state does not list it under `refuses`."""
        silent = {n for n, state in self.flow.states.items() if request not in state.refuses}
        where = on(request, source=silent, fresh=True, taken=False)
        return self.move(f"{request} is refused {broken}", where, when, unless)

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
