"""Reasons why a call of the application takes longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.side_by_side import LATE, SLOW

from .calls import stopped_behind_a_held_call
from .delays import busy, outside
from .moments import Span, thinks

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = ["cut_at_once_on_stock", "makes_a_call_that_was_stopped"]


def cut_at_once_on_stock(number: int, pair: Pair) -> bool:
    """It is asked for while somebody speaks, or the model thinks, and takes its turn behind that.
    On stock the turn of a call that had ended took it along: it was never heard."""
    move, ours = pair.plan.moves[number], pair.ours.waits.get(number)
    if move.what != "wait" or ours is None:
        return False
    on_stock = any(f"y{number}a" in heard.text for heard in pair.stock.audio)
    causes = [*busy(pair, pair.ours), *thinks(pair)]
    return not on_stock and outside((move.at, move.at + ours), causes) <= LATE


def makes_a_call_that_was_stopped(number: int, pair: Pair) -> bool:
    """The run makes a call whose own turn had waited for a call that holds it, and was stopped
    then. On stock the call had been made before. The run takes longer by no more than the call,
    and what is said."""
    move, ours = pair.plan.moves[number], pair.ours.waits.get(number)
    stock = pair.stock.waits.get(number)
    if move.what != "run" or ours is None or stock is None:
        return False
    made: list[Span] = [
        (run.start, run.end)
        for run in pair.ours.runs
        if run.end is not None
        and move.at <= run.start
        and run.end <= move.at + ours
        and stopped_behind_a_held_call(run.number, pair)
    ]
    before = outside((move.at, move.at + stock), busy(pair, pair.stock))
    rest = outside((move.at, move.at + ours), [*busy(pair, pair.ours), *made])
    return bool(made) and rest <= SLOW + before
