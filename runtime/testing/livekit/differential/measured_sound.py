"""Measures of the audio of a conversation: what was heard, when, and what was cut."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from math import inf

from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.scripted_llm import Request
from turnfsm.runtime.testing.livekit.speaker import Heard

from . import measured_calls, measured_words
from .agents import answer
from .jobs import Jobs
from .plan import ASKED, TYPED, Plan

__all__ = [
    "answers",
    "begun",
    "begun_over",
    "blips",
    "first_with",
    "news",
    "overlap",
    "own_answers",
    "repeats",
    "replies",
    "told",
]

ANSWER = 0.5
"""Seconds that an answer is heard; one that is cut earlier answers nothing."""

FRAME = 0.02
"""Seconds of a frame of audio; less is not heard."""

BLIP = 1.5
"""Seconds: shorter audio that is cut tells the caller nothing."""

BARGE_IN = 0.6
"""Seconds of voice that interrupt: LiveKit's half a second, and what a VAD needs."""

NEWS = re.compile(r"[nt][1-9]")
"""A word about what has come of a job."""

ALL_NEWS = re.compile(rf"(?:{NEWS.pattern}[a-z]\W*)+")

NOTICED = 0.06
"""Seconds of a voice until a VAD has noticed it."""

BEGINS = 0.15
"""Seconds from the end of a request, or of other audio, to the first audio of the reply."""

COMMIT = 1.55
"""Seconds that a commit of the application may take: it sends silence, and waits for words."""


def answers(
    plan: Plan, jobs: Jobs, outcome: Outcome, end: float, least: float = ANSWER
) -> Iterator[tuple[int, Heard | None]]:
    """What comes of a job answers a sentence only if the model was asked for the job with it.

    If the job was called before, the model may first tell what came of that, and then nothing more:
    it is the same. What comes of a call
    that the model has repeated answers nothing: nobody has asked for it. Nor does the end of a tool
    that returns nothing: LiveKit wants no reply. A commit may cut a sentence in two, and the model
    be asked about the end of it only.
    """
    ends = {number: at for number, ((at, _), *_) in measured_words.put(outcome).items()}
    asked = {**ends, **measured_words.asked(outcome)}
    again = list(measured_calls.repeated(plan, jobs, outcome))
    whole = [h for h in outcome.heard if h.end - h.start >= least]
    vain = {
        (run.number, first_with(whole, (f"t{run.number}",), run.end))
        for run in again
        if run.end is not None
    }
    for number, sound in enumerate(plan.sounds, 1):
        over = sound.at + sound.duration
        if not sound.words or sound.stt_delay is None or over + sound.stt_delay > end - 6.0:
            continue
        later = range(number, len(plan.sounds) + 1)
        found = [first_with(whole, tuple(f"r{n}" for n in later), over - 1e-6)]
        for asking, job in ((n, job) for n in later for job in plan.answers[n].jobs):
            since = asked.get(asking, inf)
            runs = [run for run in jobs.runs if run.number == job and run.start >= since]
            told = [heard for heard in whole if (job, heard) not in vain]
            if runs:
                found.append(first_with(told, (f"n{job}",), max(over - 1e-6, runs[0].start)))
            if runs and runs[0].end is not None and plan.jobs[job].ends != "nothing":
                result = first_with(told, (f"t{job}",), max(over - 1e-6, runs[0].end))
                found.append(result)
                said = [answer(plan, r).text for r in outcome.requests if r.at >= since]
                news = [h for h in told if any(s.startswith(h.text.rstrip(".")) for s in said)]
                if result is not None:
                    news = [heard for heard in news if ALL_NEWS.fullmatch(heard.text)]
                found.append(first_with(news, (f"t{job}",), max(over - 1e-6, since)))
        heard = [stretch for stretch in found if stretch is not None]
        yield number, min(heard, key=lambda stretch: stretch.start, default=None)


def begun(
    plan: Plan, jobs: Jobs, outcome: Outcome, end: float
) -> Iterator[tuple[int, tuple[float, float]]]:
    """What is heard first after the request is the answer, also if it is less than a word."""
    put = measured_words.put(outcome)
    for number, heard in answers(plan, jobs, outcome, end, least=0.0):
        asked = max((at for at, _ in put.get(number, ())), default=inf)
        first = heard or next((h for h in outcome.heard if h.start >= asked), None)
        if first is not None and (first is heard or not first.text):
            yield number, (first.start, first.end)


def own_answers(plan: Plan, outcome: Outcome) -> dict[int, tuple[float, float]]:
    own = {}
    for number, sound in enumerate(plan.sounds, 1):
        heard = first_with(outcome.heard, (f"r{number}",), sound.at)
        if heard is not None:
            own[number] = heard.start, heard.end
    return own


def replies(plan: Plan, outcome: Outcome) -> dict[int, tuple[float, float]]:
    replies = {}
    for number, move in enumerate(plan.moves):
        words = {
            "reply": f"g{ASKED + number}",
            **dict.fromkeys(("ask", "chat", "run"), f"g{TYPED + number}"),
            **dict.fromkeys(("say", "say_on", "wait"), f"y{number}"),
        }
        word = words.get(move.what)
        heard = None if word is None else first_with(outcome.heard, (word,), move.at)
        if heard is not None:
            replies[number] = heard.start, heard.end
    return replies


def news(outcome: Outcome) -> Iterator[tuple[float, float]]:
    for heard in outcome.heard:
        words = heard.text.split()
        news = list(takewhile(NEWS.match, reversed(words)))
        if news:
            yield heard.end - (heard.end - heard.start) * len(news) / len(words), heard.end


def told(plan: Plan, outcome: Outcome, word: str) -> dict[int, float]:
    begun: dict[str, float] = {}
    for stretch in outcome.heard:
        for heard in stretch.text.split():
            begun.setdefault(heard.strip("."), stretch.start)
    words = {number: f"t{number}{word}" for number in plan.jobs}
    return {number: begun[first] for number, first in words.items() if first in begun}


def first_with(heard: Sequence[Heard], names: tuple[str, ...], since: float) -> Heard | None:
    """The first stretch after this moment with a word of one of these sentences."""
    wanted = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})[a-z]")
    return next((h for h in heard if h.start >= since and wanted.search(h.text)), None)


def blips(plan: Plan, outcome: Outcome, sentences: Sequence[str], end: float) -> Iterator[Heard]:
    spoken = [text.split() for text in sentences if text.split()]
    done = {word for heard in outcome.heard for word in heard.text.split()}
    resumed = {at for at, again in outcome.false_interruptions if again}
    before: list[str] = []
    for heard in outcome.heard:
        words = heard.text.split() or (before if heard.start in resumed else [])
        before = words or before
        complete = bool(words) and any(s[-1] in done for s in spoken if words[-1] in s)
        if complete or not FRAME <= heard.end - heard.start <= BLIP or heard.end > end - 0.05:
            continue
        if not _reason(plan, outcome, heard):
            yield heard


def _reason(plan: Plan, outcome: Outcome, heard: Heard) -> bool:
    """Somebody spoke, or the application or a tool did something, while it was heard."""
    ends = [at for at, state in outcome.user_states if state == "listening"]
    for sound in plan.sounds:  # a voice is over when the VAD has noticed
        over = sound.at + sound.duration
        over = min((at for at in ends if at > over), default=over)
        if sound.at < heard.end + 0.06 and over > heard.start:
            return True
    acts = [at for at, note in outcome.notes if note.startswith(("move", "tool"))]
    if any(heard.start - 0.01 <= at <= heard.end + 0.06 for at in acts):
        return True
    commits = [move.at for move in plan.moves if move.what == "commit"]
    return any(at <= heard.start and heard.end <= at + COMMIT for at in commits)


def overlap(plan: Plan, outcome: Outcome) -> float:
    """Who speaks over the agent is heard after a moment; where turns are manual, at a commit. What
    begins before the VAD has noticed them has begun before."""
    manual = plan.settings.get("turn_detection") == "manual"
    seconds = 0.0
    for sound in plan.sounds:
        for heard in outcome.heard:
            both = min(sound.at + sound.duration, heard.end) - max(sound.at, heard.start)
            if _decided(plan, outcome, heard) < sound.at + NOTICED:
                both = 0.0 if manual else both - BARGE_IN
            seconds += max(0.0, both) if sound.words else 0.0
    return seconds


def _decided(plan: Plan, outcome: Outcome, heard: Heard) -> float:
    """When it was decided that it begins. An output that cannot pause is not held: LiveKit looks at
    the user when it asks the model, and the reply begins as soon as it is there and has the floor.
    """
    asked = max((r for r in outcome.requests if r.at <= heard.start), key=_at, default=None)
    if plan.can_pause or plan.settings.get("turn_detection") != "manual" or asked is None:
        return heard.start
    free = max((h.end for h in outcome.heard if h.end <= heard.start), default=0.0)
    ready = max(asked.at if asked.ended is None else asked.ended, free)
    return asked.at if heard.start <= ready + BEGINS else heard.start


def _at(request: Request) -> float:
    return request.at


def begun_over(outcome: Outcome) -> float:
    seconds = 0.0
    for (at, state), (over, _) in pairwise(outcome.user_states):
        if state == "speaking":
            seconds += sum(over - h.start for h in outcome.heard if at - 1e-6 <= h.start < over)
    return seconds


def repeats(outcome: Outcome, sentences: Sequence[str]) -> dict[str, int]:
    words = Counter(word for heard in outcome.heard for word in set(heard.text.split()))
    return {text: words[text.split()[0]] for text in sentences if text.split()}
