"""Reasons about waits: for calls, for words, for a quiet user, for news that came first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from .moments import COMMIT, ENDPOINTING, MOMENT, THINKS, announced

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.jobs import JobRun
    from turnfsm.runtime.testing.livekit.differential.measures import Measures
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.differential.plan import Plan, Sound

__all__ = [
    "announced_over_the_user",
    "asked_again_until_the_close",
    "asked_as_the_model_answered",
    "asked_for_ahead",
    "commit_waited_for_the_last_voice",
    "held_to_the_end",
    "kept_behind_what_is_announced",
    "news_within",
    "not_asked_ahead",
    "out_of_date",
    "told_after_a_later_call",
    "wait_for_words",
    "waited_for_the_vad",
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


def held_to_the_end(sentence: int, pair: Pair) -> bool:
    """It is not answered: a call that must not be interrupted had begun when stock answered, and
    runs until the conversation ends; or it hands over, and the conversation ends before the next
    agent says anything."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    end = pair.plan.seconds if pair.plan.ends_at is None else pair.plan.ends_at
    if ours is not None or stock is None:
        return False
    answered = pair.plan.sounds[sentence - 1].over + stock
    return any(
        pair.plan.jobs[run.number].policy == "hold"
        and run.start <= answered
        and end <= _held_until(run, pair)
        for run in pair.ours.runs
    )


def _held_until(run: JobRun, pair: Pair) -> float:
    """The end of a call; if it hands over, of the reply that tells this, which begins at once."""
    if run.end is None or pair.plan.jobs[run.number].ends != "hands_off":
        return inf if run.end is None else run.end
    told = [
        heard.end + MOMENT
        for heard in pair.ours.audio
        if heard.text.startswith(f"t{run.number}a") and run.end <= heard.start <= run.end + THINKS
    ]
    return max([run.end, *told])


def waited_for_the_vad(sentence: int, pair: Pair) -> bool:
    """On stock the agent began to talk while the VAD took the user for speaking; ours is later by
    no more than that, and what is waited for words after it."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    waited = pair.stock.begun_over - pair.ours.begun_over
    if ours is None or stock is None or waited <= 0.0:
        return False
    return ours - stock <= waited + TRANSCRIPT_WAIT + MOMENT


def commit_waited_for_the_last_voice(sentence: int, pair: Pair) -> bool:
    """The application committed right after these words, which came while a voice was heard: their
    own, and they might have been those of a sound before it; or a later one. So the commit waited
    for more, at most for its timeout. The answer is later by this."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    sounds, asked = pair.plan.sounds, pair.ours.asked.get(sentence, inf)
    said, commits = sounds[sentence - 1], [m.at for m in pair.plan.moves if m.what == "commit"]
    words = said.over + (inf if said.stt_delay is None else said.stt_delay)
    before = any(
        s.at < said.at <= s.over + VAD_SILENCE + wait_for_words(s, pair.plan) and not s.words
        for s in sounds[: sentence - 1]
    )
    own = before and words <= said.over + VAD_SILENCE
    later = any(s.words and s.at <= words <= s.over + VAD_SILENCE for s in sounds[sentence:])
    waited = asked - pair.stock.asked.get(sentence, inf)
    if abs(asked - words) <= FRAME and abs(waited) <= FRAME:  # both asked ahead
        waited = COMMIT
    if ours is None or stock is None or not (own or later):
        return False
    return (
        any(
            at - ENDPOINTING <= words <= at and asked <= at + COMMIT + pair.plan.hook + MOMENT
            for at in commits
        )
        and ours - stock <= waited + MOMENT
    )


def not_asked_ahead(sentence: int, pair: Pair) -> bool:
    """The model was asked ahead on stock. On ours a call still ran as the words came; it was over
    when the turn was committed, or was never made on stock. So the model was asked at the commit,
    behind the agent's hook. The answer is later by this."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    sound, asked = pair.plan.sounds[sentence - 1], pair.ours.asked.get(sentence, inf)
    words = sound.over + (sound.stt_delay or 0.0)
    ahead = abs(pair.stock.asked.get(sentence, inf) - words) <= FRAME
    ran = any(
        run.start < words <= end and (end <= asked or not _ran(run.number, words, pair))
        for run in pair.ours.runs
        for end in ((run.end or inf) + FRAME,)
    )
    if ours is None or stock is None or not ahead or not ran:
        return False
    later = asked - words
    return later <= ENDPOINTING + pair.plan.hook and ours - stock <= later + MOMENT


def _ran(job: int, at: float, pair: Pair) -> bool:
    """Stock had begun it."""
    return any(run.number == job and run.start <= at for run in pair.stock.runs)


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


def wait_for_words(sound: Sound, plan: Plan) -> float:
    """Seconds after a sound without words in which a reply waits for them; if the model detects
    turns, what nobody waits for any more waits for its answer, whatever the sound was. A sound
    during such a wait begins it anew."""
    if plan.model == "server":
        return SERVER_SILENCE - VAD_SILENCE + FALSE_INTERRUPTION
    only_words = plan.settings.get("interruption", {}).get("min_words", 0) > 0
    before = [s for s in plan.sounds if not s.words and s.at < sound.at]
    waits = any(
        sound.at <= s.over + VAD_SILENCE + FALSE_INTERRUPTION
        and wait_for_words(s, plan) == FALSE_INTERRUPTION
        for s in before
    )
    long = sound.duration + VAD_SILENCE >= INTERRUPTS and not only_words
    return FALSE_INTERRUPTION if long or waits else TRANSCRIPT_WAIT


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


def out_of_date(about: int, pair: Pair) -> bool:
    """The model was asked ahead. Before the turn was committed a call ended whose turn was over, or
    the application asked for something."""
    moved = [move.at for move in pair.plan.moves if move.what in REQUESTS]
    moved += [run.end for run in pair.ours.runs if run.end is not None]
    spans = pair.ours.outdated
    explained = all(any(a - FRAME <= at <= b + FRAME for at in moved) for a, b in spans)
    text = [*pair.ours.warnings][about]
    return bool(spans) and explained and text.startswith("preemptive generation inval")


def asked_again_until_the_close(job: int, pair: Pair) -> bool:
    """Both asked the model ahead about what asks for it, at the same moment. On ours a call whose
    turn was over ended before the turn was committed, so the model was asked again; the session
    closed before it had answered."""
    close, ours = pair.plan.ends_at, pair.ours
    return close is not None and any(
        again <= close <= again + answer.ttft + MOMENT
        and any(again - FRAME <= at <= again + FRAME for at, _ in ours.put.get(n, ()))
        and any(abs(at - ahead) <= FRAME for at, whole in pair.stock.put.get(n, ()) if whole)
        and any(run.start < ahead <= (run.end or inf) <= again for run in ours.runs)
        for n, answer in pair.plan.answers.items()
        if job in answer.jobs
        for ahead, again in ours.outdated
        if any(at == ahead for at, _ in ours.put.get(n, ()))
    )


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
