"""What LiveKit refuses during a handoff, if the handoff is at another moment than on stock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from turnfsm.runtime.testing.livekit.side_by_side import LATE

from .delays import busy, held, outside, words_may_come
from .moments import COMMIT, MOMENT, THINKS, answered_more, handoffs_begun, interrupted
from .waits import FALSE_INTERRUPTION, SERVER_SILENCE

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.differential.plan import Plan

__all__ = [
    "closed_before_the_next_agent",
    "copied_before_its_words",
    "logged_in_a_handoff",
    "refused_in_a_handoff",
    "refused_while_results_are_told",
    "warned_in_a_handoff",
]

LONGEST = 8.5
"""Seconds of a handoff in which no call holds its turn and the user does not speak: a reply is
said, and released calls get `drain_limit`."""

SAME = 0.06
"""Seconds between what both sessions do at the same moment."""

REFUSED = (
    "cannot schedule new speech",
    "filler stopped on an error",
    "skipping on_user_turn_completed, speech scheduling is paused",
    "skipping reply to user input, speech scheduling is paused",
)
"""What LiveKit logs of it."""


def closed_before_the_next_agent(about: int, pair: Pair) -> bool:
    """The session closed before there was as much time for the handoff as on stock in which nobody
    spoke, no words of the user might come, the model did not think about a result that was told
    then, and no call held its turn."""
    close, plan = pair.plan.ends_at, pair.plan
    last = max(pair.stock.handoffs, default=None)
    ours = [at for at in handoffs_begun(plan, pair.ours) if close is not None and at <= close]
    stock = [at for at in handoffs_begun(plan, pair.stock) if last is not None and at <= last]
    if close is None or last is None or not (ours and stock):
        return False
    due = outside((max(stock), last), busy(pair, pair.stock)) + LATE
    news = [(start - THINKS, start) for start, _ in pair.ours.news]
    return outside((min(ours), close), [*busy(pair, pair.ours), *news]) <= due


def copied_before_its_words(job: int, pair: Pair) -> bool:
    """Only ours made the call, for words that were committed when the next agent had been made with
    the conversation until then. It took over when the call had ended, and does not see it. The same
    if an agent before it put the words to the model when it had taken over itself, and the call
    ended its own turn, so that its result is not to be told."""
    since, begun = pair.ours.unseen.get(job), handoffs_begun(pair.plan, pair.ours)
    first = next((run for run in pair.ours.runs if run.number == job), None)
    if since is None or first is None or any(run.number == job for run in pair.stock.runs):
        return False
    start, end = first.start, first.end or inf
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    over = [at for at in pair.ours.handoffs if at < start]
    words = [_given(n, first, over, pair) for n in asks if n in pair.ours.asked]
    made = sum(at <= min(words, default=start) for at in begun)
    return made > len(over) and any(end <= at <= since for at in pair.ours.handoffs)


def _given(sentence: int, call: JobRun, handoffs: Sequence[float], pair: Pair) -> float:
    """When the agent that was in charge at the call can first have had its words: when they were
    committed; or with the handoff to it, if it put them to the model and the call interrupted."""
    last, committed = max(handoffs, default=inf), _committed(sentence, pair.plan)
    again = any(last <= at <= call.start for at, _ in pair.ours.put.get(sentence, ()))
    return max(last, committed) if again and interrupted(call, pair) else committed


def _committed(sentence: int, plan: Plan) -> float:
    """When its words can first be in the conversation. Those of a realtime model come there when
    they have been transcribed."""
    sound = plan.sounds[sentence - 1]
    over = sound.over
    if plan.model == "server":
        return over + SERVER_SILENCE + (sound.stt_delay or 0.0)
    if plan.settings.get("turn_detection") != "manual":
        return over
    commits = (move.at for move in plan.moves if move.what == "commit")
    return min((at for at in commits if at >= over), default=inf)


def refused_in_a_handoff(number: int, pair: Pair) -> bool:
    """It was asked for during a handoff, when LiveKit raises. On stock the agent had taken over
    before, or did later: a call had kept its turn, or a turn was kept and answered."""
    at, ours = pair.plan.moves[number].at, _handoffs(pair.plan, pair.ours)
    return number in pair.ours.raised and any(
        begin - SAME <= at <= end + SAME and _is_elsewhere(begin, end, pair) for begin, end in ours
    )


def refused_while_results_are_told(number: int, pair: Pair) -> bool:
    """The same; the handoff, begun at the same moment, is longer by no more than the results take
    that the agent tells first."""
    at = pair.plan.moves[number].at
    stock = [*_handoffs(pair.plan, pair.stock)]
    return number in pair.ours.raised and any(
        begin - SAME <= at <= end + SAME
        and any(
            abs(begin - b) <= SAME
            and outside((begin, end), pair.ours.news) <= outside((b, e), pair.stock.news) + LATE
            for b, e in stock
        )
        for begin, end in _handoffs(pair.plan, pair.ours)
    )


def logged_in_a_handoff(about: int, pair: Pair) -> bool:
    """The same, for what a tool or its filler says. Or this tool was called in the step that hands
    over, and runs on, as a tool beside it has interrupted the turn; stock waits for the step."""
    beside = any(_runs_beside(*handoff, pair) for handoff in _handoffs(pair.plan, pair.ours))
    return _refused(tuple(pair.ours.errors)[about]) and (beside or _any_elsewhere(pair))


def _runs_beside(begin: float, end: float, pair: Pair) -> bool:
    """A call that speaks in this handoff was made together with the one that hands over."""
    runs = pair.ours.runs
    cut = [run for run in runs if run.end == begin and interrupted(run, pair)]
    return any(
        run.how == "RuntimeError" and run.start == other.start and begin < (run.end or inf) <= end
        for run in runs
        for other in cut
    )


def warned_in_a_handoff(about: int, pair: Pair) -> bool:
    """The same, for a turn; the next agent answers it. Or stock skips as many turns, perhaps with
    other words, and nobody answers them. Or stock has lost the words before."""
    more = _skips(pair.ours) - _skips(pair.stock)
    explained = more <= _kept_for_the_next(pair) or _any_elsewhere(pair)
    return _refused(tuple(pair.ours.warnings)[about]) and explained


def _kept_for_the_next(pair: Pair) -> int:
    """How many sentences the next agent answers that ended before it took over, and that stock has
    lost."""
    sounds, asked = pair.plan.sounds, pair.ours.asked
    kept = (pair.stock.words_lost - pair.ours.words_lost) & asked.keys()
    taken_over = pair.ours.handoffs
    return sum(any(sounds[n - 1].over <= at <= asked[n] for at in taken_over) for n in kept)


def _skips(measured: Measures) -> int:
    return sum(n for text, n in measured.warnings.items() if text.startswith("skipping "))


def _refused(logged: str) -> bool:
    return any(text in logged for text in REFUSED)


def _any_elsewhere(pair: Pair) -> bool:
    return any(_is_elsewhere(*handoff, pair) for handoff in _handoffs(pair.plan, pair.ours))


def _is_elsewhere(begin: float, end: float, pair: Pair) -> bool:
    """A declared difference has moved this handoff, or a call that stock has repeated."""
    holds = any(
        pair.plan.jobs[run.number].policy in ("hold", "finish") and run.start <= end
        for run in pair.ours.runs
    )
    stock = [*_handoffs(pair.plan, pair.stock)]
    run_on = any(run.start < begin < (run.end or inf) for run in pair.ours.runs)
    beside = run_on and not stock  # there the turn that hands over waits for them
    made, on_stock = (Counter(run.number for run in m.runs) for m in (pair.ours, pair.stock))
    repeated = bool(on_stock - made)
    kept = pair.stock.words_lost - pair.ours.words_lost
    answered = any(pair.plan.sounds[number - 1].over <= end for number in kept)
    answered |= any(at <= end for asked in answered_more(pair).values() for at in asked)
    sooner = _made_sooner(begin, pair) or _its_commit_got_the_words(begin, pair)
    same = any(abs(begin - b) <= SAME and abs(end - e) <= SAME for b, e in stock)
    user = ((s.at, s.over + words_may_come(s, pair.plan)) for s in pair.plan.sounds)
    return (
        (holds or answered or beside or repeated or sooner)
        and not same
        and outside((begin, end), [*held(pair), *user]) <= LONGEST
    )


def _made_sooner(begin: float, pair: Pair) -> bool:
    """The call that hands over then is made while another one runs; on stock its turn is not
    answered meanwhile."""
    ours = [run for run in pair.ours.runs if run.end == begin]
    stock = pair.stock.runs
    return any(
        other.number == run.number and run.start + SAME < other.start
        for run in ours
        if any(r.start <= run.start <= (r.end or inf) for r in stock if r.number != run.number)
        for other in stock
    )


def _its_commit_got_the_words(begin: float, pair: Pair) -> bool:
    """The turn that hands over then was committed by the application before its words had come, and
    was put to the model with them. On stock they waited for the next commit."""
    plan, hands_over = pair.plan, [run.number for run in pair.ours.runs if run.end == begin]
    commits = [move.at for move in plan.moves if move.what == "commit"]
    if plan.settings.get("turn_detection") != "manual":
        return False
    for number, sound in enumerate(plan.sounds, 1):
        asks = any(job in hands_over for job in plan.answers[number].jobs)
        if asks and sound.words and sound.stt_delay is not None:
            came = sound.over + sound.stt_delay
            ours = pair.ours.asked.get(number, inf)
            stock = pair.stock.asked.get(number, -inf)
            waited = any(sound.at <= at <= came - COMMIT for at in commits)
            again = any(ours < at < stock for at in commits)
            if waited and again and came <= ours <= came + plan.hook + MOMENT:
                return sound.stt_delay <= FALSE_INTERRUPTION
    return False


def _handoffs(plan: Plan, measured: Measures) -> Iterator[tuple[float, float]]:
    """When each began, and when the next agent took over, or the session closed before that."""
    begun = handoffs_begun(plan, measured)
    waiting = sorted(begun)  # one that has begun while another one is under way comes after that
    for end in sorted(measured.handoffs, reverse=True):
        before = [begin for begin in waiting if begin <= end]
        if before:
            waiting.remove(before[-1])
            yield before[-1], end
    last, close = max(measured.handoffs, default=-inf), plan.ends_at
    if close is not None:
        yield from ((begin, close) for begin in begun if last < begin <= close)
