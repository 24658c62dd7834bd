"""Where one session is worse than another, by their measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

import attrs

from turnfsm.runtime.testing.livekit import side_by_side
from turnfsm.runtime.testing.livekit.side_by_side import CLOSES, LATE, SLOW, Found

from .declared import explained
from .measures import Measures, blip_text
from .pair import Pair
from .plan import Move
from .reasons.moments import announced
from .repeated import again, chopped

__all__ = ["Worse", "worse"]

MOMENT = 0.001
"""Seconds."""


@attrs.frozen
class Worse:
    """Something that is worse.

    Attributes:
        kind: The measure.
        text: What the caller or the application got, and what they get from a stock session.
        about: The number of the job, sentence or move.
    """

    kind: str
    text: str
    about: int = 0

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def worse(pair: Pair, *, declared: bool = True) -> list[Worse]:
    """What is worse on ours.

    Args:
        pair: The conversation.
        declared: Leave out what the list of differences explains.
    """
    if pair.stock.failed:
        return []
    if pair.ours.failed:
        return [Worse("failed", pair.ours.failed)]
    measures: dict[str, Callable[[Pair], Found]] = {
        **side_by_side.MEASURES,
        **{measure.__name__.strip("_"): measure for measure in MEASURES},
    }
    found = [
        Worse(kind, text, about)
        for kind, measure in measures.items()
        for about, text in measure(pair)
    ]
    return [w for w in found if not (declared and explained(w.kind, w.about, pair))]


def _twice(pair: Pair) -> Found:
    for job in pair.ours.effects:
        ours, stock = _unasked(pair.ours, job), _unasked(pair.stock, job)
        if ours > max(0, stock):
            yield (
                job,
                f"job {job} took effect {_times(pair.ours, job)}, on stock "
                + (_times(pair.stock, job)),
            )


def _times(measured: Measures, job: int) -> str:
    return f"{measured.effects[job]} times, asked for {measured.wanted[job]} times"


def _unasked(measured: Measures, job: int) -> int:
    """Effects that the user has not asked for."""
    return measured.effects[job] - max(1, measured.wanted[job])


def _undone(pair: Pair) -> Found:
    for job, count in pair.ours.effects.items():
        if not count and pair.stock.effects[job]:
            yield job, f"job {job} never took effect"


def _half(pair: Pair) -> Found:
    for job in sorted(pair.ours.halves - pair.stock.halves):
        yield job, f"the effect of job {job} began and was not completed"


def _lost(pair: Pair) -> Found:
    for job in sorted(pair.ours.lost - pair.stock.lost):
        yield job, f"the result of job {job} is not in the history"


def _unseen(pair: Pair) -> Found:
    for job in sorted(pair.ours.unseen.keys() - pair.stock.unseen.keys()):
        yield job, f"job {job} had ended, and a request does not show its result"


def _lie(pair: Pair) -> Found:
    if len(pair.ours.lies) > len(pair.stock.lies):
        yield 0, f"the model reads {pair.ours.lies[0]}"


def _late(pair: Pair) -> Found:
    for number, stock in pair.stock.latency.items():
        ours = pair.ours.latency.get(number)
        if stock is None or (ours is not None and ours <= stock + LATE):
            continue
        if ours is not None and ours - _said_besides(number, ours, pair) <= stock + LATE:
            continue
        if _answered_with_the_next(number, pair):
            continue
        when = "never" if ours is None else f"after {ours:.2f} s"
        yield number, f"sentence {number} is answered {when}, on stock after {stock:.2f} s"


def _answered_with_the_next(number: int, pair: Pair) -> bool:
    """It has the same answer as a later sentence, or none as that, on both sides: if that is late,
    it is said."""
    sounds, (ours, stock) = pair.plan.sounds, (pair.ours.latency, pair.stock.latency)

    def same(latency: Mapping[int, float | None], later: int) -> bool:
        one, other = latency.get(number), latency.get(later)
        if one is None or other is None:
            return one is other and later in latency
        return abs(sounds[number - 1].over + one - sounds[later - 1].over - other) < MOMENT

    return any(later > number and same(ours, later) and same(stock, later) for later in stock)


def _said_besides(number: int, latency: float, pair: Pair) -> float:
    """Seconds that the answer to a sentence took longer because the caller first heard what stock
    never says: what the application had asked for, and answers to earlier sentences."""
    ours, stock = pair.ours, pair.stock
    said = pair.plan.sounds[number - 1]
    begin = said.at + said.duration
    more = [heard for n, heard in ours.replies.items() if n not in stock.replies]
    more += [
        (start - pair.plan.answers[n].ttft, end)  # the model thinks about it, too
        for n, (start, end) in ours.own_answers.items()
        if n < number and n not in stock.own_answers
    ]
    return sum(max(0.0, min(begin + latency, end) - max(begin, at)) for at, end in more)


def _untold(pair: Pair) -> Found:
    for job in sorted(pair.stock.told.keys() - pair.ours.told.keys() - pair.ours.mentioned):
        # Else it is undone, or LiveKit wants no reply: the tool has returned nothing.
        if pair.ours.effects[job] and pair.plan.jobs[job].ends != "nothing":
            yield job, f"the caller never hears of the result of job {job}"


def _blip(pair: Pair) -> Found:
    ours, stock = _heard_here_alone(pair.ours, pair.stock), _heard_here_alone(pair.stock, pair.ours)
    if len(ours) > len(stock):
        for number in (blip for blip in ours if not _cut_alike(blip, pair)):
            yield number, f"heard and cut for no reason: {pair.ours.blips[number]}"


def _heard_here_alone(measured: Measures, other: Measures) -> list[int]:
    """The blips that were not heard from and to the same moments on the other side, too."""
    both = {blip_text(heard) for heard in other.audio}
    return [number for number, blip in enumerate(measured.blips) if blip not in both]


def _cut_alike(blip: int, pair: Pair) -> bool:
    """On stock it began sooner, perhaps so much that it counts, and was cut in the same moment."""
    cut = pair.ours.blips[blip]
    heard = [h for h in pair.ours.audio if h.text and blip_text(h) == cut]
    return any(
        abs(h.end - other.end) <= MOMENT
        and other.start <= h.start
        and other.text.startswith(h.text)
        for h in heard
        for other in pair.stock.audio
    )


def _overlap(pair: Pair) -> Found:
    if pair.ours.overlap > pair.stock.overlap + 0.5:
        yield 0, f"both speak for {pair.ours.overlap} s, on stock for {pair.stock.overlap} s"


def _log(pair: Pair) -> Found:
    texts = tuple(pair.ours.errors)
    for about, text in side_by_side.MEASURES["log"](pair):
        logged = texts[about]
        if not (_of_calls_on_ours_alone(logged, pair) or _over_uninterruptible(logged, pair)):
            yield about, text


def _of_calls_on_ours_alone(text: str, pair: Pair) -> bool:
    """A tool failed that stock did not run: it had dropped the sentence that asked for it."""
    runs = [run.number for run in pair.ours.runs if f"[{run.how}(" in text]
    before = [run.number for run in pair.stock.runs]
    ours = [run.number for run in pair.ours.runs]
    return bool(runs) and all(ours.count(job) > before.count(job) for job in runs)


def _over_uninterruptible(text: str, pair: Pair) -> bool:
    """A tool interrupted while the application had something said that cannot be interrupted,
    which LiveKit refuses at any time."""
    said = list(announced(pair.plan, pair.ours))
    ends = [run.end for run in pair.ours.runs if run.how == "RuntimeError" and run.end is not None]
    refused = bool(ends) and all(any(at <= end <= over for at, over in said) for end in ends)
    return refused and text.endswith("does not allow interruptions')]")


def _warning(pair: Pair) -> Found:
    texts = tuple(pair.ours.warnings.items())
    for about, text in side_by_side.MEASURES["warning"](pair):
        if not _before_uninterruptible(*texts[about], pair):
            yield about, text


def _before_uninterruptible(text: str, count: int, pair: Pair) -> bool:
    """Somebody interrupted while this waited to be said. LiveKit warns at any time that it will be
    said nevertheless."""
    begun = [
        min((at for at, _ in announced(pair.plan, pair.ours) if at >= move.at), default=inf)
        for move in pair.plan.moves
        if move.what == "say_on"
    ]
    said = [move.at for move in pair.plan.moves if move.what == "say_on"]
    waited = sum(
        at <= stop <= over for at, over in zip(said, begun, strict=True) for stop in pair.ours.stops
    )
    return text.startswith("a queued speech does not allow") and count <= waited


def _words(pair: Pair) -> Found:
    for number in sorted(pair.ours.words_lost - pair.stock.words_lost):
        yield number, f"sentence {number} is not in the history"
    for number in sorted(pair.ours.words_twice - pair.stock.words_twice):
        yield number, f"sentence {number} is in the history twice"


def _wait(pair: Pair) -> Found:
    for number, stock in pair.stock.waits.items():
        if pair.plan.moves[number].at >= pair.plan.seconds:
            continue  # stock is still closing; ours is over
        if number in pair.ours.raised:
            if not _said_sooner(pair.plan.moves[number], pair):
                yield number, f"move {number} ({pair.plan.moves[number].what}) raises"
            continue
        ours = pair.ours.waits.get(number)
        if stock is not None and (ours is None or ours > stock + SLOW):
            move = pair.plan.moves[number]
            if move.what == "aclose" and ours is not None and ours <= CLOSES:
                continue
            if _closed_before(move.at, pair):
                continue
            silent = pair.ours.silent.get(number, ours), pair.stock.silent.get(number, stock)
            if silent[0] is not None and silent[0] <= silent[1] + SLOW:
                continue
            took = "does not return" if ours is None else f"takes {ours:.2f} s"
            what = f"move {number} ({move.what})"
            yield number, f"{what} {took}, on stock {stock:.2f} s"


def _said_sooner(move: Move, pair: Pair) -> bool:
    """The application interrupted while something that it wanted said to its end was heard, which
    LiveKit refuses at any time. On stock this was still to be heard: it comes sooner on ours."""
    ours, stock = list(announced(pair.plan, pair.ours)), list(announced(pair.plan, pair.stock))
    begun = sum(begin <= move.at for begin, _ in ours)
    waits = len(stock) >= begun > sum(begin < move.at - MOMENT for begin, _ in stock)
    heard = any(begin <= move.at <= end for begin, end in ours)
    return move.what in ("interrupt", "chat") and heard and waits


def _closed_before(at: float, pair: Pair) -> bool:
    """The application had closed the session, and the close had ended."""
    moves = ((pair.plan.moves[number], waits) for number, waits in pair.ours.waits.items())
    closes = [
        move.at + waits for move, waits in moves if move.what == "aclose" and waits is not None
    ]
    return any(closed < at for closed in closes)


def _agent(pair: Pair) -> Found:
    """A call that hands over and was not made is found as one that never took effect. After
    `ctx.update()` a call hands over on no session."""
    moved = any(move.what == "update_agent" for move in pair.plan.moves)
    jobs = pair.plan.jobs
    hand_over = {n for n, j in jobs.items() if j.ends == "hands_off" and j.waits != "updates"}
    made = hand_over & {run.number for run in pair.stock.runs}
    missing = made and made <= {job for job, _ in _undone(pair)}
    if pair.stock.handed_over and not pair.ours.handed_over and (moved or not missing):
        yield 0, "the conversation is not handed over"


MEASURES: tuple[Callable[[Pair], Found], ...] = (
    _twice, _undone, _half, _lost, _unseen, _lie, _late, _untold, _blip, _overlap, again,
    chopped, _log, _warning, _words, _wait, _agent,
)  # fmt: skip
