"""Properties about waits: how long they last at most, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

import attrs

from turnfsm.fsm.flow import NEVER, Flow, LeadsTo, Names, in_words

from .explore import Exploration
from .parts import Edge
from .restless import Goal, Over, Restless, Run, Wait
from .space import StateSpace
from .turn import COMMON, missing
from .turn_rules import filled, has, table

__all__ = [
    "Outcome",
    "comes",
    "either",
    "judge",
    "ready_reply",
    "settles",
    "total",
    "waits",
]

REPORT = "report_wait"
"""The action that reports a long wait."""


@attrs.frozen
class Outcome:
    """The result of a wait.

    Attributes:
        detail: The worst case, or why it is broken.
        seconds: The worst case.
        timers: The timers that add up to it.
        node: The configuration that breaks it.
        moves: The moves from there, with the configuration before each.
        quiet: More sentences about it.
        end: The state that no timer leaves.
        again: The moves that can be repeated forever.
    """

    detail: str
    seconds: float = 0.0
    node: int | None = None
    moves: tuple[tuple[int, Edge], ...] = ()
    quiet: tuple[str, ...] = ()
    end: str | None = None
    again: tuple[tuple[int, Edge], ...] = ()
    timers: Names = ()


def waits(model: StateSpace) -> Iterator[Wait]:
    """Every promise of a flow: the declared ones, then those of a turn."""
    flow = model.flow
    for body in flow.properties.leads_to:
        yield _declared(model, body)
    if flow.kind != "turn":
        return
    for name, rows in table()["waits"].items():
        if name not in flow.properties.waived and not missing(flow, name):
            for row in rows:
                yield from _promised(model, name, row)


def _promised(model: StateSpace, property: str, row: Mapping[str, Any]) -> Iterator[Wait]:
    """A wait of the table, if the flow has what it is about."""
    flow, bits = model.flow, model.bits
    if not has(flow, row.get("needs", "")):
        return
    final = " ".join(name for name, state in flow.states.items() if state.final)
    row = filled(row, {**table()["names"], "final": final})
    keys = ("from", "to", "does", "until", "until_does")
    states, goals, does, until, until_does = ({*row.get(key, "").split()} for key in keys)
    added = {*flow.triggers} - COMMON if "until_added" in row else set[str]()
    left, came = "until_left" in row, comes(*until)
    facts = bits.mask(row.get("facts", "").split())
    wait = Wait(
        property,
        row["promise"],
        lambda node: node & facts == facts,
        lambda state, actions: state in goals or not does.isdisjoint(actions),
        lambda move: (
            came(move)
            or not until_does.isdisjoint(move.actions)
            or move.trigger in added
            or (left and move.dest not in states)
        ),
        row["within"] if row.get("within") in flow.timers else None,
        at_most=row.get("at_most", inf),
        free=bits.ghosts["user_speaking"] if "quiet" in row else 0,
        reads=facts,
        states=tuple(states),
    )
    yield from _ends_or_is_reported(model, wait) if "reported" in row else (wait,)


def _declared(model: StateSpace, body: LeadsTo) -> Wait:
    return Wait(
        body.name,
        f"{body.to} is reached",
        lambda _node: True,
        lambda state, actions: state == body.to,
        comes(*body.until),
        body.within,
        builtin=False,
        states=(body.from_,),
    )


def comes(*triggers: str) -> Over:
    """Whether a move is by one of these triggers, unless it is stale or refused."""
    return lambda move: (
        move.trigger in triggers and move.arrives != "stale" and move.taken is not None
    )


def settles(model: StateSpace) -> Iterator[Wait]:
    """An interrupted step gives the floor back."""
    for row in table()["waits"]["an_interruption_settles"]:
        yield from _promised(model, "an_interruption_settles", row)


def ready_reply(model: StateSpace) -> Iterator[tuple[str, Wait]]:
    """The states that hold back audio: it is played in the end.

    Noises may keep coming. Only the time without a sound counts.
    """
    for row in table()["waits"]["no_dead_floor"]:
        if "quiet" in row:
            yield from ((row["from"], wait) for wait in _promised(model, "no_dead_floor", row))


def _ends_or_is_reported(model: StateSpace, wait: Wait) -> Iterator[Wait]:
    """The wait ends if the limits are set. If one is not, the wait is reported: rules prove that a
    report is true, and does not leave the state."""
    if REPORT not in model.flow.actions:
        yield wait
        return
    goal, promise = wait.goal, f"{wait.promise}, or that the wait is reported"
    ends: Goal = lambda state, actions: goal(state, actions) or REPORT in actions  # noqa: E731
    # A limit of the session ends one wait, and another wait begins.
    limits = [timer for timer, seconds in model.flow.timers.items() if seconds == NEVER]
    yield attrs.evolve(wait, promise=promise, goal=ends, over=either(wait.over, comes(*limits)))
    yield attrs.evolve(wait, limited=True)


def either(*tests: Over) -> Over:
    return lambda move: any(test(move) for test in tests)


def judge(model: StateSpace, exploration: Exploration, wait: Wait) -> Outcome:
    """The longest wait, from every configuration in which it can begin."""
    longest = Restless(model, exploration, wait).longest()
    if longest is None:
        return Outcome("")
    node, run = longest
    if run.seconds > min(wait.at_most, model.flow.timers.get(wait.within or "", inf)):
        return _broken(model, wait, node, run)
    if run.seconds == inf:
        return _broken(model, wait, node, run)
    if not run.timers:
        return Outcome("")
    if unset := [timer for timer in run.timers if model.flow.timers[timer] == NEVER]:
        limits = ", ".join(dict.fromkeys(unset))
        detail = f"ends by itself only if limits are set ({limits})"
    else:
        reported = "reported after " if wait.promise.endswith("is reported") else ""
        detail = f"{reported}at most {total(model.flow, run.timers)}"
    return Outcome(detail, run.seconds, timers=run.timers)


def total(flow: Flow, timers: Names) -> str:
    """The seconds of some timers, and their sum."""
    parts = (f"{t} {in_words(flow.timers[t]).removesuffix(' s')}" for t in timers)
    return f"{in_words(sum(flow.timers[t] for t in timers))} ({' + '.join(parts)})"


def _broken(model: StateSpace, wait: Wait, node: int, run: Run) -> Outcome:
    state = model.state(node)
    if run.seconds < inf:
        most = wait.within if run.seconds <= wait.at_most else f"{wait.at_most:g} s"
        reason = f"it takes {total(model.flow, run.timers)}, more than {most}"
    else:
        reason = run.why
    message = f"from {state} it is not certain that {wait.promise}: {reason}"
    quiet = [f"{timer} fires" for timer in run.timers]
    if run.end is None and run.loop:
        done = len(run.loop) - run.first
        quiet.append(f"the last {'move' if done == 1 else f'{done} moves'} can repeat forever")
    again = () if run.end else run.loop[run.first :]
    notes = (*quiet, reason)
    return Outcome(message, run.seconds, node, run.loop, notes, run.end, again, run.timers)
