"""Suggests what to add to a state of a variant that breaks a property."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnfsm.fsm.flow import Flow, Names, Transition
from turnfsm.fsm.source import Source

from .parts import Edge, Move

__all__ = ["event_advice", "loop_advice", "timer_advice"]


def event_advice(flow: Flow, source: Source, way: Sequence[tuple[int, Edge]]) -> str:
    """The line for a trigger that an added state does not handle, copied from another state."""
    for _node, edge in reversed(way):
        move = edge[3]
        if move.source not in source.added or (move.taken is not None and move.taken.row):
            continue
        if (body := _as_elsewhere(flow, move)) is None:
            continue
        add = f"add '{move.trigger}: {_written(body)}' to 'on' of {move.source!r}"
        if move.trigger in flow.requests:
            return f"{add}, or 'refuses: {move.trigger}'"
        return f"{add}: it only changes facts there"
    return ""


def timer_advice(flow: Flow, source: Source, state: str) -> str:
    """The line for a state that no timer leaves."""
    if state not in flow.states:
        return ""
    if not flow.states[state].after:
        return f"add 'after: {{TIMER: {{dest: {flow.initial}}}}}' to {state!r}"
    timer = next(iter(flow.states[state].after))
    return f"add a transition that needs no fact to {timer!r}: '{{dest: {flow.initial}}}'"


def loop_advice(moves: Iterable[Move]) -> str:
    """How to keep repeated moves from restarting the timers."""
    for move in moves:
        if move.entered and move.source == move.dest:
            return (
                "leave 'dest' out: the timers go on; or name a timer that starts again: "
                "'restarts: TIMER'"
            )
        if move.restarts:
            return f"let only the first {move.trigger} restart it: name a fact under 'unless'"
    return ""


def _as_elsewhere(flow: Flow, move: Move) -> Transition | None:
    """The transition of the event in the first other state that moves on it without conditions, or
    with a single `unless`."""
    bodies = [row.transition for row in flow.rows() if row.trigger == move.trigger]
    moves = [body for body in bodies if (body.dest or body.actions) and not body.conditions]
    return next((b for n in (0, 1) for b in moves if len(b.unless) == n), None)


def _written(body: Transition) -> str:
    parts = [f"dest: {body.dest}"] if body.dest else []
    if body.actions:
        parts.append(f"actions: {_names(body.actions)}")
    return "{" + ", ".join(parts) + "}"


def _names(names: Names) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"
