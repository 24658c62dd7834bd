"""Reasons about calls: their policies, their results, the turns that they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from .delays import handoffs, held, outside, quiet_from, spoken, words_may_come
from .ends import DRAIN
from .moments import (
    ANSWER,
    COMMIT,
    ENDPOINTING,
    MOMENT,
    asked_in_use,
    committed,
    handoffs_begun,
    interrupted,
    takes_more,
    thinks,
)

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.pair import Pair

__all__ = [
    "answered_after_a_wait",
    "answered_sooner",
    "asked_for_before_typed",
    "asked_for_sooner",
    "asked_for_together",
    "asked_while_the_user_spoke",
    "called_after_a_wait",
    "cancelled",
    "cancelled_before_its_end",
    "has_no_result_to_tell",
    "holding",
    "interrupt_is_refused",
    "interrupted_by_a_tool",
    "interrupts_a_held_turn",
    "its_call_was_cancelled",
    "its_call_was_interrupted_by_a_tool",
    "spoken_over_a_held_turn",
    "stands_before_typed",
    "turn_interrupted_by_tool",
    "wait_raised",
    "wait_raised_and_nothing_ended",
]

FLUSH = 0.5
"""Seconds of silence that a commit of the application sends to the STT."""

REMOVED = 2.0
"""Seconds after words in which they may not be committed yet: the STT takes 1.5 s at most."""


INTERRUPTION = 0.6
"""Seconds of a voice until it interrupts: LiveKit's `min_duration`, and the frames of the VAD."""


def cancelled(job: int, pair: Pair) -> bool:
    """Its policy is to be cancelled, and it was, as its turn was interrupted; perhaps before it had
    begun."""
    if pair.plan.jobs[job].policy != "cancel":
        return False
    runs = [run for run in pair.ours.runs if run.number == job]
    ends = [run.end for run in runs if run.how == "CancelledError" and run.end is not None]
    if not runs and job in pair.ours.cut:
        return any(_interrupted_as_it_was_made(n, job, pair) for n in pair.ours.put)
    return bool(ends) and all(_turn_was_interrupted(end, pair) for end in ends)


def _interrupted_as_it_was_made(sentence: int, job: int, pair: Pair) -> bool:
    """The sentence asks for it, or one before it that the model has not answered, and somebody
    interrupted, spoke, or closed the session as the answer began, or words came then."""
    answer, sounds = pair.plan.answers.get(sentence), pair.plan.sounds
    wanted = any(job in other.jobs for n, other in pair.plan.answers.items() if n <= sentence)
    moments = [*pair.ours.stops, *(sound.at for sound in sounds)]
    later = (s for s in sounds[sentence:] if s.words)
    moments += [s.over + s.stt_delay for s in later if s.stt_delay is not None]
    if pair.plan.ends_at is not None:
        moments.append(pair.plan.ends_at)
    return (
        answer is not None
        and wanted
        and any(
            asked <= at <= asked + answer.ttft + ANSWER + MOMENT
            for asked, _ in pair.ours.put[sentence]
            for at in moments
        )
    )


def _turn_was_interrupted(at: float, pair: Pair) -> bool:
    """Somebody interrupted, spoke, or had just spoken; words were committed, if only those that
    were kept, or the application was committing; a call ended that had held the turn over the
    user; a handoff had waited for it; or the session was being closed."""
    plan, close = pair.plan, pair.plan.ends_at
    spoken = [(s.at, s.over + words_may_come(s, plan) + ENDPOINTING) for s in plan.sounds]
    commits = [move.at for move in plan.moves if move.what == "commit"]
    moments = [*pair.ours.stops, *(commit for commit, _ in committed(pair))]
    moments += [
        run.end
        for run in holding(pair)
        if run.end is not None
        and any(begin <= run.end and run.start <= over for begin, over in spoken)
    ]
    return (
        any(abs(at - moment) <= MOMENT for moment in moments)
        or any(begin <= at <= over for begin, over in spoken)
        or any(begin <= at <= begin + FLUSH + COMMIT + MOMENT for begin in commits)
        or any(begun + DRAIN <= at for begun in handoffs_begun(plan, pair.ours))
        or (close is not None and close <= at)
    )


def cancelled_before_its_end(job: int, pair: Pair) -> bool:
    """No other run of it has given a result either."""
    gave = any(run.number == job and run.how in ("result", "ToolError") for run in pair.ours.runs)
    return cancelled(job, pair) and not gave


def wait_raised(job: int, pair: Pair) -> bool:
    """Its wait for the preamble was interrupted, before it did anything."""
    return any(
        run.number == job and run.how == "SpeechInterrupted" and run.effect is None
        for run in pair.ours.runs
    )


def wait_raised_and_nothing_ended(job: int, pair: Pair) -> bool:
    """The same call has a result on stock. The model made it again, and no call of ours had ended
    when the session closed."""
    close = pair.plan.ends_at
    runs = [run for run in pair.ours.runs if run.number == job]
    raised = [run for run in runs if run.how == "SpeechInterrupted" and run.effect is None]
    rest = [run for run in runs if run not in raised]
    return close is not None and any(
        abs(run.start - other.start) <= MOMENT
        and other.how == "result"
        and (other.end or inf) <= pair.stock.told.get(job, -inf)
        and all(again.end is None or again.end >= close for again in rest)
        for run in raised
        for other in pair.stock.runs
        if other.number == job
    )


def spoken_over_a_held_turn(about: int, pair: Pair) -> bool:
    """So much more was heard while such a call ran and the user spoke, or until the interruption
    after it took effect."""
    held = [(run.start, (run.end or inf) + INTERRUPTION) for run in holding(pair)]
    spans = [
        (max(heard.start, sound.at), min(heard.end, sound.over))
        for sound in pair.plan.sounds
        for heard in pair.ours.audio
    ]
    both = sum(end - begin - outside((begin, end), held) for begin, end in spans if begin < end)
    return pair.ours.overlap - pair.stock.overlap <= both + MOMENT


def interrupt_is_refused(move: int, pair: Pair) -> bool:
    """The application wanted to interrupt such a turn while the call ran, or its handoff was still
    to begin."""
    wanted = pair.plan.moves[move]
    held = any(run.start <= wanted.at <= _holds_until(run, pair) for run in holding(pair))
    return held and move in pair.ours.raised and wanted.what in ("interrupt", "chat")


def its_call_was_cancelled(sentence: int, pair: Pair) -> bool:
    """What it asked for was cancelled with its turn, which somebody had interrupted; or stock
    answered with nothing but results of such calls, and those that ours had told before."""
    if any(cancelled(job, pair) for job in pair.plan.answers[sentence].jobs):
        return True
    answer, stock = pair.stock.answered_with.get(sentence, ""), pair.stock.latency.get(sentence)
    told = {int(number) for number in re.findall(r"\bt(\d+)a", answer)} & set(pair.plan.jobs)
    only_told = len(re.findall(r"\b[a-z]+\d+a", answer)) == len(told)
    cut = {job for job in told if cancelled(job, pair)}
    if stock is None or not cut or not only_told:
        return False
    begun = pair.plan.sounds[sentence - 1].over + stock
    return all(pair.ours.told.get(job, inf) < begun for job in told - cut)


def answered_sooner(sentence: int, pair: Pair) -> bool:
    """It, or what was said after it, was being answered when the application, a tool or a noise
    interrupted, or when words came that the application then removed; on stock, which waits for
    tools of interrupted turns, the model had not been asked yet, or only ahead, and was asked
    again."""
    return any(_cut_before_stock_asked(n, pair) for n in pair.ours.asked if n >= sentence)


def asked_for_sooner(job: int, pair: Pair) -> bool:
    """What asks for it was being answered when somebody interrupted, and not yet on stock."""
    asks = [n for n, a in pair.plan.answers.items() if job in a.jobs and n in pair.ours.asked]
    return any(_cut_before_stock_asked(n, pair) for n in asks)


def _cut_before_stock_asked(sentence: int, pair: Pair) -> bool:
    begun, on_stock = pair.ours.asked[sentence], asked_in_use(sentence, pair)
    stops = [*pair.ours.stops, *_removed_words(sentence, pair)]
    if not pair.plan.can_pause:
        noises = (s for s in pair.plan.sounds if not s.words and begun <= s.over + MOMENT)
        loud = ((max(begun, s.at + INTERRUPTION), s.over + MOMENT) for s in noises)
        stops += [at for at, over in loud if at <= over]
    return any(begun <= stop <= on_stock for stop in stops)


def _removed_words(sentence: int, pair: Pair) -> Iterator[float]:
    """When later words came that `clear_user_turn` has removed on both sides."""
    clears = [move.at for move in pair.plan.moves if move.what == "clear"]
    for number in pair.stock.words_lost & pair.ours.words_lost:
        sound = pair.plan.sounds[number - 1]
        if number > sentence and any(sound.at <= at <= sound.over + REMOVED for at in clears):
            yield sound.over + (sound.stt_delay or 0.0)


def asked_for_together(job: int, pair: Pair) -> bool:
    """What asks for it is on ours a part of a turn with a later sentence, and the model answers
    that. Stock lost the other sentence; or ours had waited for a call that holds its turn, or for a
    handoff, and the user went on to speak meanwhile. Stock may have heard a part of it only."""
    more = pair.stock.words_lost - pair.ours.words_lost
    asks = [(n, pair.ours.together.get(n)) for n, a in pair.plan.answers.items() if job in a.jobs]
    return any(
        later is not None
        and n in {*pair.stock.asked, *pair.stock.put, *pair.stock.words_lost}
        and (later in more or _held(n, later, pair) or _taken_up(n, later, pair))
        for n, later in asks
    )


def asked_for_before_typed(job: int, pair: Pair) -> bool:
    """What asks for it stands before typed words in the request, and the model answers these."""
    return any(stands_before_typed(n, pair) for n, a in pair.plan.answers.items() if job in a.jobs)


def stands_before_typed(sentence: int, pair: Pair) -> bool:
    """The user typed, and spoke before that was answered. A realtime model has heard this when it
    gets the typed words; it gets both to answer. Ours did not ask it about this again."""
    at, last = pair.ours.before_typed.get(sentence), pair.ours.put.get(sentence, ())
    if at is None or pair.plan.model == "pipeline" or any(whole for _, whole in last):
        return False
    return any(
        move.what in ("ask", "chat", "run")
        and move.at <= at
        and pair.ours.replies.get(number, (-inf, 0.0))[0] >= at
        for number, move in enumerate(pair.plan.moves)
    )


def _held(sentence: int, later: int, pair: Pair) -> bool:
    """Its turn was kept, for a call that holds its turn or a handoff, when stock asked the model
    about it, and the user was not quiet between that and the later sentence."""
    over = pair.plan.sounds[sentence - 1].over
    asked, again = pair.stock.asked.get(sentence, over), pair.plan.sounds[later - 1].at
    calls = [(run.start, run.end or inf) for run in holding(pair)]
    kept = [*calls, *handoffs(pair)]
    return any(begin <= asked and again <= quiet_from(end, pair) for begin, end in kept)


def _taken_up(sentence: int, later: int, pair: Pair) -> bool:
    """From when stock asked the model about it until ours asked about both, somebody spoke, words
    might come, the model thought about what the user had said, a call held its turn, or an agent
    handed over; but for the agent's hook, which runs for each turn."""
    begin = pair.stock.asked.get(sentence, pair.plan.sounds[sentence - 1].over)
    # The transcript of the later sentence may come first, and the model be asked about it alone.
    end = max(pair.ours.asked.get(later, inf), pair.ours.asked.get(sentence, -inf))
    least = ENDPOINTING + MOMENT
    user = [(s.at, s.over + max(words_may_come(s, pair.plan), least)) for s in pair.plan.sounds]
    causes = [*user, *spoken(pair.ours), *held(pair), *handoffs(pair), *takes_more(pair)]
    hooks = pair.plan.hook * (later - sentence)
    return outside((begin, end), [*causes, *thinks(pair)]) <= hooks + MOMENT


def holding(pair: Pair) -> list[JobRun]:
    """The runs of calls whose turn cannot be interrupted."""
    jobs = pair.plan.jobs
    return [run for run in pair.ours.runs if jobs[run.number].policy in ("finish", "hold")]


def its_call_was_interrupted_by_a_tool(job: int, pair: Pair) -> bool:
    """A tool of an earlier turn interrupted the answer to what asks for it."""
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    return any(interrupted_by_a_tool(n, pair) for n in asks)


def interrupted_by_a_tool(sentence: int, pair: Pair) -> bool:
    """A tool of an earlier turn interrupted while the model thought about it, or before the answer
    counted."""
    thinks = pair.plan.answers[sentence].ttft + ANSWER + MOMENT
    put = [at for at, _ in pair.ours.put.get(sentence, ())]
    return any(
        interrupted(run, pair) and run.start < at <= (run.end or inf) <= at + thinks
        for at in put
        for run in pair.ours.runs
    )


def turn_interrupted_by_tool(job: int, pair: Pair) -> bool:
    """It, or a tool called with it, has ended their turn: no reply follows."""
    starts = [run.start for run in pair.ours.runs if run.number == job]
    return any(
        interrupted(run, pair) and abs(run.start - start) < 0.2
        for run in pair.ours.runs
        for start in starts
    )


def _came_of_a_wait(jobs: Sequence[int], pair: Pair) -> bool:
    """On stock these calls came of requests about the results of calls which on ours have none:
    their wait for the preamble was interrupted."""
    brought = [pair.stock.brought.get(job, frozenset()) for job in jobs]
    return bool(brought) and all(
        news and all(wait_raised(job, pair) for job in news) for news in brought
    )


def called_after_a_wait(job: int, pair: Pair) -> bool:
    return _came_of_a_wait([job], pair)


def answered_after_a_wait(sentence: int, pair: Pair) -> bool:
    return _came_of_a_wait(pair.plan.answers[sentence].jobs, pair)


def interrupts_a_held_turn(about: int, pair: Pair) -> bool:
    """A tool called `interrupt()` while another call held the turn: until it ended, or until the
    handoff to the agent that it has returned."""
    jobs, runs = pair.plan.jobs, pair.ours.runs
    refused = [run for run in runs if run.how == "RuntimeError" and run.end is not None]
    refused = [run for run in refused if jobs[run.number].waits == "interrupts"]
    held = all(_meets_a_held_turn(run, pair) for run in refused)
    text = "[RuntimeError('This generation handle does not allow interruptions')]"
    return bool(refused) and held and [*pair.ours.errors][about].endswith(text)


def has_no_result_to_tell(job: int, pair: Pair) -> bool:
    """Each of its runs called `interrupt()`, was refused for that reason, and failed."""
    runs = [run for run in pair.ours.runs if run.number == job]
    interrupts = pair.plan.jobs[job].waits == "interrupts"
    failed = interrupts and all(run.how == "RuntimeError" for run in runs)
    return bool(runs) and failed and all(_meets_a_held_turn(run, pair) for run in runs)


def _meets_a_held_turn(run: JobRun, pair: Pair) -> bool:
    """Another call held a turn when it ended."""
    return run.end is not None and any(
        other is not run and other.start <= run.end <= _holds_until(other, pair)
        for other in holding(pair)
    )


def asked_while_the_user_spoke(about: int, pair: Pair) -> bool:
    """A call that held its turn asked for a reply, or hands over when its result has been said.
    When the floor was free, the user spoke to a model that detects turns, whose answer ends this
    reply. On stock the turn had been interrupted."""
    jobs, errors = pair.plan.jobs, pair.ours.errors
    spoken_over = [
        run
        for run in holding(pair)
        if any(run.start < s.at < (run.end or inf) + INTERRUPTION for s in pair.plan.sounds)
    ]
    logged = [*errors][about]
    asks = [run for run in spoken_over if jobs[run.number].waits == "replies"]
    if logged.startswith("failed to generate a reply after tool execution: the response was can"):
        asks = [run for run in spoken_over if jobs[run.number].ends == "hands_off"]
    elif not logged.startswith("failed to generate a reply: the response was cancelled"):
        return False
    return pair.plan.model == "server" and errors[logged] <= len(asks)


def _holds_until(run: JobRun, pair: Pair) -> float:
    if run.end is None or run.how != "result" or pair.plan.jobs[run.number].ends != "hands_off":
        return inf if run.end is None else run.end
    return min((at for at in pair.ours.handoffs if at >= run.end), default=run.end)
