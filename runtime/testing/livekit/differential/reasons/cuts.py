"""Reasons about an answer that somebody cut before it was heard, or before it counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.side_by_side import LATE

from .delays import outside
from .moments import (
    ANSWER,
    MOMENT,
    THINKS,
    Span,
    answered_more,
    has_untold_results,
    takes_more,
)

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = [
    "answered_after_a_call_that_was_cut",
    "answered_beside_a_call_that_was_cut",
    "answered_by_a_repeated_call",
    "call_cut_behind_a_reply_that_came_sooner",
    "call_cut_behind_an_answer_more",
    "call_cut_behind_typed_words",
    "call_cut_behind_what_came_first",
    "call_cut_with_results",
    "came_of_a_call_that_was_cut",
    "cut_behind_a_reply_more",
    "cut_behind_an_answer_more",
    "cut_behind_what_came_first",
]


def cut_behind_what_came_first(sentence: int, pair: Pair) -> bool:
    """The model was asked at the same time. When stock began to answer, something else was heard on
    ours: what stock had begun to say into the user, results that stock did not tell then, or what a
    tool said that finishes its turn. This took until the user, or the application, interrupted, or
    until the close."""
    over, stock = pair.plan.sounds[sentence - 1].over, pair.stock.latency.get(sentence)
    own = pair.stock.own_answers.get(sentence)
    due = [] if stock is None else [over + stock]
    if own is not None and (stock is None or own[0] < over + stock):
        due.append(own[0])  # it was cut there, too, before it counted, or the session closed
    return any(_cut_behind(sentence, at, _came_first(at, pair), pair) for at in due)


def answered_beside_a_call_that_was_cut(sentence: int, pair: Pair) -> bool:
    """The model was asked at the same time. An earlier sentence's call, which stock had made, was
    cut like this on ours. The model makes it now, for the first time; the answer comes as soon as
    it has ended."""
    ours, begun = pair.ours.latency.get(sentence), _asked(sentence, pair.ours)
    if ours is None or begun == inf or abs(begun - _asked(sentence, pair.stock)) > MOMENT:
        return False
    answered, answers = pair.plan.sounds[sentence - 1].over + ours, pair.plan.answers
    cut = {
        job
        for n in range(1, sentence)
        if n in answers
        for job in answers[n].jobs
        if call_cut_behind_what_came_first(job, pair)
        and any(run.number == job and run.start < begun for run in pair.stock.runs)
        and not any(run.number == job and run.start < begun for run in pair.ours.runs)
    }
    return any(
        run.number in cut and run.end is not None and run.end <= answered <= run.end + THINKS
        for run in pair.ours.runs
    )


def _cut_behind(sentence: int, due: float, first: Iterable[Span], pair: Pair) -> bool:
    """`due`: when stock began to answer it. `first`: what was heard first on ours."""
    begun, on_stock = _asked(sentence, pair.ours), _asked(sentence, pair.stock)
    if begun == inf or abs(begun - on_stock) > MOMENT:
        return False
    cut = min((at for at in _interruptions(pair) if at >= due), default=inf)
    rest, at, behind = 0.0, due, False
    for start, end in sorted(first):
        if end > at and start < cut:
            rest, at, behind = rest + max(0.0, start - at), min(end, cut), True
    words = any(sound.words and sound.at == cut for sound in pair.plan.sounds)
    near = rest + cut - at < ANSWER + MOMENT
    return behind and near and (not words or _never_or_with_the_next(sentence, pair))


def _asked(sentence: int, measured: Measures) -> float:
    """When the model was first asked about it, perhaps about the end of it only."""
    put = [at for at, _ in measured.put.get(sentence, ())]
    return min([measured.asked.get(sentence, inf), *put])


def call_cut_behind_what_came_first(job: int, pair: Pair) -> bool:
    """That is why it was not called: a realtime model's calls are made with its answer."""
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    made = min((run.start for run in pair.stock.runs if run.number == job), default=None)
    return pair.plan.model != "pipeline" and any(
        cut_behind_what_came_first(n, pair)  # or stock was cut before a word of it was heard
        or (made is not None and _cut_behind(n, made, _came_first(made, pair), pair))
        for n in asks
    )


def call_cut_behind_a_reply_that_came_sooner(job: int, pair: Pair) -> bool:
    """The same. What was heard first is what the application had asked for while a tool ran; on
    stock it waited for the end of this tool."""
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    made = min((run.start for run in pair.stock.runs if run.number == job), default=None)
    first = [*_said_sooner(pair)]
    return pair.plan.model != "pipeline" and any(
        made is not None and _cut_behind(n, made, first, pair) for n in asks
    )


def _said_sooner(pair: Pair) -> Iterator[Span]:
    for number, (start, end) in pair.ours.replies.items():
        at, stock = pair.plan.moves[number].at, pair.stock.replies.get(number, (-inf, inf))[0]
        if start < stock and any(r.start <= at < (r.end or inf) <= stock for r in pair.stock.runs):
            yield start, end


def came_of_a_call_that_was_cut(job: int, pair: Pair) -> bool:
    """Ours did not make it. On stock the model was asked about the results of calls that were cut
    like this on ours, and made it with them."""
    made = {run.number for run in pair.ours.runs}
    brought = pair.stock.brought.get(job, frozenset())
    return (
        job not in made
        and bool(brought)
        and all(j not in made and call_cut_behind_what_came_first(j, pair) for j in brought)
    )


def answered_after_a_call_that_was_cut(sentence: int, pair: Pair) -> bool:
    """On both sides the model gave up the answer to it. What counts as one on stock are results of
    such calls."""
    asked = (*pair.ours.put.get(sentence, ()), *pair.stock.put.get(sentence, ()))
    answer = pair.stock.answered_with.get(sentence, "")
    told = [int(job) for job in re.findall(r"\bt([1-9]\d*)a", answer)]
    return (
        not any(whole for _, whole in asked)
        and bool(told)
        and not re.search(r"\b[^t\W]\w*\d", answer)
        and all(came_of_a_call_that_was_cut(job, pair) for job in told)
    )


def answered_by_a_repeated_call(sentence: int, pair: Pair) -> bool:
    """On both sides the model gave up the answer to it. What counts as one on stock are results of
    calls of an earlier turn, which the model made again because it did not see them. Ours did not
    make them again; what they have given is told after the sentence, and no later."""
    own, stock = pair.plan.answers[sentence].jobs, pair.stock.latency.get(sentence)
    put = (*pair.ours.put.get(sentence, ()), *pair.stock.put.get(sentence, ()))
    if stock is None or not own or any(whole for _, whole in put):
        return False
    over = pair.plan.sounds[sentence - 1].over
    told = [pair.ours.told.get(job, inf) for job in own]
    in_time = all(over <= at <= over + stock + LATE for at in told)
    return in_time and all(_made_again(job, over, pair) for job in own)


def _made_again(job: int, since: float, pair: Pair) -> bool:
    """Both made the call once before this moment, and stock once more."""
    ours, stock = ([r.start for r in m.runs if r.number == job] for m in (pair.ours, pair.stock))
    return len(ours) == 1 and len(stock) == 2 and max(ours[0], stock[0]) <= since <= stock[1]


def cut_behind_an_answer_more(sentence: int, pair: Pair) -> bool:
    """From when stock asked the model about it until somebody interrupted, or closed the session,
    ours was answering what was said before, which stock had not answered."""
    asked, cuts = pair.stock.asked.get(sentence), [*pair.ours.stops]
    if asked is None or pair.ours.put.get(sentence):
        return False
    if pair.plan.ends_at is not None:
        cuts.append(pair.plan.ends_at)
    own = [pair.ours.own_answers.get(n) for n in answered_more(pair) if n < sentence]
    more = [*takes_more(pair), *(span for span in own if span is not None)]
    return any(
        asked <= cut
        and outside((asked, cut), more) <= MOMENT
        and any(start <= cut <= end + MOMENT for start, end in more)
        for cut in cuts
    )


def cut_behind_a_reply_more(sentence: int, pair: Pair) -> bool:
    """The application asked for a reply. On stock a tool of an earlier turn ran then: the turn of
    the sentence waited for its end, and ended the reply before it was heard. Ours asked no later,
    but what was heard first was this reply. Stock's own answer was cut; ours had less time until
    then than counts as an answer."""
    over, stock = pair.plan.sounds[sentence - 1].over, pair.stock.latency.get(sentence)
    own, asked = pair.stock.own_answers.get(sentence), _asked(sentence, pair.ours)
    if pair.ours.latency.get(sentence) is not None or stock is None or own is None:
        return False
    begun, cut = own
    in_time = abs(over + stock - begun) <= MOMENT and asked <= _asked(sentence, pair.stock)
    return in_time and any(
        asked <= end and start <= begun <= end and cut - ANSWER < end <= cut
        for number, (start, end) in pair.ours.replies.items()
        if number not in pair.stock.replies and _waited_for_by_a_turn(number, sentence, pair)
    )


def _waited_for_by_a_turn(move: int, sentence: int, pair: Pair) -> bool:
    """On stock a tool ran from before the sentence until after this move, and until the model was
    asked about the sentence."""
    said, at = pair.plan.sounds[sentence - 1].at, pair.plan.moves[move].at
    asked = _asked(sentence, pair.stock)
    return any(
        run.start <= said and run.end is not None and at <= run.end <= asked
        for run in pair.stock.runs
    )


def call_cut_behind_an_answer_more(job: int, pair: Pair) -> bool:
    """That is why it was not called."""
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    return any(cut_behind_an_answer_more(n, pair) for n in asks)


def call_cut_behind_typed_words(job: int, pair: Pair) -> bool:
    """The application typed something while ours answered what stock had not put to the model. So
    the reply to this was still to come when the user's words were committed; on stock they ended
    it. It was heard first, and the session closed before the call was due behind it."""
    close = pair.plan.ends_at
    made = min((run.start for run in pair.stock.runs if run.number == job), default=inf)
    typed = [
        (pair.plan.moves[number].at, *span)
        for number, span in pair.ours.replies.items()
        if number not in pair.stock.replies
    ]
    more = answered_more(pair).keys() - pair.stock.put.keys()
    answers = [pair.ours.own_answers[n] for n in more & pair.ours.own_answers.keys()]
    for n, (asked, on_stock) in _asked_on_both(job, pair).items():
        over, due = pair.plan.sounds[n - 1].over, asked + made - on_stock
        for at, begun, end in typed:
            behind = over <= at <= on_stock and any(s <= at <= e for s, e in answers)
            in_time = asked <= begun and asked <= on_stock + LATE
            if close is not None and behind and in_time and made < close <= max(due, end) + MOMENT:
                return True
    return False


def _asked_on_both(job: int, pair: Pair) -> dict[int, Span]:
    """When the model was asked about each sentence that wants the job, on ours and on stock."""
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    said = [n for n in asks if n <= len(pair.plan.sounds)]
    ours, stock = pair.ours.asked, pair.stock.asked
    return {n: (ours[n], stock[n]) for n in said if n in ours and n in stock}


def call_cut_with_results(job: int, pair: Pair) -> bool:
    """The model was asked at the same time, and says nothing before the call; on ours it was to
    tell a result besides. Somebody interrupted in the moment that this takes, or closed the
    session."""
    made = min((run.start for run in pair.stock.runs if run.number == job), default=inf)
    closes = () if pair.plan.ends_at is None else (pair.plan.ends_at,)
    in_time = any(made <= stop <= made + MOMENT for stop in (*pair.ours.stops, *closes))
    return in_time and any(
        abs(_asked(n, pair.ours) - _asked(n, pair.stock)) <= MOMENT
        and not any(whole for _, whole in pair.ours.put.get(n, ()))
        and has_untold_results(_asked(n, pair.ours), pair)
        for n, answer in pair.plan.answers.items()
        if job in answer.jobs and not answer.words
    )


def _never_or_with_the_next(sentence: int, pair: Pair) -> bool:
    ours, sounds = pair.ours.latency.get(sentence), pair.plan.sounds
    if ours is None:
        return True
    later = ((n, pair.ours.latency.get(n)) for n in range(sentence + 1, len(sounds) + 1))
    answers = [sounds[n - 1].over + latency for n, latency in later if latency is not None]
    return bool(answers) and sounds[sentence - 1].over + ours <= min(answers) + MOMENT


def _interruptions(pair: Pair) -> Iterator[float]:
    yield from (sound.at for sound in pair.plan.sounds)
    yield from pair.ours.stops
    if pair.plan.ends_at is not None:
        yield pair.plan.ends_at


def _came_first(due: float, pair: Pair) -> Iterator[Span]:
    """What was heard on ours that keeps the answer waiting which is due on stock."""
    yield from (span for span in pair.ours.news if span not in pair.stock.news)
    for heard in pair.ours.audio:
        before = [other for other in pair.stock.audio if _begin_alike(heard.text, other.text)]
        into = [other.start for other in before if _over_the_user(other.start, pair)]
        said = any(start < heard.start and start < due + LATE for start in into)
        if said or (not before and _is_said_to_the_end(heard.text, pair)):
            yield heard.start, heard.end


def _is_said_to_the_end(text: str, pair: Pair) -> bool:
    """A tool says it that keeps its turn from being interrupted."""
    said = re.match(r"[sg](\d+)a", text)
    job = pair.plan.jobs.get(int(said[1])) if said else None
    return job is not None and job.policy in ("hold", "finish")


def _begin_alike(one: str, other: str) -> bool:
    """One of them was cut, or says results besides."""
    one, other = one.rstrip("."), other.rstrip(".")
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def _over_the_user(at: float, pair: Pair) -> bool:
    return any(sound.at <= at <= sound.over + ANSWER + MOMENT for sound in pair.plan.sounds)
