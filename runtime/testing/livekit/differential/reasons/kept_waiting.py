"""The reason for an answer that several differences delay: the time that is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.differential.plan import ASKED
from turnfsm.runtime.testing.livekit.side_by_side import LATE

from .delays import busy, outside, put_together, spoken, words_may_come
from .moments import ANSWER, COMMIT, ENDPOINTING, MOMENT, THINKS, Span, interrupted
from .waits import VAD_SILENCE

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.differential.plan import Plan

__all__ = ["kept_waiting_no_longer", "kept_waiting_until_the_close"]

NEXT = 0.4
"""Seconds from the end of a reply until the next one is heard, which was asked for then."""

TYPES = ("ask", "chat", "run")
"""What the application does that the model is to answer like the user's words."""


def kept_waiting_no_longer(sentence: int, pair: Pair) -> bool:
    """Until it was answered there was no more time than on stock in which the caller was kept
    waiting: nobody spoke, no words of the user might come, no call held its turn, no agent handed
    over, the model did not think about words that only ours had answered, about a second reply at
    once, or again about words that the agent before had put to it, no call ran for these, words
    that were spoken in a handoff were committed, and nothing that the application had asked for
    waited for an answer before it.

    What only ours says in this time must be due then. Or the user said more before this time was
    over: it is answered with this, which stock answers as well, or has lost, or has never put to
    the model, because it came after the commit. Or stock had begun to answer into it, put it to the
    model when ours did, and did not come to answer it; ours may put it to the model behind the
    agent's hook, as a call keeps it from asking ahead. If stock does not answer it, the answer
    takes no more time from there on than the sentence on stock, and the calls that it asks for.
    Or the model has no words for this, and is asked when stock asks it.
    Or nobody answers this, and ours neither; it is put to the model with what was said before, or
    stock had begun to answer while these words were on their way.
    Or the application or a tool, as a call that it asks for, interrupted before this time was over;
    on stock the answer had counted by then. Or the application closed the session before.
    """
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    if stock is None:
        return False
    over = pair.plan.sounds[sentence - 1].over
    on_stock = outside((over, over + stock), _causes(pair, pair.stock, spoken(pair.stock)))
    causes = [*_causes(pair, pair.ours, _said_in_time(pair))]
    if ours is not None and outside((over, over + ours), causes) <= on_stock + LATE:
        return True
    asked = min((at for at, _ in pair.ours.put.get(sentence, ())), default=inf)
    counted = over + stock + ANSWER
    for stop in (at for at in pair.ours.stops if max(asked, counted) <= at):
        if ours is None and outside((over, stop), causes) <= on_stock:
            return True
    close = pair.plan.ends_at or -inf
    if ours is None and counted <= close and outside((over, close), causes) <= on_stock:
        return True
    for run in pair.ours.runs:
        own = run.number in pair.plan.answers[sentence].jobs and interrupted(run, pair)
        unheard = run.end is not None and over < run.end and (ours is None or run.end < over + ours)
        if own and unheard and outside((over, run.end or inf), causes) <= on_stock:
            return True
    return any(
        outside((over, sound.at), causes) <= on_stock + 1e-6
        and _answered_together(sentence, more, pair)
        and (
            ours is None
            or pair.ours.latency.get(more) is None
            or pair.stock.latency.get(more) is not None  # then it is measured whether this is late
            or _comes_soon(sentence, more, over + ours, on_stock, causes, pair)
        )
        for more, sound in enumerate(pair.plan.sounds, 1)
        if more > sentence and sound.words
    )


def _calls_for(sentence: int, pair: Pair) -> Iterator[Span]:
    """When the calls run that it asks for, or what was said after it."""
    later = [answer for n, answer in pair.plan.answers.items() if n >= sentence]
    for run in pair.ours.runs:
        if any(run.number in answer.jobs for answer in later):
            yield run.start, run.end or inf


def _comes_soon(
    sentence: int, more: int, answered: float, before: float, causes: list[Span], pair: Pair
) -> bool:
    """From later words on, or from when ours puts them to the model as stock does, it takes no more
    time than the sentence took on stock, or than the model thinks."""
    asked = pair.ours.asked.get(more, -inf) if more in pair.stock.asked else -inf
    since, answers = max(pair.plan.sounds[more - 1].over, asked), pair.plan.answers
    longer = max(0.0, answers[more].ttft - answers[sentence].ttft)
    due = max(before + longer, answers[more].ttft if since == asked else 0.0)
    return outside((since, answered), [*causes, *_calls_for(more, pair)]) <= due + LATE


def _answered_together(sentence: int, more: int, pair: Pair) -> bool:
    ours, later = pair.ours.latency.get(sentence), pair.ours.latency.get(more)
    lost = more in pair.stock.words_lost - pair.ours.words_lost
    on_stock = lost or pair.stock.latency.get(more) is not None
    over, said = pair.plan.sounds[sentence - 1].over, pair.plan.sounds[more - 1]
    if ours is not None and later is None and _comes_with_an_empty_answer(over + ours, more, pair):
        return True
    if ours is not None and later is None and not on_stock:  # a call follows what is said first
        replied = [_reply_to(more, measured) for measured in (pair.ours, pair.stock)]
        return abs(over + ours - replied[0]) < MOMENT and replied[0] - LATE < replied[1] < inf
    begun = over + (pair.stock.latency.get(sentence) or inf)
    if ours is None or later is None:
        in_time = said.at <= begun <= said.over + words_may_come(said, pair.plan)
        in_time |= pair.ours.together.get(sentence) == more
        return ours is later and not on_stock and in_time
    on_stock |= more in pair.ours.asked.keys() - pair.stock.asked.keys()
    both = abs(pair.ours.asked.get(more, inf) - pair.stock.asked.get(more, -inf)) <= MOMENT
    on_stock |= both and said.at <= begun <= said.over
    words = said.over + words_may_come(said, pair.plan)
    on_stock |= _stock_asks_ahead(more, pair) and said.at <= begun <= words
    return on_stock and over + ours <= said.over + later + MOMENT


def _comes_with_an_empty_answer(answered: float, more: int, pair: Pair) -> bool:
    """The model has no words for what was said later. Both put this to it at the same moment; what
    is said as soon as it has thought answers the words before it."""
    answer, put = pair.plan.answers[more], put_together(more, pair)
    return not answer.words and put is not None and put <= answered <= put + answer.ttft + THINKS


def _stock_asks_ahead(sentence: int, pair: Pair) -> bool:
    """While a call runs, which keeps ours from this; ours asks as soon as the hook has run."""
    ours, stock = pair.ours.asked.get(sentence, inf), pair.stock.asked.get(sentence, inf)
    ahead = bool(pair.plan.settings.get("preemptive_generation", {}).get("enabled"))
    runs = any(run.start <= stock <= (run.end or inf) for run in pair.ours.runs)
    return ahead and runs and stock <= ours <= stock + pair.plan.hook + MOMENT


def _reply_to(sentence: int, measured: Measures) -> float:
    said = (heard.start for heard in measured.audio if heard.text.startswith(f"r{sentence}a"))
    return next(said, inf)


def kept_waiting_until_the_close(job: int, pair: Pair) -> bool:
    """The same, from words that ask for a call until the session closed; on stock until the call
    was made. A realtime model's calls are made with its answer, of which ours says nothing."""
    close, ours = pair.plan.ends_at, [*_causes(pair, pair.ours, _said_in_time(pair))]
    if pair.plan.model == "pipeline":
        return False
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    said = [n for n in asks if n not in pair.ours.own_answers]
    for over in (pair.plan.sounds[n - 1].over for n in said):
        begun = [r.start for r in pair.stock.runs if r.number == job and r.start >= over]
        if close is not None and begun and begun[0] <= close:
            stock = _causes(pair, pair.stock, spoken(pair.stock))
            if outside((over, close), ours) <= outside((over, begun[0]), stock) + LATE:
                return True
    return False


def _causes(pair: Pair, measured: Measures, said: Iterable[Span]) -> Iterator[Span]:
    heard = spoken(measured)
    yield from (span for span in busy(pair, measured) if span not in heard)
    yield from said
    yield from _waits_for_an_answer(pair, measured)
    yield from _between_replies(heard)
    yield from _committed_anew(pair.plan, measured)
    yield from _asked_anew(pair.plan, measured)
    if measured is pair.ours:
        commits = [move.at for move in pair.plan.moves if move.what == "commit"]
        yield from ((at, at + COMMIT + MOMENT) for at in commits)


def _waits_for_an_answer(pair: Pair, measured: Measures) -> Iterator[Span]:
    """What the application asked for while the model thought about words of the user."""
    typed = [move.at for move in pair.plan.moves if move.what in TYPES]
    for sentence, asked in measured.put.items():
        thinks = pair.plan.answers[sentence].ttft + MOMENT
        for at in typed:
            yield from ((at, begun + thinks) for begun, _ in asked if begun <= at < begun + thinks)


def _committed_anew(plan: Plan, measured: Measures) -> Iterator[Span]:
    """If another agent takes over while the user speaks, LiveKit does not see the end of their
    voice, and waits for more words from the transcript on."""
    for number, sound in enumerate(plan.sounds, 1):
        if sound.words and sound.stt_delay is not None:
            end = sound.over + VAD_SILENCE
            if any(sound.at <= begun <= end for begun in measured.handoffs):
                words = sound.over + sound.stt_delay
                put = [at for at, _ in measured.put.get(number, ())]
                yield words, min([words + ENDPOINTING + MOMENT, *put])


def _asked_anew(plan: Plan, measured: Measures) -> Iterator[Span]:
    """The model of an agent that hands over thinks about words; then the next agent's thinks about
    them for as long."""
    for sentence, put in measured.put.items():
        for at in measured.handoffs:
            before = [asked for asked, _ in put if asked < at]
            after = [asked for asked, _ in put if at <= asked]
            if before and after:
                thought = min(at - before[-1], plan.answers[sentence].ttft)
                yield after[0], after[0] + thought


def _between_replies(heard: list[Span]) -> Iterator[Span]:
    """What is said in two replies on one session may be said in a single one on the other."""
    for (_, end), (start, _) in pairwise(sorted(heard)):
        if end < start <= end + NEXT + 1e-6:
            yield end, start


def _said_in_time(pair: Pair) -> Iterator[Span]:
    """What ours says, but for what it has said before to its end, and what is late itself."""
    said: set[str] = set()
    for heard in pair.ours.audio:
        words = heard.text.split() or [""]  # "": less than a word
        each = (heard.end - heard.start) / len(words)
        for place, word in enumerate(words):
            at, name = heard.start + place * each, word[: -1 - word.endswith(".")]
            if name not in said and _is_due(name, heard.start, pair):
                yield at, at + each
        said |= {word[:-2] for word in words if word.endswith(".") and _is_said_once(word, pair)}


def _is_said_once(word: str, pair: Pair) -> bool:
    """An answer, what the application wants said, or the result of a call that ran once."""
    kind, number = word[0], _number(word)
    return kind in "ry" or (kind == "t" and sum(r.number == number for r in pair.ours.runs) == 1)


def _is_due(name: str, at: float, pair: Pair) -> bool:
    """An answer, or what the application asked for, comes no later than on stock, but for what
    delays it; or stock does not say it at all."""
    wanted = _wanted(name, pair)
    begun = next((h.start for h in pair.stock.audio if h.text.startswith(name + "a")), None)
    if wanted is None or wanted >= at or begun is None:
        return True
    due = LATE + outside((wanted, begun), _causes(pair, pair.stock, spoken(pair.stock)))
    return outside((wanted, at), _causes(pair, pair.ours, spoken(pair.ours))) <= due


def _wanted(name: str, pair: Pair) -> float | None:
    """Since when it is to be said, if the user or the application asked for it."""
    kind, number = name[:1], _number(name)
    if kind == "r" and 0 < number <= len(pair.plan.sounds):
        return pair.plan.sounds[number - 1].over
    move = number if kind == "y" else number % 10 if kind == "g" and number >= ASKED else -1
    return pair.plan.moves[move].at if 0 <= move < len(pair.plan.moves) else None


def _number(word: str) -> int:
    return int("".join(filter(str.isdigit, word)) or -1)
