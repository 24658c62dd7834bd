"""Reasons why a call of the application takes longer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.side_by_side import SLOW

from .delays import asked_later, busy, call_stopped_before_it_was_due, outside
from .moments import ENDPOINTING, MOMENT, Span, asked_in_use
from .waits import VAD_SILENCE

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = [
    "behind_an_answer_that_comes_sooner",
    "behind_an_answer_to_a_kept_turn",
    "given_up_over_the_user",
    "makes_a_call_of_a_cancelled_commit",
    "makes_a_call_that_was_stopped",
]


def behind_an_answer_that_comes_sooner(number: int, pair: Pair) -> bool:
    """When it was asked for, the model thought about the user's words, and it takes its turn behind
    that answer. On stock, which waits for tools of earlier turns, the model had not been asked
    about them, or only ahead, and was asked again. It takes no more time in which the model did
    not think about them, nobody spoke, no words might come, and no call held its turn."""
    at = pair.plan.moves[number].at
    sooner = [n for n, asked in pair.ours.asked.items() if asked <= at <= asked_in_use(n, pair)]
    return _takes_its_turn_behind(sooner, number, pair)


def behind_an_answer_to_a_kept_turn(number: int, pair: Pair) -> bool:
    """The same. Stock had begun to answer before; on ours the turn was kept until then."""
    at = pair.plan.moves[number].at
    kept = [n for n, asked in pair.ours.asked.items() if asked <= at and asked_later(n, pair) > 0]
    return _takes_its_turn_behind(kept, number, pair)


def _takes_its_turn_behind(sentences: Iterable[int], number: int, pair: Pair) -> bool:
    """While the model thought about one of them, it was asked for."""
    at, ours = pair.plan.moves[number].at, pair.ours.waits.get(number)
    stock = pair.stock.waits.get(number)
    if pair.plan.moves[number].what not in ("run", "wait") or ours is None or stock is None:
        return False
    thought: list[Span] = [
        (pair.ours.asked[n], pair.ours.asked[n] + pair.plan.answers[n].ttft + MOMENT)
        for n in sentences
        if n in pair.plan.answers
    ]
    before = outside((at, at + stock), busy(pair, pair.stock))
    rest = outside((at, at + ours), [*busy(pair, pair.ours), *thought])
    return any(end >= at for _, end in thought) and rest <= SLOW + before


def makes_a_call_that_was_stopped(number: int, pair: Pair) -> bool:
    """The run makes a call whose own turn was kept and was stopped then, before the call was due.
    On stock the call had been made before. The run takes longer by no more than the call,
    and what is said."""
    return _takes_as_long_as(call_stopped_before_it_was_due, number, pair)


def makes_a_call_of_a_cancelled_commit(number: int, pair: Pair) -> bool:
    """The run makes a call that a committed sentence wants. Stock has cancelled the commit, and the
    model was never asked about the sentence. The run takes longer by no more than the call, and
    what is said."""
    return _takes_as_long_as(_wanted_only_here, number, pair)


def _takes_as_long_as(explained: Callable[[int, Pair], bool], number: int, pair: Pair) -> bool:
    """A run takes longer by no more than such calls."""
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
        and explained(run.number, pair)
    ]
    before = outside((move.at, move.at + stock), busy(pair, pair.stock))
    rest = outside((move.at, move.at + ours), [*busy(pair, pair.ours), *made])
    return bool(made) and rest <= SLOW + before


def _wanted_only_here(job: int, pair: Pair) -> bool:
    """A realtime model was asked about the sentence; on stock it never was. The application had
    committed it, and the user spoke when the model was to be asked."""
    sounds, put = pair.plan.sounds, pair.ours.put
    commits = [move.at for move in pair.plan.moves if move.what == "commit"]
    wants = [n for n, answer in pair.plan.answers.items() if job in answer.jobs and n in put]
    return pair.plan.model != "pipeline" and any(
        n not in pair.stock.put
        and n not in pair.stock.asked
        and any(
            sounds[n - 1].over <= at <= put[n][0][0]
            and any(s.at <= at + ENDPOINTING and at <= s.over for s in sounds[n:] if s.words)
            for at in commits
        )
        for n in wants
    )


def given_up_over_the_user(number: int, pair: Pair) -> bool:
    """A run began while the user spoke to a realtime model. Stock gave it up at once, and nothing
    of its reply was heard. On ours the reply waited for a quiet user and was heard; the run takes
    no more time in which nobody spoke, no words might come, and none of its calls ran."""
    move, ours = pair.plan.moves[number], pair.ours.waits.get(number)
    stock = pair.stock.waits.get(number)
    if move.what != "run" or pair.plan.model == "pipeline" or ours is None or stock is None:
        return False
    heard = number in pair.ours.replies and number not in pair.stock.replies
    spoke = any(s.at <= move.at <= s.over + VAD_SILENCE for s in pair.plan.sounds if s.words)
    calls: list[Span] = [
        (run.start, run.end)
        for run in pair.ours.runs
        if run.end is not None and move.at <= run.start and run.end <= move.at + ours
    ]
    rest = outside((move.at, move.at + ours), [*busy(pair, pair.ours), *calls])
    return spoke and heard and stock <= MOMENT and rest <= SLOW
