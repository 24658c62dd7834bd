"""Reasons about waits: for calls, for words, for a quiet user, for news that came first."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.side_by_side import LATE

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = [
    "answers_a_turn_more",
    "call_waited_for_the_vad",
    "hold_was_over",
    "news_came_first",
    "speculates_on_one_turn_more",
    "waited_for_quiet",
    "waited_for_the_vad",
    "waits_for_a_call",
    "words_came_late",
    "words_were_on_their_way",
]

TRANSCRIPT_WAIT = 0.3
"""Seconds after a sound in which nothing is begun: `transcript_wait`."""

MOMENT = 0.1
"""Seconds: a frame of the microphone and one of the model."""

SOON = 4.0
"""Seconds in which what has waited for a call is answered: the model thinks for 1.5 s at most, and
may be asked about the call first."""


def waits_for_a_call(sentence: int, pair: Pair) -> bool:
    """A call whose turn cannot be interrupted ran after the sentence, and begun before stock
    answered it; the answer came soon after the end of such a call."""
    if sentence > len(pair.plan.sounds):
        return False
    said = pair.plan.sounds[sentence - 1]
    over = said.at + said.duration
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    held = [
        run for run in pair.ours.runs if pair.plan.jobs[run.number].policy in ("finish", "hold")
    ]
    begun = any(
        (run.end is None or run.end > said.at) and (stock is None or run.start <= over + stock)
        for run in held
    )
    answered = None if ours is None else over + ours
    return begun and (
        answered is None
        or any(run.end is None or run.end > answered - SOON for run in held if run.start < answered)
    )


def words_were_on_their_way(sentence: int, pair: Pair) -> bool:
    """Stock began to answer while the user said more, or before that had been recognised."""
    begun = pair.stock.latency.get(sentence)
    if begun is None:
        return False
    said = pair.plan.sounds[sentence - 1]
    begun += said.at + said.duration
    return any(
        sound.words
        and sound.at <= begun <= sound.at + sound.duration + max(sound.stt_delay or 0, 0.5)
        for sound in pair.plan.sounds[sentence:]
    )


def waited_for_quiet(sentence: int, pair: Pair) -> bool:
    """On stock the agent talked into the user, on ours it waited."""
    return pair.stock.overlap > pair.ours.overlap


def waited_for_the_vad(sentence: int, pair: Pair) -> bool:
    """On stock the agent began to talk while the VAD took the user for speaking; ours is later by
    no more than that, and what is waited for words after it."""
    return _later_by_the_vad(
        pair, pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    )


def call_waited_for_the_vad(move: int, pair: Pair) -> bool:
    """The same, of a call of the application that returns when what it asked for was heard."""
    return _later_by_the_vad(pair, pair.ours.silent.get(move), pair.stock.silent.get(move))


def _later_by_the_vad(pair: Pair, ours: float | None, stock: float | None) -> bool:
    waited = pair.stock.begun_over - pair.ours.begun_over
    if ours is None or stock is None or waited <= 0.0:
        return False
    return ours - stock <= waited + TRANSCRIPT_WAIT + MOMENT


def news_came_first(sentence: int, pair: Pair) -> bool:
    """It was answered behind results that the model was asked to tell besides, and is later by no
    more than these took."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    if ours is None or stock is None:
        return False
    sound = pair.plan.sounds[sentence - 1]
    over = sound.at + sound.duration
    told = sum(end - start for start, end in pair.ours.news if over <= start and end <= over + ours)
    return ours - told <= stock + LATE


def hold_was_over(about: int, pair: Pair) -> bool:
    """It was cut in the moment when a call ended that had kept its turn from being interrupted."""
    ends = [
        run.end
        for run in pair.ours.runs
        if run.end is not None and pair.plan.jobs[run.number].policy in ("finish", "hold")
    ]
    return _cut_at(ends, pair)


def words_came_late(about: int, pair: Pair) -> bool:
    """It was cut in the moment when words came, and the output could not be held until then."""
    words = [s.at + s.duration + s.stt_delay for s in pair.plan.sounds if s.stt_delay is not None]
    return _cut_at(words, pair) and not pair.plan.can_pause


def _cut_at(moments: Sequence[float], pair: Pair) -> bool:
    cuts = pair.ours.cuts
    return bool(cuts) and all(any(abs(cut - at) < 0.06 for at in moments) for cut in cuts)


def answers_a_turn_more(number: int, pair: Pair) -> bool:
    """The run lasted while a sentence was answered that is nowhere on stock."""
    move, waits = pair.plan.moves[number], pair.ours.waits.get(number)
    more = pair.stock.words_lost - pair.ours.words_lost
    return move.what == "run" and any(
        move.at <= pair.ours.asked.get(n, -inf) <= move.at + (waits or 0.0) for n in more
    )


def speculates_on_one_turn_more(about: int, pair: Pair) -> bool:
    """A turn was answered that stock had dropped, and the next one's speculation was in vain."""
    more = pair.stock.words_lost - pair.ours.words_lost
    return bool(more) and [*pair.ours.warnings][about].startswith("preemptive generation inval")
