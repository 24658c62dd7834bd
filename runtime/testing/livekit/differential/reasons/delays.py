"""Reasons about an answer that several differences delay: each for as long as its cause lasts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.differential.agents import GREETING
from turnfsm.runtime.testing.livekit.side_by_side import LATE, SLOW

from .moments import (
    ANSWER,
    ENDPOINTING,
    MOMENT,
    THINKS,
    Span,
    announced,
    answered_more,
    handoffs_begun,
    takes_more,
)
from .waits import (
    FALSE_INTERRUPTION,
    FRAME,
    REPLY,
    SERVER_SILENCE,
    VAD_SILENCE,
    news_within,
    wait_for_words,
)

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.differential.plan import Answer, Plan, Sound

__all__ = [
    "asked_later",
    "busy",
    "call_delayed_by_its_causes",
    "call_stopped_before_it_was_due",
    "delayed_by_its_causes",
    "handoffs",
    "held",
    "outside",
    "put_together",
    "quiet_from",
    "run_beside_a_run",
    "spoken",
    "words_may_come",
]


def delayed_by_its_causes(sentence: int, pair: Pair) -> bool:
    """It is later by no more than all of these together: the model was asked later, because a call
    held its turn, an agent handed over or said what cannot be interrupted, or about words that
    stock has lost; and what else was said before the answer. If the user speaks at that time, it is
    answered with what they say; not at all, if neither session answers this. Or it was begun in
    time, and cut so soon that it does not count."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    if stock is None:
        return False
    over = pair.plan.sounds[sentence - 1].over
    if ours is not None and _in_time(sentence, over + ours, pair):
        return True
    if ours is None and _given_up_with_words(sentence, over, stock, pair):
        return True
    begun, cut = pair.ours.begun.get(sentence, (inf, inf))
    in_time = begun < inf and _in_time(sentence, begun, pair)
    return in_time and _cut_by_somebody(begun, cut, pair)


def call_delayed_by_its_causes(number: int, pair: Pair) -> bool:
    """A call of the application returns when what it asked for was heard. It takes no more time
    than on stock in which nobody speaks, no words of the user may come, no call holds its turn, and
    no agent hands over. Or the session closed before that; or it is a run, and was still open for
    these reasons when something more began that LiveKit counts to an open run."""
    move, close = pair.plan.moves[number], pair.plan.ends_at
    ours, stock = pair.ours.waits.get(number), pair.stock.waits.get(number)
    if number in pair.ours.raised:
        ours = close - move.at if close is not None and move.what == "run" else None
    if ours is None or stock is None or move.what == "aclose":
        return False
    causes, end = busy(pair, pair.ours), move.at + stock
    rest = SLOW + outside((move.at, end), busy(pair, pair.stock))
    joins = [at for at in _joins(pair) if end - MOMENT <= at <= move.at + ours]
    ends = [move.at + ours, *(joins if move.what == "run" else ())]
    if any(outside((move.at, at), causes) <= rest for at in ends):
        return True
    return move.what == "run" and _tells_a_result(move.at, move.at + ours, pair)


def _tells_a_result(begin: float, end: float, pair: Pair) -> bool:
    """The run ends as a result has been told whose call had called `ctx.update()`, and ended while
    the run was open. It is told as soon as it may be. Stock had told it before, or given it up."""
    causes = busy(pair, pair.ours)
    for call in pair.ours.runs:
        told = pair.ours.told.get(call.number)
        last = [heard.end for heard in pair.ours.audio if heard.start == told]
        if pair.plan.jobs[call.number].waits != "updates" or told is None or call.end is None:
            continue
        soon = outside((call.end, told), causes) <= SLOW + THINKS + pair.plan.hook
        if soon and begin <= call.end <= end and any(abs(end - at) <= MOMENT for at in last):
            return True
    return False


def _joins(pair: Pair) -> Iterator[float]:
    """When something began that an open run waits for, too: what the application asks for, and the
    results of calls that have called `ctx.update()`."""
    asks = ("say", "say_on", "reply", "ask", "chat")
    yield from (move.at for move in pair.plan.moves if move.what in asks)
    updates = {number for number, job in pair.plan.jobs.items() if job.waits == "updates"}
    yield from (run.end for run in pair.ours.runs if run.number in updates and run.end is not None)


def call_stopped_before_it_was_due(job: int, pair: Pair) -> bool:
    """The model was asked later about what asks for it, because that turn was kept. Somebody
    interrupted the answer, or closed the session, before the tool would have begun; on stock it had
    begun by then. If the user's next words did this, the model answers these."""
    closes = () if pair.plan.ends_at is None else (pair.plan.ends_at,)
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    return any(
        begin <= run.start <= stop and asked <= stop <= run.start + later + FRAME
        for n in asks
        if (later := asked_later(n, pair)) > 0.0
        for run in pair.stock.runs
        if run.number == job
        for stop in (*pair.ours.stops, *closes, *_words_that_end_the_answer(n, pair))
        for begin, asked in [(_asked(n, pair.stock), _asked(n, pair.ours))]
    )


def _words_that_end_the_answer(sentence: int, pair: Pair) -> Iterator[float]:
    """When later words came, if each request to answer the sentence was given up."""
    put = pair.ours.put.get(sentence, ())
    if put and not any(whole for _, whole in put):
        later = (sound for sound in pair.plan.sounds[sentence:] if sound.words)
        yield from (s.over + s.stt_delay for s in later if s.stt_delay is not None)


def run_beside_a_run(number: int, pair: Pair) -> bool:
    """It raises because a run before it was still open. On stock that one had ended; if it takes
    too long, it is found itself."""
    move = pair.plan.moves[number]
    before = [(n, m.at) for n, m in enumerate(pair.plan.moves[:number]) if m.what == "run"]
    ours, stock = pair.ours.waits, pair.stock.waits
    return (
        move.what == "run"
        and number in pair.ours.raised
        and any(
            at + (stock.get(n) or inf) <= move.at <= at + (ours.get(n) or inf) for n, at in before
        )
    )


def busy(pair: Pair, measured: Measures) -> list[Span]:
    """When somebody spoke or words of the user might come; on ours also when a call held its turn,
    while an agent handed over, and what words take that stock lost, or put something behind."""
    user = [(sound.at, sound.over + words_may_come(sound, pair.plan)) for sound in pair.plan.sounds]
    more = [*held(pair), *handoffs(pair), *takes_more(pair)] if measured is pair.ours else []
    return [*user, *spoken(measured), *more]


def _due(sentence: int, over: float, ours: float, stock: float, pair: Pair) -> float:
    """When the answer is to be heard."""
    due = over + stock + asked_later(sentence, pair)
    due += max(_said_besides(over, ours, stock, pair), _waited_for_news(sentence, pair))
    # What the application asks for meanwhile is said before it.
    first, moves = _replies(over, over + ours, pair.ours), pair.plan.moves
    later = first.keys() - _replies(over, over + stock, pair.stock)
    asked = _asked(sentence, pair.ours)
    if due <= over + stock:
        later = {number for number in later if moves[number].at <= asked < inf}
    return due + sum(first[number] for number in later)


def _in_time(sentence: int, heard: float, pair: Pair) -> bool:
    """An answer that is heard at this moment is delayed by its causes only."""
    over, stock = pair.plan.sounds[sentence - 1].over, pair.stock.latency[sentence] or 0.0
    due = _due(sentence, over, heard - over, stock, pair)
    with_words = _answered_with_words(sentence, due, due > over + stock, pair)
    return heard <= max(_behind_noise(due, pair) + LATE, with_words + 1e-6)


def _behind_noise(due: float, pair: Pair) -> float:
    """What is due while the words of a sound may still come waits for them; there are none."""
    for sound in pair.plan.sounds:
        until = sound.over + words_may_come(sound, pair.plan)
        if not sound.words and sound.at <= due < until:
            due = until
    return due


def _answered_with_words(sentence: int, due: float, delayed: bool, pair: Pair) -> float:
    """When what the user says at this time is answered, if it is answered on stock as well; or what
    they have said while the answer was delayed. If that answer is cut on both sides before it
    counts, this one comes behind it; if the model has no words for that, it is asked again then.
    If only ours answers what they have said, that is not later than it takes; nor if both ask the
    model at the same moment while the answer is delayed, or ours later, as that turn was kept."""
    with_them, more = -inf, answered_more(pair)
    for number, sound in enumerate(pair.plan.sounds, 1):
        until = sound.over + words_may_come(sound, pair.plan)
        if number <= sentence or not sound.words or sound.at > due + (LATE if delayed else 0.0):
            continue
        if not delayed and due > until:
            continue
        answered, own = pair.ours.latency.get(number), pair.ours.own_answers.get(number)
        planned, put = pair.plan.answers.get(number), _put(number, pair)
        if answered is not None and pair.stock.latency.get(number) is not None:
            with_them = max(with_them, sound.over + answered)
        elif delayed and answered is not None and put is not None and planned is not None:
            with_them = max(with_them, put + planned.ttft + THINKS + _calls_first(planned, pair))
        elif answered is None and own is not None and own == pair.stock.own_answers.get(number):
            with_them = max(with_them, own[1] + THINKS)
        elif planned is not None and due <= until and (not planned.words or number in more):
            with_them = max(with_them, until + pair.plan.hook + planned.ttft + THINKS)
    return with_them


def _put(sentence: int, pair: Pair) -> float | None:
    """When both put it to the model; or ours did alone, because the turn was kept, for an answer
    that was not given up."""
    together = put_together(sentence, pair)
    if together is not None or asked_later(sentence, pair) <= 0.0:
        return together
    return next((at for at, done in pair.ours.put.get(sentence, ()) if done), None)


def _calls_first(answer: Answer, pair: Pair) -> float:
    """Seconds until the results of an answer's calls are told, if it has no words."""
    jobs = [pair.plan.jobs[number] for number in answer.jobs]
    took = (job.seconds + (job.after or 0.0) for job in jobs)
    return 0.0 if answer.words else max((seconds + THINKS for seconds in took), default=0.0)


def _given_up_with_words(sentence: int, over: float, stock: float, pair: Pair) -> bool:
    """While the answer was delayed the user said what nobody answers, for example at the end."""
    for number, sound in enumerate(pair.plan.sounds, 1):
        answered = [measured.latency.get(number) for measured in (pair.ours, pair.stock)]
        if number > sentence and sound.words and answered == [None, None]:
            due = _due(sentence, over, sound.at - over, stock, pair)
            if over + stock < min(due, sound.at) and sound.at <= due + LATE:
                return True
    return False


def put_together(sentence: int, pair: Pair) -> float | None:
    """When both put it to the model at the same moment, for an answer that was not given up."""
    ours, stock = (
        [at for at, done in m.put.get(sentence, ()) if done] for m in (pair.ours, pair.stock)
    )
    return next(
        (at for at in ours if any(abs(at - on_stock) <= MOMENT for on_stock in stock)), None
    )


def _cut_by_somebody(begun: float, cut: float, pair: Pair) -> bool:
    """The answer was cut so soon that it does not count: by the user, by an interruption of the
    application or of a tool, or by the close."""
    sounds, closes = pair.plan.sounds, () if pair.plan.ends_at is None else (pair.plan.ends_at,)
    user = any(sound.at <= cut <= sound.over + VAD_SILENCE + MOMENT for sound in sounds)
    stopped = any(abs(stop - cut) <= MOMENT for stop in (*pair.ours.stops, *closes))
    return cut - begun < ANSWER and (user or stopped)


def asked_later(sentence: int, pair: Pair) -> float:
    """Seconds, if the turn was kept for all of them, but for the agent's hook: it runs for each
    turn, also for one that stock has lost, or has answered before; and again for the next agent."""
    begin, end = _asked(sentence, pair.stock), _asked(sentence, pair.ours)
    if not begin < end < inf:
        return _asked_again(sentence, pair)
    kept = [*held(pair), *handoffs(pair), *_begun_anew(begin, pair)]
    kept += announced(pair.plan, pair.ours)
    until = max((u for s, u in kept if s < end and u > begin - FRAME), default=-inf)
    if until > begin - FRAME:
        # What waited for the floor before the turn was committed is heard first.
        kept += (
            (first - MOMENT, last)
            for move, (first, last) in pair.ours.replies.items()
            if pair.plan.moves[move].at <= until and first < end
        )
        later = pair.plan.sounds[sentence:]  # a turn that was kept is not committed meanwhile
        kept += ((s.at, s.over + words_may_come(s, pair.plan) + MOMENT) for s in later)
    rest = outside((begin, end), kept)
    before = pair.stock.words_lost - pair.ours.words_lost
    ours, stock = pair.ours.asked, pair.stock.asked
    before |= {n for n in ours if begin < ours[n] <= end and stock.get(n, inf) <= begin}
    hooks = 1 + sum(n < sentence for n in before)
    hooks += sum(begin <= start < end for start, _ in handoffs(pair))
    return end - begin if rest <= hooks * pair.plan.hook + MOMENT else 0.0


def _asked_again(sentence: int, pair: Pair) -> float:
    """Seconds from a request that was given up to the next: words came that stock has lost, and
    LiveKit waits anew; or only ours handed over, and the next agent asked when it had greeted; or
    a call that held its turn had something said first, and has ended now."""
    more = pair.stock.words_lost - pair.ours.words_lost
    sounds = [pair.plan.sounds[n - 1] for n in more]
    came = [s.over + s.stt_delay for s in sounds if s.stt_delay is not None]
    for (at, whole), (again, _) in pairwise(pair.ours.put.get(sentence, ())):
        handed_over = any(start <= at <= again <= end + MOMENT for start, end in handoffs(pair))
        handed_over &= not any(at <= taken <= again for taken in pair.stock.handoffs)
        anew = any(at <= c <= again <= c + ENDPOINTING + MOMENT for c in came)
        ended = any(s <= at and abs(e - again) <= MOMENT for s, e in held(pair))
        if not whole and (anew or handed_over or ended):
            return again - at
    return 0.0


def _asked(sentence: int, measured: Measures) -> float:
    """When the model was asked about it, or about what was said after it."""
    return min((at for number, at in measured.asked.items() if number >= sentence), default=inf)


def held(pair: Pair) -> Iterator[Span]:
    for run in pair.ours.runs:
        if pair.plan.jobs[run.number].policy in ("finish", "hold"):
            yield run.start, run.end or inf


def handoffs(pair: Pair) -> Iterator[Span]:
    """From the call, or that of the application, to the end of the next agent's greeting. In this
    time somebody speaks, a tool works, or the model thinks; or what is said is paused for a sound,
    as on stock: no turn ends the pause, and a realtime model gives no words to the session."""
    plan, ours = pair.plan, pair.ours
    before: Counter[float] = Counter()  # two handoffs may have begun before the first greeting
    for begin in sorted(handoffs_begun(plan, ours)):
        greeted = [h.end for h in ours.audio if GREETING in h.text and h.end >= begin] or [begin]
        end = greeted[min(before[greeted[0]], len(greeted) - 1)]
        before[greeted[0]] += 1
        pauses = plan.can_pause and plan.model == "realtime"
        least = VAD_SILENCE + FALSE_INTERRUPTION if pauses else 0.0
        user = [(s.at, s.over + max(words_may_come(s, plan), least)) for s in plan.sounds]
        tools = [(run.start, run.end) for run in ours.runs if run.end is not None]
        if outside((begin, end), [*spoken(ours), *user, *tools]) <= REPLY:
            yield begin, end


def quiet_from(at: float, pair: Pair) -> float:
    """When the user has first been quiet for so long that a turn can begin."""
    for sound in sorted(pair.plan.sounds, key=lambda sound: sound.at):
        if sound.at <= at:
            at = max(at, sound.over + max(words_may_come(sound, pair.plan), ENDPOINTING + MOMENT))
    return at


def spoken(measured: Measures) -> list[Span]:
    return [(heard.start, heard.end) for heard in measured.audio]


def _begun_anew(asked: float, pair: Pair) -> Iterator[Span]:
    """Words that stock has lost were committed shortly before: LiveKit waits anew."""
    more = pair.stock.words_lost - pair.ours.words_lost
    if any(asked - ENDPOINTING <= pair.ours.asked.get(n, -inf) <= asked for n in more):
        yield asked, asked + ENDPOINTING


def _said_besides(over: float, ours: float, stock: float, pair: Pair) -> float:
    """Seconds in which the caller heard what has come of other calls, or that they still run."""
    return _besides(over, over + ours, pair.ours) - _besides(over, over + stock, pair.stock)


def _besides(start: float, end: float, measured: Measures) -> float:
    """`news` has no part of `pending`: that names no job."""
    pending = sum(e - s for s, e in measured.pending if start <= s and e <= end)
    return news_within(start, end, measured) + pending


def _replies(start: float, end: float, measured: Measures) -> dict[int, float]:
    """How long the replies are that the application has asked for, without the news in them."""
    return {
        number: last - first - news_within(first, last, measured)
        for number, (first, last) in measured.replies.items()
        if start <= first and last <= end + 1e-6
    }


def _waited_for_news(sentence: int, pair: Pair) -> float:
    """Seconds by which the call whose result is the answer took longer, for news in its reply: the
    tool waits for the end of this. On stock they were told beside it."""
    for job in re.findall(r"\bt([1-9]\d*)a", pair.stock.answered_with.get(sentence, "")):
        if pair.plan.jobs[int(job)].waits != "playout":
            continue
        stock, ours = (_last_run(int(job), sentence, m) for m in (pair.stock, pair.ours))
        if stock is not None and ours is not None:
            longer = (ours[1] - ours[0]) - (stock[1] - stock[0])
            return max(0.0, min(longer, news_within(*ours, pair.ours)))
    return 0.0


def _last_run(job: int, sentence: int, measured: Measures) -> Span | None:
    since = measured.asked.get(sentence, inf)
    runs = (r for r in measured.runs if r.number == job and r.start >= since)
    return next(((r.start, r.end) for r in runs if r.end is not None), None)


def words_may_come(sound: Sound, plan: Plan) -> float:
    """Seconds after a sound in which the agent waits for its words, or for the model to hear its
    end."""
    if sound.words and sound.stt_delay is not None and not _is_cleared(sound, plan):
        silence = SERVER_SILENCE if plan.model == "server" else VAD_SILENCE
        return max(sound.stt_delay, silence) + MOMENT
    return VAD_SILENCE + wait_for_words(sound, plan)


def _is_cleared(sound: Sound, plan: Plan) -> bool:
    """All its words were said, and the application cleared the turn, so that LiveKit loses them.
    The VAD still heard the voice: more words might follow."""
    heard = sound.over + min(VAD_SILENCE, sound.stt_delay or 0.0)
    return any(move.what == "clear" and sound.over <= move.at < heard for move in plan.moves)


def outside(span: Span, causes: Iterable[Span]) -> float:
    """Seconds of a span in which there is no cause, to the millisecond."""
    at, rest = span[0], 0.0
    for start, end in sorted(causes):
        if end > at and start < span[1]:
            rest += max(0.0, start - at)
            at = end
    return round(rest + max(0.0, span[1] - at), 3)
