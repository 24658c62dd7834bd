"""The properties that a flow declares, as rules for the explorer.

A rule on an action reads the facts after the commit, as the action itself does.
"""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.flow import Always, Flow, Never

from .parts import Bits, Judge, Move, Rule, Test

__all__ = ["declared_rules"]


def declared_rules(flow: Flow, bits: Bits) -> Iterator[Rule]:
    """One rule for each ``never``, one for each fact of each ``always``."""
    for never in flow.properties.never:
        yield _never(never, bits)
    for always in flow.properties.always:
        yield from _always(always, bits)


def _never(never: Never, bits: Bits) -> Rule:
    test = bits.test(never.when, never.unless)
    why = f" ({never.because.rstrip('.')})" if never.because else ""
    if never.action is None:
        broken = f"{never.state or 'a state'} is held{_facts(never.when, never.unless)}{why}"
        return Rule(never.name, broken, state=never.state, test=test, reads=test.mask)
    broken = f"{never.action} is chosen{_facts(never.when, never.unless)}{why}"
    judge = _chosen(never.action, never.state, test)
    return Rule(never.name, broken, judge, reads=test.mask)


def _chosen(action: str, state: str | None, test: Test) -> Judge:
    def judge(move: Move) -> tuple[Test, Test] | None:
        wrong = action in move.actions and state in (None, move.source)
        return (Test(), test) if wrong else None

    return judge


def _always(always: Always, bits: Bits) -> Iterator[Rule]:
    why = f" ({always.because.rstrip('.')})" if always.because else ""
    for names, value in ((always.when, False), (always.unless, True)):
        for name in names:
            test = bits.test((name,), ()) if value else bits.test((), (name,))
            broken = f"{always.state} is held while {'' if value else 'not '}{name}{why}"
            yield Rule(always.name, broken, state=always.state, test=test, reads=test.mask)


def _facts(when: tuple[str, ...], unless: tuple[str, ...]) -> str:
    facts = [*when, *(f"not {name}" for name in unless)]
    return f" while {', '.join(facts)}" if facts else ""
