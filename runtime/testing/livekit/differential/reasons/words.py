"""Reasons about words that come late, and about those that stock's STT does not hear."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from .delays import held
from .moments import ENDPOINTING, MOMENT, announced, committed
from .waits import VAD_SILENCE

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit.differential.pair import Pair
    from turnfsm.runtime.testing.livekit.speaker import Heard

__all__ = [
    "committed_before_the_rest",
    "committed_by_the_next_agent",
    "committed_with_later_words",
    "heard_all_of_it",
    "hold_was_over",
    "interim_was_taken",
    "wanted_by_the_rest",
    "words_came_after_another_turn",
    "words_of_a_short_sound",
]

SAME = 0.06
"""Seconds between two things that happen at the same moment."""

SHORT, WAIT = 0.5, 0.3
"""Seconds of a sound that does not interrupt, and those in which its words are waited for."""

TRANSCRIPT_TIMEOUT = 1.0
"""Seconds that a commit of the application waits for words."""


def heard_all_of_it(sentence: int, pair: Pair) -> bool:
    """The application had something said into the sentence that cannot be interrupted. LiveKit
    gives the STT silence meanwhile, so for stock the sentence ended there. Ours is later by no more
    than the rest of it; and LiveKit waits anew if the words before it, which stock put to the model
    with it, were a turn of their own."""
    ours, stock = pair.ours.latency.get(sentence), pair.stock.latency.get(sentence)
    if ours is None or stock is None:
        return False
    sound = pair.plan.sounds[sentence - 1]
    rest = (
        sound.over - max(begin, sound.at)
        for begin, end in announced(pair.plan, pair.stock)
        if begin < sound.over and sound.at < end
    )
    together = pair.stock.asked.get(sentence, inf)
    anew = any(n < sentence and at == together for n, at in pair.stock.asked.items())
    more = MOMENT + (ENDPOINTING if anew else 0.0)
    return any(ours - stock <= one + more for one in rest)


def interim_was_taken(about: int, pair: Pair) -> bool:
    """The words of a commit came after its timeout. Stock, where an earlier commit was still open,
    had not taken notice of the interim transcript, and has committed none of them."""
    text = [*pair.ours.warnings][about]
    late = [
        move
        for move in pair.plan.moves
        if move.what == "commit"
        and any(
            sound.at < move.at and move.at + TRANSCRIPT_TIMEOUT < sound.over + sound.stt_delay
            for sound in pair.plan.sounds
            if sound.stt_delay is not None
        )
    ]
    said = text.startswith("final transcript not received")
    return said and pair.plan.interims and pair.ours.warnings[text] <= len(late)


def committed_before_the_rest(sentence: int, pair: Pair) -> bool:
    """The same, with manual turns. The last commit waited a second for words: those that stock
    heard of the sentence came in this time, those of the whole sentence after it."""
    sound = pair.plan.sounds[sentence - 1]
    commits = [move.at for move in pair.plan.moves if move.what == "commit" and move.at > sound.at]
    answered = pair.ours.latency.get(sentence) is not None
    if answered or sound.stt_delay is None or not commits:
        return False
    last = max(commits) + TRANSCRIPT_TIMEOUT
    said = announced(pair.plan, pair.stock)
    cut = [max(at, sound.at) for at, end in said if at < sound.over < end]
    in_time = any(at + sound.stt_delay <= last for at in cut)
    return in_time and last < sound.over + sound.stt_delay


def committed_by_the_next_agent(sentence: int, pair: Pair) -> bool:
    """With manual turns. On stock another agent had taken over before the sentence ended, and
    committed it by itself; ours hands over later, or has refused to. The last commit of the
    application waited a second for words, and those of the sentence came after it."""
    sound = pair.plan.sounds[sentence - 1]
    commits = [move.at for move in pair.plan.moves if move.what == "commit"]
    if sound.stt_delay is None or not commits or pair.ours.latency.get(sentence) is not None:
        return False
    words = sound.over + sound.stt_delay
    hands_over = bool(pair.ours.refused or pair.ours.handoffs)
    later = hands_over and not any(at <= words for at in pair.ours.handoffs)
    before = any(at <= sound.over + VAD_SILENCE for at in pair.stock.handoffs)
    return later and before and max(commits) + TRANSCRIPT_TIMEOUT < words


def committed_with_later_words(sentence: int, pair: Pair) -> bool:
    """With manual turns: the words of a later sentence came sooner, and the last commit, which came
    between them and its own, waited for no more. Stock has lost the later sentence."""
    sound, plan = pair.plan.sounds[sentence - 1], pair.plan
    commits = [move.at for move in plan.moves if move.what == "commit" and move.at > sound.at]
    if sound.stt_delay is None or not commits or sentence in pair.ours.asked:
        return False
    later = (n for n in pair.stock.words_lost - pair.ours.words_lost if n > sentence)
    came = [plan.sounds[n - 1].over + (plan.sounds[n - 1].stt_delay or 0.0) for n in later]
    return any(words <= max(commits) < sound.over + sound.stt_delay for words in came)


def wanted_by_the_rest(job: int, pair: Pair) -> bool:
    """What asks for it was not committed for one of these reasons."""
    asks = [n for n, answer in pair.plan.answers.items() if job in answer.jobs]
    return any(
        committed_before_the_rest(n, pair) or committed_with_later_words(n, pair) for n in asks
    )


def hold_was_over(blip: int, pair: Pair) -> bool:
    """It was cut in the moment when a call ended that had kept its turn from being interrupted; or
    when words were committed that were said before it began, while such a call ran."""
    held = [
        (run.start, run.end)
        for run in pair.ours.runs
        if run.end is not None and pair.plan.jobs[run.number].policy in ("finish", "hold")
    ]
    begun = max((h.start for h in pair.ours.audio if _is_at(blip, [h.end], pair)), default=None)
    if begun is None or not any(start <= begun <= end for start, end in held):
        commits = []
    else:
        commits = [at for at, over in committed(pair) if over <= begun]
    return _is_at(blip, [*(end for _, end in held), *commits], pair)


def words_came_after_another_turn(blip: int, pair: Pair) -> bool:
    """It was cut in the moment when words came whose sound was over when the model was asked with
    another sentence, on stock too: nobody could know of them. Stock answered later, or nothing; or
    ours had asked ahead. Or both had, in the same moment, and it was begun after the sound. Or
    stock asked the model after the words only, as it waited for a call of the turn before. Or ours
    kept the other sentence, for a call that held its turn."""
    late: list[float] = []
    ahead = bool(pair.plan.settings.get("preemptive_generation", {}).get("enabled"))
    for number, sound in enumerate(pair.plan.sounds, 1):
        words = sound.over + (sound.stt_delay or 0.0)
        for other in pair.stock.asked.keys() & pair.ours.asked.keys() - {number}:
            stock, ours = pair.stock.asked[other], pair.ours.asked[other]
            if sound.over < stock < words and (ahead or sound.over < ours) and ours < words:
                late.append(words)
            if sound.over < stock < words <= ours and any(a <= stock <= b for a, b in held(pair)):
                late.append(words)
            both = ahead and abs(stock - ours) < SAME and ours < sound.at
            if both and _begun_between(sound.over, words, pair):
                late.append(words)
        late += [words for at in _asked_beside_a_call(pair, words) if sound.over < at < words]
    return _is_at(blip, late, pair)


def _asked_beside_a_call(pair: Pair, until: float) -> Iterator[float]:
    """When ours asked the model; stock waited for a call of the turn before, at least so long. What
    it had asked ahead was out of date by then, and it asked again."""
    for sentence, asked in pair.ours.asked.items():
        waits = any(r.start < asked and until <= (r.end or inf) for r in pair.stock.runs)
        put = [at for at, _ in pair.stock.put.get(sentence, ())]
        if waits and until <= max([*put, pair.stock.asked.get(sentence, inf)]):
            yield asked


def words_of_a_short_sound(blip: int, pair: Pair) -> bool:
    """It was cut in the moment when the words of a short sound came, for which it had waited as
    long as after any such sound. Stock says the same at another time, or had not asked the model
    by then: it waits for tools of interrupted turns."""
    late = [
        heard.end
        for sound in pair.plan.sounds
        for heard in pair.ours.audio
        if sound.words and sound.duration < SHORT and sound.over + WAIT <= heard.start
        if abs(heard.end - sound.over - (sound.stt_delay or 0.0)) < SAME
        if any(heard.text and said.text.startswith(heard.text) for said in pair.stock.audio)
        or _asks_later_on_stock(heard, pair)
    ]
    return _is_at(blip, late, pair)


def _asks_later_on_stock(answer: Heard, pair: Pair) -> bool:
    number = re.match(r"r(\d+)a", answer.text)
    return number is not None and answer.end <= pair.stock.asked.get(int(number[1]), -inf)


def _begun_between(start: float, end: float, pair: Pair) -> bool:
    """What was cut then was begun in this time."""
    cut = [heard for heard in pair.ours.audio if abs(heard.end - end) < SAME]
    return any(start < heard.start for heard in cut)


def _is_at(blip: int, moments: Sequence[float], pair: Pair) -> bool:
    """The blip was cut at one of these moments."""
    cut = pair.ours.cuts[blip] if blip < len(pair.ours.cuts) else inf
    return any(abs(cut - at) < SAME for at in moments)
