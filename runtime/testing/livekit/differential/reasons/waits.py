"""Reasons about waits: for calls, for words, for a quiet user, for news that came first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from .moments import MOMENT, announced

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.differential.plan import Plan, Sound

__all__ = [
    "announced_over_the_user",
    "answers_a_turn_more",
    "asked_as_the_model_answered",
    "asked_for_ahead",
    "call_waited_for_the_vad",
    "in_a_handoff_of_a_turn_more",
    "kept_behind_what_is_announced",
    "news_within",
    "noise_might_be_words",
    "out_of_date",
    "speculates_on_one_turn_more",
    "told_after_a_later_call",
    "wait_for_words",
    "waited_for_quiet",
    "waited_for_the_vad",
    "waits_for_a_call",
]

TRANSCRIPT_WAIT = 0.3
"""Seconds after a sound in which nothing is begun: `transcript_wait`."""

FALSE_INTERRUPTION = 2.0
"""Seconds after a sound that was long enough to interrupt, in which its words may come."""

INTERRUPTS = 0.5
"""Seconds of voice that interrupt. The VAD counts its own wait for silence."""

VAD_SILENCE = 0.25
"""Seconds of silence after which the VAD takes a sound for ended."""

REPLY = 2.0
"""Seconds until a reply about a result is heard; the model thinks for 1.5 s at most."""

FRAME = 0.05
"""Seconds of a frame of the microphone."""

REQUESTS = ("say", "say_on", "reply", "ask", "chat", "run", "wait")
"""What an application does that adds to the conversation."""

CANCELLED = "failed to generate a reply: the response was cancelled"

SERVER_SILENCE = 0.5
"""Seconds of silence after which a model that detects turns answers."""

SOON = 4.0
"""Seconds in which what has waited for a call is answered: the model thinks for 1.5 s at most, and
may be asked about the call first."""


def waits_for_a_call(sentence: int, pair: Pair) -> bool:
    """A call whose turn cannot be interrupted ran after the sentence, and begun before stock
    answered it; the answer, or the close, came soon after the end of such a call."""
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
    close = pair.plan.seconds if pair.plan.ends_at is None else pair.plan.ends_at
    answered = close if ours is None else over + ours
    return begun and any(
        run.end is None or run.end > answered - SOON for run in held if run.start < answered
    )


def waited_for_quiet(pair: Pair) -> bool:
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


def news_within(start: float, end: float, measured: Measures) -> float:
    return sum(last - first for first, last in measured.news if start <= first and last <= end)


def told_after_a_later_call(sentence: int, pair: Pair) -> bool:
    """On stock the result of a call was told while a later call ran; that one's turn had the floor.
    On ours it was told soon after the later call."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    told = re.findall(r"\bt([1-9]\d*)a", pair.stock.answered_with.get(sentence, ""))
    if ours is None or stock is None or not told:
        return False
    over = pair.plan.sounds[sentence - 1].over
    begun = [run.start for run in pair.ours.runs if run.number == int(told[0])]
    return any(
        min(begun, default=inf) < later.start < over + stock < later.end <= over + ours
        and over + ours <= later.end + REPLY
        for later in pair.ours.runs
        if later.end is not None
    )


def noise_might_be_words(sentence: int, pair: Pair) -> bool:
    """On stock the reply began soon after a noise. On ours it waited for words until
    `transcript_wait` or `false_interruption`. Or the user said more before that: then the reply to
    this came first, or somebody interrupted before the user was quiet."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    if ours is None or stock is None:
        return False
    over = pair.plan.sounds[sentence - 1].over
    for noise in pair.plan.sounds[sentence:]:
        if noise.words:
            continue
        waited = noise.over + VAD_SILENCE + wait_for_words(noise, pair.plan) + MOMENT
        if not noise.at <= over + stock <= waited:
            continue
        later = [n for n, s in enumerate(pair.plan.sounds, 1) if s.words and s.at > noise.at]
        more = next((n for n in later if pair.plan.sounds[n - 1].at <= waited), 0)
        answered = pair.ours.latency.get(more)
        if answered is not None and pair.stock.latency.get(more) is not None:  # it is measured, too
            waited = pair.plan.sounds[more - 1].over + answered + MOMENT
        if over + ours <= waited or (more and _stopped_while_it_waited(noise, more, pair)):
            return True
    return False


def wait_for_words(sound: Sound, plan: Plan) -> float:
    """Seconds after a sound without words in which a reply waits for them; if the model detects
    turns, what nobody waits for any more waits for its answer, whatever the sound was."""
    if plan.model == "server":
        return SERVER_SILENCE - VAD_SILENCE + FALSE_INTERRUPTION
    only_words = plan.settings.get("interruption", {}).get("min_words", 0) > 0
    long = sound.duration + VAD_SILENCE >= INTERRUPTS and not only_words
    return FALSE_INTERRUPTION if long else TRANSCRIPT_WAIT


def _stopped_while_it_waited(noise: Sound, more: int, pair: Pair) -> bool:
    quiet = pair.plan.sounds[more - 1].over + VAD_SILENCE
    return any(noise.at <= stop <= quiet for stop in pair.ours.stops)


def answers_a_turn_more(number: int, pair: Pair) -> bool:
    """The run lasted while a sentence was answered that is nowhere on stock."""
    move, waits = pair.plan.moves[number], pair.ours.waits.get(number)
    more = pair.stock.words_lost - pair.ours.words_lost
    return move.what == "run" and any(
        move.at <= pair.ours.asked.get(n, -inf) <= move.at + (waits or 0.0) for n in more
    )


def in_a_handoff_of_a_turn_more(number: int, pair: Pair) -> bool:
    """It was said during a handoff, when LiveKit refuses it. A call had handed over for a sentence
    that is nowhere on stock."""
    move, ours = pair.plan.moves[number], pair.ours
    more = pair.stock.words_lost - ours.words_lost
    asked = {
        job: ours.asked[n] for n in more & ours.asked.keys() for job in pair.plan.answers[n].jobs
    }
    return number in ours.raised and any(
        pair.plan.jobs[run.number].ends == "hands_off"
        and run.number in asked
        and asked[run.number] <= run.start
        and run.end is not None
        and run.end <= move.at <= run.end + SOON
        for run in ours.runs
    )


def asked_as_the_model_answered(about: int, pair: Pair) -> bool:
    """The application asked for a reply when a model that detects turns was about to answer the
    user, and the model gave this request up. On stock the request had waited for a call of a turn
    that was interrupted."""
    if not tuple(pair.ours.errors)[about].startswith(CANCELLED) or pair.plan.model != "server":
        return False
    return any(
        sound.words and sound.at <= move.at <= sound.over + SERVER_SILENCE + MOMENT
        for move in pair.plan.moves
        if move.what in ("reply", "ask", "chat", "run")
        for sound in pair.plan.sounds
    )


def speculates_on_one_turn_more(about: int, pair: Pair) -> bool:
    """A turn was answered that stock had dropped, and the next one's speculation was in vain."""
    more = pair.stock.words_lost - pair.ours.words_lost
    return bool(more) and [*pair.ours.warnings][about].startswith("preemptive generation inval")


def out_of_date(about: int, pair: Pair) -> bool:
    """The model was asked ahead. Before the turn was committed a call ended whose turn was over, or
    the application asked for something."""
    moved = [move.at for move in pair.plan.moves if move.what in REQUESTS]
    moved += [run.end for run in pair.ours.runs if run.end is not None]
    spans = pair.ours.outdated
    explained = all(any(a - FRAME <= at <= b + FRAME for at in moved) for a, b in spans)
    text = [*pair.ours.warnings][about]
    return bool(spans) and explained and text.startswith("preemptive generation inval")


def kept_behind_what_is_announced(about: int, pair: Pair) -> bool:
    """The hook of an earlier turn took until the agent said what cannot be interrupted. LiveKit
    says that it skips the next turn; this is kept, and put to the model behind that speech."""
    kept = [
        any(over <= asked <= over + pair.plan.hook + MOMENT for asked in pair.ours.asked.values())
        for _, over in announced(pair.plan, pair.ours)
    ]
    text, count = [*pair.ours.warnings.items()][about]
    return text.startswith("skipping reply to user input, current") and count <= sum(kept)


def announced_over_the_user(about: int, pair: Pair) -> bool:
    """The application wanted something said that cannot be interrupted. It was heard at once, or
    right behind what only ours has said, and the user spoke by then. On stock it was heard later:
    something else was being said, or was asked for."""
    plan, both = pair.plan, 0.0
    on_stock = [heard.text for heard in pair.stock.audio]
    only_ours = [heard.end for heard in pair.ours.audio if heard.text not in on_stock]
    asked = [move.at for move in plan.moves if move.what == "say_on"]
    for begin, end in announced(plan, pair.ours):
        if any(abs(begin - since) <= FRAME for since in (*only_ours, *asked)):
            spoken = (min(end, s.over) - max(begin, s.at) for s in plan.sounds if s.words)
            both += sum(max(0.0, seconds) for seconds in spoken)
    return pair.ours.overlap - pair.stock.overlap <= both


def asked_for_ahead(job: int, pair: Pair) -> bool:
    """Stock asked the model ahead about what asks for it, while earlier words were not in the
    conversation, and did not use that. Then both asked about these words together, at the same
    time; the model answers the other sentence. On stock it also makes the calls of its first
    answer."""
    ahead = bool(pair.plan.settings.get("preemptive_generation", {}).get("enabled"))
    begun = [run.start for run in pair.stock.runs if run.number == job]
    return ahead and any(
        job in answer.jobs
        and not pair.ours.put.get(n)
        and n not in pair.stock.own_answers
        and _only_ahead(pair.stock.put.get(n, ()), begun, pair.ours.together.get(n), pair)
        for n, answer in pair.plan.answers.items()
    )


def _only_ahead(
    put: Sequence[tuple[float, bool]], calls: Sequence[float], other: int | None, pair: Pair
) -> bool:
    """The model was asked (`put`) before both asked it about the `other` sentence, for the last
    time; the calls were made after that."""
    asked = [m.put.get(other or 0, ()) for m in (pair.stock, pair.ours)]
    if not (put and all(asked)):
        return False
    (stock, _), (ours, _) = asked[0][-1], asked[1][-1]
    return abs(stock - ours) <= MOMENT and max(put)[0] < stock <= min(calls, default=-inf)
