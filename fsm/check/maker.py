"""Makes rules: of configurations, of moves, and those that a flow declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from turnfsm.fsm.flow import Always, Flow, Never

from .parts import Bits, Move, Rule, Test

__all__ = ["TESTS", "about_moves", "about_states", "declared_rules"]

TESTS: Mapping[str, Callable[[Move, Any], bool]] = {
    "trigger": lambda move, names: move.trigger in names,
    "trigger_not": lambda move, names: move.trigger not in names,
    "source": lambda move, names: move.source in names,
    "source_not": lambda move, names: move.source not in names,
    "dest": lambda move, names: move.dest in names,
    "dest_not": lambda move, names: move.dest not in names,
    "does": lambda move, names: {*names} <= {*move.actions},
    "lacks": lambda move, names: {*names}.isdisjoint(move.actions),
    "twice": lambda move, names: any(move.actions.count(name) > 1 for name in names),
    "stays": lambda move, names: move.source in names and _still(move) and _fresh(move),
    "runs_on": lambda move, names: not move.entered and {*names}.isdisjoint(move.restarts),
    "fresh": lambda move, value: _fresh(move) == value,
    "taken": lambda move, value: (move.taken is not None) == value,
    "entered": lambda move, value: move.entered == value,
    "still": lambda move, value: _still(move) == value,
    "effect": lambda move, value: (bool(move.actions) or move.entered or not _still(move)) == value,
    "except": lambda move, others: not fits(move, others),
}
"""What a rule may say about a move; `turn_rules.yaml` explains each."""

Where: TypeAlias = Mapping[str, Any]


def fits(move: Move, where: Where) -> bool:
    for key, value in where.items():  # noqa: SIM110, this is twice as fast as `all`
        if not TESTS[key](move, value):
            return False
    return True


def _still(move: Move) -> bool:
    return move.dest == move.source


def _fresh(move: Move) -> bool:
    return move.arrives != "stale"


def about_moves(
    property: str, broken: str, where: Where, before: Test, after: Test, *, builtin: bool = False
) -> Rule:
    """A move that is wrong if these tests hold before and after it.

    Args:
        where: What must be true of the move, by the names of `TESTS`.
    """

    def judge(move: Move) -> tuple[Test, Test] | None:
        return (before, after) if fits(move, where) else None

    return Rule(property, broken, judge, reads=before.mask | after.mask, builtin=builtin)


def about_states(property: str, broken: str, state: str | None, test: Test, **more: Any) -> Rule:
    """A state that is wrong while a test holds; without a state, the test is wrong everywhere."""
    return Rule(property, broken, state=state, test=test, reads=test.mask, **more)


def declared_rules(flow: Flow, bits: Bits) -> Iterator[Rule]:
    """One rule for each ``never``, one for each fact of each ``always``."""
    for never in flow.properties.never:
        yield _never(never, bits)
    for always in flow.properties.always:
        yield from _always(always, bits)


def _never(never: Never, bits: Bits) -> Rule:
    test = bits.test(never.when, never.unless)
    facts = ", ".join([*never.when, *(f"not {name}" for name in never.unless)])
    when = (f" while {facts}" if facts else "") + _because(never)
    if never.action is None:
        broken = f"{never.state or 'a state'} is held{when}"
        return about_states(never.name, broken, never.state, test)
    where: dict[str, Any] = {"does": (never.action,)}
    if never.state is not None:
        where["source"] = (never.state,)
    return about_moves(never.name, f"{never.action} is chosen{when}", where, Test(), test)


def _always(always: Always, bits: Bits) -> Iterator[Rule]:
    tests = [(f"not {name}", bits.test((), (name,))) for name in always.when]
    tests += [(name, bits.test((name,))) for name in always.unless]
    for fact, test in tests:
        broken = f"{always.state} is held while {fact}{_because(always)}"
        yield about_states(always.name, broken, always.state, test)


def _because(body: Never | Always) -> str:
    return f" ({body.because.rstrip('.')})" if body.because else ""
