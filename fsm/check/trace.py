"""A way through the model as steps that people read and machines replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from .model import Model
from .parts import Edge

__all__ = ["Step", "Trace", "trace"]


@attrs.frozen
class Step:
    """One thing that happens.

    Attributes:
        trigger: The trigger or timer.
        of: The step, turn or call that it belongs to, as ``SCOPE NUMBER``; None if to none.
        given: What the host answers, where it matters.
        state, facts, ghosts: What holds afterwards; ghosts are true in the world, whatever the
            flow believes.
        actions: What the host then does.
        refused: The machine refuses it.
    """

    trigger: str
    of: str | None
    given: Mapping[str, bool]
    state: str
    facts: tuple[str, ...]
    ghosts: tuple[str, ...]
    actions: tuple[str, ...]
    refused: bool

    def line(self) -> str:
        """The step as one line of text."""
        host = ", ".join(("" if on else "not ") + name for name, on in self.given.items())
        head = self.trigger + (f" (of {self.of})" if self.of else "")
        head += f" [host: {host}]" if host else ""
        tail = f" / {', '.join(self.actions)}" if self.actions else ""
        tail += "  (refused)" if self.refused else ""
        return f"{head} -> {self.state}{tail}  {{{', '.join(self.facts)}}}"


@attrs.frozen
class Trace:
    """A shortest counterexample, from the initial state on.

    Attributes:
        steps: What happens, in order.
        quiet: What timers do from there when nothing more happens, as sentences.
    """

    initial: str
    steps: tuple[Step, ...]
    quiet: tuple[str, ...] = ()

    def text(self) -> str:
        """Numbered lines."""
        lines = [f"   0. {self.initial}  {{}}"]
        lines += [f"{i:>4}. {step.line()}" for i, step in enumerate(self.steps, 1)]
        return "\n".join([*lines, *(f"   …  {line}" for line in self.quiet)])

    def journal(self) -> list[dict[str, Any]]:
        """The steps as entries that `Machine.step` takes, with what it answers to each."""
        return [
            {
                "trigger": step.trigger,
                "of": step.of,
                "given": dict(step.given),
                "taken": not step.refused,
                "state": step.state,
                "facts": list(step.facts),
                "actions": list(step.actions),
            }
            for step in self.steps
        ]


def trace(model: Model, moves: Iterable[tuple[int, Edge]], quiet: Iterable[str] = ()) -> Trace:
    """The moves of a path, with the facts that each leaves behind.

    Facts that no guard and no property reads are not followed, so they are not shown.
    """
    numbers: dict[str, int] = {}
    steps = [_step(model, node, edge, numbers) for node, edge in moves]
    return Trace(model.flow.initial, tuple(steps), tuple(quiet))


def _step(model: Model, node: int, edge: Edge, numbers: dict[str, int]) -> Step:
    keep, set_, _alarms, move = edge
    after = node & keep | set_
    names = model.program.names
    return Step(
        trigger=move.trigger,
        of=_token(model, move.trigger, move.arrives, node, numbers),
        given={name: bool(move.given & model.bits.facts[name]) for name in names(move.read)},
        state=model.state(after),
        facts=names(after & (1 << len(model.bits.facts)) - 1),
        ghosts=tuple(name for name, bit in model.bits.ghosts.items() if after & bit),
        actions=move.actions,
        refused=move.taken is None,
    )


def _token(
    model: Model, trigger: str, arrives: str, node: int, numbers: dict[str, int]
) -> str | None:
    """A token for the event: a new one where it begins a scope, an old one where it is stale."""
    for scope in model.program.begins.get(trigger, ()):
        numbers[scope] = numbers.get(scope, 0) + 1
        return f"{scope} {numbers[scope]}"
    if not arrives:
        return None
    scope = model.world.belongs.get(trigger) or model.program.fences[trigger]
    number = numbers.get(scope, 0)
    ghost = model.world.begun.get(scope)
    over = ghost is not None and not node & model.bits.ghosts[ghost]
    # A stale event is of the scope that has just ended, or of the one before the current.
    return f"{scope} {number if arrives == 'fresh' or over else number - 1}"
