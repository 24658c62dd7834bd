"""The differences that docs/livekit.md declares: what each of them explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from .jobs import JobRun
    from .pair import Pair

__all__ = ["DECLARED", "Declared", "explained"]

DRAIN = 4.9
"""Seconds; a handoff lets go of a call after `drain_limit`."""


TRANSCRIPT_WAIT = 0.3
"""Seconds after a sound in which nothing is begun: `transcript_wait`."""

MOMENT = 0.1
"""Seconds: a frame of the microphone and one of the model."""

JUST = 2.0
"""Seconds before the close in which a call has just begun."""


SOON = 4.0
"""Seconds in which what has waited for a call is answered: the model thinks for 1.5 s at most, and
may be asked about the call first."""


@attrs.frozen
class Declared:
    """A difference on the list.

    Attributes:
        id: Its name in the table of docs/livekit.md.
        kinds: The measures that it makes worse; empty if it makes none worse.
        applies: Whether it explains that this is worse in this conversation.
    """

    id: str
    kinds: frozenset[str] = frozenset()
    applies: Callable[[int, Pair], bool] = lambda about, pair: False


def _cancelled(job: int, pair: Pair) -> bool:
    """Its policy is to be cancelled, and it was, perhaps before it had begun."""
    cut = any(run.number == job and run.how == "CancelledError" for run in pair.ours.runs)
    return (cut or job in pair.ours.cut) and pair.plan.jobs[job].policy == "cancel"


def _wait_raised(job: int, pair: Pair) -> bool:
    """Its wait for the preamble was interrupted, before it did anything."""
    return any(
        run.number == job and run.how == "SpeechInterrupted" and run.effect is None
        for run in pair.ours.runs
    )


def _cannot_be_interrupted(about: int, pair: Pair) -> bool:
    """A call ran whose turn cannot be interrupted."""
    return any(pair.plan.jobs[run.number].policy in ("finish", "hold") for run in pair.ours.runs)


def _interrupt_is_refused(move: int, pair: Pair) -> bool:
    """The application wanted to interrupt such a turn."""
    return _cannot_be_interrupted(move, pair) and pair.plan.moves[move].what in (
        "interrupt",
        "chat",
    )


def _waits_for_a_call(sentence: int, pair: Pair) -> bool:
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


def _its_call_was_cancelled(sentence: int, pair: Pair) -> bool:
    """What it asked for was cancelled with its turn, which somebody had interrupted."""
    return any(_cancelled(job, pair) for job in pair.plan.answers[sentence].jobs)


def _answered_sooner(sentence: int, pair: Pair) -> bool:
    """It, or what was said after it, was being answered when the application or a tool interrupted;
    on stock, which waits for tools of interrupted turns, the model had not been asked yet."""
    later = [number for number in pair.ours.asked if number >= sentence]
    return any(
        pair.ours.asked[number] <= stop <= pair.stock.asked.get(number, inf)
        for number in later
        for stop in pair.ours.stops
    )


def _asked_for_sooner(job: int, pair: Pair) -> bool:
    """What asks for it was being answered when somebody interrupted, and not yet on stock."""
    asks = [n for n, a in pair.plan.answers.items() if job in a.jobs and n in pair.ours.asked]
    return any(
        pair.ours.asked[n] <= stop <= pair.stock.asked.get(n, inf)
        for n in asks
        for stop in pair.ours.stops
    )


def _its_tool_interrupted(sentence: int, pair: Pair) -> bool:
    """A tool that it, or what was said after it, asked for has ended its own turn."""
    plan = pair.plan
    asked = {j for n, a in plan.answers.items() if n >= sentence for j in a.jobs}
    return any(_interrupted(run, pair) for run in pair.ours.runs if run.number in asked)


def _turn_interrupted_by_tool(job: int, pair: Pair) -> bool:
    """It, or a tool called with it, has ended their turn: no reply follows."""
    starts = [run.start for run in pair.ours.runs if run.number == job]
    return any(
        _interrupted(run, pair) and abs(run.start - start) < 0.2
        for run in pair.ours.runs
        for start in starts
    )


def _interrupted(run: JobRun, pair: Pair) -> bool:
    return pair.plan.jobs[run.number].waits == "interrupts" and run.how == "result"


def _words_were_on_their_way(sentence: int, pair: Pair) -> bool:
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


def _handed_over_too_late(about: int, pair: Pair) -> bool:
    """A tool returned an agent, and its turn may have been interrupted."""
    plan = pair.plan
    return any(plan.jobs[run.number].ends == "hands_off" for run in pair.ours.runs)


def _handoff(job: int, pair: Pair) -> bool:
    """It would have handed over; its output says that this did not happen."""
    return job > 0 and pair.plan.jobs[job].ends == "hands_off"


def _waited_for_quiet(sentence: int, pair: Pair) -> bool:
    """On stock the agent talked into the user, on ours it waited."""
    return pair.stock.overlap > pair.ours.overlap


def _waited_for_the_vad(sentence: int, pair: Pair) -> bool:
    """On stock the agent began to talk while the VAD took the user for speaking; ours is later by
    no more than that, and what is waited for words after it."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    waited = pair.stock.begun_over - pair.ours.begun_over
    if ours is None or stock is None or waited <= 0.0:
        return False
    return ours - stock <= waited + TRANSCRIPT_WAIT + MOMENT


def _call_waited_for_the_vad(move: int, pair: Pair) -> bool:
    """The same, of a call of the application that returns when what it asked for was heard."""
    ours, stock = pair.ours.silent.get(move), pair.stock.silent.get(move)
    waited = pair.stock.begun_over - pair.ours.begun_over
    if ours is None or stock is None or waited <= 0.0:
        return False
    return ours - stock <= waited + TRANSCRIPT_WAIT + MOMENT


def _result_of_what_was_answered_sooner(job: int, pair: Pair) -> bool:
    """The application interrupted the reply that was to tell it; on stock the model had not been
    asked yet for the sentence that wanted it."""
    wanted = [number for number, answer in pair.plan.answers.items() if job in answer.jobs]
    return bool(wanted) and all(_answered_sooner(number, pair) for number in wanted)


def _news_came_first(sentence: int, pair: Pair) -> bool:
    """It was answered behind results that the model was asked to tell besides, and is later by no
    more than these took."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    if ours is None or stock is None:
        return False
    sound = pair.plan.sounds[sentence - 1]
    over = sound.at + sound.duration
    told = sum(end - start for start, end in pair.ours.news if over <= start and end <= over + ours)
    return ours - stock <= told + MOMENT


def _hold_was_over(about: int, pair: Pair) -> bool:
    """It was cut in the moment when a call ended that had kept its turn from being interrupted."""
    ends = [
        run.end
        for run in pair.ours.runs
        if run.end is not None and pair.plan.jobs[run.number].policy in ("finish", "hold")
    ]
    return _cut_at(ends, pair)


def _words_came_late(about: int, pair: Pair) -> bool:
    """It was cut in the moment when words came, and the output could not be held until then."""
    words = [s.at + s.duration + s.stt_delay for s in pair.plan.sounds if s.stt_delay is not None]
    return _cut_at(words, pair) and not pair.plan.can_pause


def _cut_at(moments: Sequence[float], pair: Pair) -> bool:
    cuts = pair.ours.cuts
    return bool(cuts) and all(any(abs(cut - at) < 0.06 for at in moments) for cut in cuts)


def _asked_of_a_close(number: int, pair: Pair) -> bool:
    """The application had closed the session before, or closed it during a run."""
    end, move = pair.plan.ends_at, pair.plan.moves[number]
    if end is None or number not in pair.ours.raised:
        return False
    over = move.at + (pair.stock.waits.get(number) or 0.0)
    return move.at >= end or (move.what == "run" and over >= end)


def _cancelled_at_the_close(job: int, pair: Pair) -> bool:
    """It was given five seconds from the close on."""
    end = pair.plan.ends_at
    return end is not None and any(
        run.number == job and run.how == "CancelledError" and (run.end or 0.0) > end + 4.9
        for run in pair.ours.runs
    )


def _ended_while_it_waited(job: int, pair: Pair) -> bool:
    """The session closed while the user's words, or a reply, waited for a call that holds its turn,
    or for a quiet user, or somebody interrupted such a reply; on stock the call had just begun."""
    begun = [run.start for run in pair.stock.runs if run.number == job]
    if not begun:
        return False
    asks = [n for n, a in pair.plan.answers.items() if job in a.jobs]
    closes = [] if pair.plan.ends_at is None else [pair.plan.ends_at]
    ends = [*closes, *pair.ours.stops] if _waited_for_quiet(0, pair) else closes
    waited = _waited_for_quiet(0, pair) or any(_waits_for_a_call(n, pair) for n in asks)
    return waited and any(0.0 <= end - begun[0] <= JUST for end in ends)


def _begun_after_the_close(job: int, pair: Pair) -> bool:
    """On stock, whose close had yet to wait for another tool."""
    end = pair.plan.ends_at
    begun = [run.start for run in pair.stock.runs if run.number == job]
    return end is not None and bool(begun) and min(begun) >= end


def _came_of_a_wait(jobs: Sequence[int], pair: Pair) -> bool:
    """On stock these calls came of requests about the results of calls which on ours have none:
    their wait for the preamble was interrupted."""
    brought = [pair.stock.brought.get(job, frozenset()) for job in jobs]
    return bool(brought) and all(
        news and all(_wait_raised(job, pair) for job in news) for news in brought
    )


def _called_after_a_wait(job: int, pair: Pair) -> bool:
    return _came_of_a_wait([job], pair)


def _answered_after_a_wait(sentence: int, pair: Pair) -> bool:
    return _came_of_a_wait(pair.plan.answers[sentence].jobs, pair)


def _copied_beside_it(job: int, pair: Pair) -> bool:
    """Stock had dropped what asked for it; ours called it together with a tool that hands over.
    What such a tool copies lacks the calls beside it, on either."""
    asks = [n for n, a in pair.plan.answers.items() if job in a.jobs]
    if not any(n in pair.ours.asked and n not in pair.stock.asked for n in asks):
        return False
    starts = [run.start for run in pair.ours.runs if run.number == job]
    return any(
        pair.plan.jobs[run.number].ends == "hands_off" and abs(run.start - start) < 0.2
        for run in pair.ours.runs
        for start in starts
        if run.number != job
    )


def _answers_a_turn_more(number: int, pair: Pair) -> bool:
    """The run lasted while a sentence was answered that is nowhere on stock."""
    move, waits = pair.plan.moves[number], pair.ours.waits.get(number)
    more = pair.stock.words_lost - pair.ours.words_lost
    return move.what == "run" and any(
        move.at <= pair.ours.asked.get(n, -inf) <= move.at + (waits or 0.0) for n in more
    )


def _close_waits_for_a_call(number: int, pair: Pair) -> bool:
    """The close took as long as a call that must not be interrupted."""
    move, waits = pair.plan.moves[number], pair.ours.waits.get(number)
    ends = [run.end for run in pair.ours.runs if pair.plan.jobs[run.number].policy == "hold"]
    closed = None if waits is None else move.at + waits
    return move.what == "aclose" and any(
        closed is not None and end is not None and abs(end - closed) < 0.06 for end in ends
    )


def _agent_did_not_wait(about: int, pair: Pair) -> bool:
    """An agent that hands over has a call that takes longer; ours says that it goes without it."""
    plan = pair.plan
    handoffs = [move.at for move in plan.moves if move.what == "update_agent"]
    handoffs += [
        run.end
        for run in pair.ours.runs
        if run.end is not None and plan.jobs[run.number].ends == "hands_off"
    ]
    long = any(
        run.end is None or run.end > max(run.start, at) + DRAIN
        for run in pair.ours.runs
        for at in handoffs
    )
    return long and [*pair.ours.warnings][about].endswith("did not end in time; its agent goes")


def _interrupts_a_held_turn(about: int, pair: Pair) -> bool:
    """A tool called `interrupt()` while another call held the turn."""
    jobs, runs = pair.plan.jobs, pair.ours.runs
    refused = [run for run in runs if run.how == "RuntimeError" and run.end is not None]
    refused = [run for run in refused if jobs[run.number].waits == "interrupts"]
    held = all(
        any(
            jobs[other.number].policy in ("finish", "hold")
            and other is not run
            and other.start <= run.end <= (other.end or run.end)
            for other in runs
        )
        for run in refused
        if run.end is not None
    )
    text = "[RuntimeError('This generation handle does not allow interruptions')]"
    return bool(refused) and held and [*pair.ours.errors][about].endswith(text)


def _speculates_on_one_turn_more(about: int, pair: Pair) -> bool:
    """A turn was answered that stock had dropped, and the next one's speculation was in vain."""
    more = pair.stock.words_lost - pair.ours.words_lost
    return bool(more) and [*pair.ours.warnings][about].startswith("preemptive generation inval")


DECLARED: tuple[Declared, ...] = (
    Declared("close", frozenset({"wait"}), _asked_of_a_close),
    Declared("drain-limit", frozenset({"undone", "half", "untold"}), _cancelled_at_the_close),
    Declared("drain-limit", frozenset({"warning"}), _agent_did_not_wait),
    Declared("close", frozenset({"undone"}), _begun_after_the_close),
    Declared("held-output", frozenset({"undone"}), _ended_while_it_waited),
    Declared("drain-limit", frozenset({"wait"}), _close_waits_for_a_call),
    Declared("held-output", frozenset({"late"}), _waited_for_quiet),
    Declared("held-output", frozenset({"late"}), _waited_for_the_vad),
    Declared("held-output", frozenset({"wait"}), _call_waited_for_the_vad),
    Declared("held-output", frozenset({"blip"}), _words_came_late),
    Declared("handoff-refused", frozenset({"agent"}), _handed_over_too_late),
    Declared("handoff-refused", frozenset({"lost", "unseen", "untold"}), _handoff),
    Declared("tool-policies", frozenset({"undone", "half", "untold"}), _cancelled),
    Declared("tool-policies", frozenset({"blip"}), _hold_was_over),
    Declared("tool-policies", frozenset({"late"}), _waits_for_a_call),
    Declared("tool-policies", frozenset({"late"}), _its_call_was_cancelled),
    Declared("tool-policies", frozenset({"late"}), _answered_sooner),
    Declared("tool-policies", frozenset({"untold"}), _result_of_what_was_answered_sooner),
    Declared("tool-policies", frozenset({"late"}), _its_tool_interrupted),
    Declared("tool-policies", frozenset({"undone"}), _asked_for_sooner),
    Declared("tool-policies", frozenset({"untold"}), _turn_interrupted_by_tool),
    Declared("transcript-wait", frozenset({"late"}), _words_were_on_their_way),
    Declared("tool-policies", frozenset({"log"}), _interrupts_a_held_turn),
    Declared("tool-policies", frozenset({"wait"}), _interrupt_is_refused),
    Declared("tool-policies", frozenset({"overlap", "again"}), _cannot_be_interrupted),
    Declared("turns-kept", frozenset({"warning"}), _speculates_on_one_turn_more),
    Declared("untold-results", frozenset({"late"}), _news_came_first),
    Declared("turns-kept", frozenset({"wait"}), _answers_a_turn_more),
    Declared("turns-kept", frozenset({"twice", "unseen"}), _copied_beside_it),
    Declared("wait-raises", frozenset({"undone", "untold"}), _wait_raised),
    Declared("wait-raises", frozenset({"undone"}), _called_after_a_wait),
    Declared("wait-raises", frozenset({"late"}), _answered_after_a_wait),
)


def explained(kind: str, about: int, pair: Pair) -> str:
    """The id of the difference that explains it, or nothing."""
    return next((d.id for d in DECLARED if kind in d.kinds and d.applies(about, pair)), "")
