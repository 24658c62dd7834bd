"""Converts a path through the model to steps that people can read and machines can replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from turnfsm.fsm.flow import Flow

from .parts import Edge, Move
from .space import StateSpace

__all__ = ["Trace", "TraceStep", "trace"]


@attrs.frozen
class TraceStep:
    """One step of a counterexample.

    Attributes:
        trigger: The trigger or timer.
        of: The step, turn or call that it belongs to, as ``SCOPE NUMBER``; None if to none.
        host_facts: The host's answers that matter.
        state: The state afterwards.
        facts: The facts that are true afterwards.
        ghosts: The ghosts that are true afterwards.
        actions: The host's actions.
        refused: The machine refuses the trigger.
        row: The id of the transition that was taken, if one was.
    """

    trigger: str
    of: str | None
    host_facts: Mapping[str, bool]
    state: str
    facts: tuple[str, ...]
    ghosts: tuple[str, ...]
    actions: tuple[str, ...]
    refused: bool
    row: str | None = None

    def line(self) -> str:
        host = ", ".join(("" if on else "not ") + name for name, on in self.host_facts.items())
        head = self.trigger + (f" (of {self.of})" if self.of else "")
        head += f" [host: {host}]" if host else ""
        tail = f" / {', '.join(self.actions)}" if self.actions else ""
        tail += "  (refused)" if self.refused else ""
        return f"{head} -> {self.state}{tail}  {{{', '.join(self.facts)}}}"


@attrs.frozen
class Trace:
    """A shortest counterexample, from the initial state on.

    Attributes:
        initial: The initial state.
        steps: The steps, in order.
        quiet: What timers do afterwards if there are no more events, as sentences.
        flow: The flow.
    """

    initial: str
    steps: tuple[TraceStep, ...]
    quiet: tuple[str, ...] = ()
    flow: Flow | None = attrs.field(default=None, repr=False, eq=False)

    def text(self) -> str:
        """The steps as numbered lines."""
        lines = [f"   0. {self.initial}  {{}}"]
        lines += [f"{i:>4}. {step.line()}" for i, step in enumerate(self.steps, 1)]
        return "\n".join([*lines, *(f"   …  {line}" for line in self.quiet)])

    def entries(self) -> list[dict[str, Any]]:
        """The steps as plain data: the inputs of a `Machine`, and its verdicts."""
        return [
            {
                "trigger": step.trigger,
                "of": step.of,
                "host_facts": dict(step.host_facts),
                "taken": not step.refused,
                "state": step.state,
                "facts": list(step.facts),
                "actions": list(step.actions),
            }
            for step in self.steps
        ]


def trace(model: StateSpace, moves: Iterable[tuple[int, Edge]], quiet: Iterable[str] = ()) -> Trace:
    """The moves of a path, with the facts after each.

    Facts that no guard and no property reads are not tracked, and so not shown.
    """
    names = _Names(model)
    steps = [_step(model, node, edge, names) for node, edge in moves]
    return Trace(model.flow.initial, tuple(steps), tuple(quiet), model.flow)


def _step(model: StateSpace, node: int, edge: Edge, tokens: _Names) -> TraceStep:
    keep, set_, _alarms, move = edge
    after = node & keep | set_
    names = model.program.names
    return TraceStep(
        trigger=move.trigger,
        of=tokens.of(move, node),
        host_facts={
            name: bool(move.host_facts & model.bits.facts[name]) for name in names(move.read)
        },
        state=model.state(after),
        facts=names(after & (1 << len(model.bits.facts)) - 1),
        ghosts=tuple(name for name, bit in model.bits.ghosts.items() if after & bit),
        actions=move.actions,
        refused=move.taken is None,
        row=move.taken.row if move.taken else None,
    )


class _Names:
    """Names the steps, turns and calls of a path so that a machine gives the same verdicts.

    Attributes:
        last: The latest name of each scope.
        before: The previous name of each scope.
        held: The name of each scope that a machine knows as current.
    """

    def __init__(self, model: StateSpace) -> None:
        self.model, self.program = model, model.program
        self.last: dict[str, str] = {}
        self.before: dict[str, str] = {}
        self.held: dict[str, str | None] = {}

    def of(self, move: Move, node: int) -> str | None:
        """The name that the event carries. Begins and ends scopes as the event does."""
        begun = self.program.begins.get(move.trigger, ())
        name = self._name(move, node, begun)
        for scope in begun if move.taken else ():
            self.held[scope] = name
        for scope in self.program.ends.get(move.trigger, ()) if move.taken else ():
            self.held[scope] = None
        for scope in begun if name else ():
            self.before[scope] = self.last.get(scope, f"{scope} 0")
            self.last[scope] = name or ""
        return name

    def _name(self, move: Move, node: int, begun: tuple[str, ...]) -> str | None:
        fence = self.program.compared.get(move.trigger)
        if fence is None and begun and move.trigger in self.model.flow.triggers:
            first = begun[0]
            return f"{first} {int(self.last.get(first, '0').rpartition(' ')[2]) + 1}"
        if not move.arrives:
            return None
        if fence is not None and move.taken:
            return self.held.get(fence)
        scope = fence or self.model.world.belongs[move.trigger]
        ghost = self.model.world.begun.get(scope)
        over = ghost is not None and not node & self.model.bits.ghosts[ghost]
        # A stale event belongs to the scope that has just ended, or to the one before the current.
        names = self.last if move.arrives == "fresh" or over else self.before
        return names.get(scope, f"{scope} 0")
