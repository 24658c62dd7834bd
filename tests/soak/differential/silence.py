"""How long the user waits in silence for something that is due, by the script's own delays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import attrs

from turnfsm.fsm.pace import times

from .facts import (
    LATEST_WORDS,
    Finding,
    answered,
    commits,
    delivered,
    endpointing,
    given_up,
    handoffs,
    heard_words,
    holds,
    left_out,
    may_be_lost,
    obeyed,
    questions,
    refused,
    replies_to,
    said_yes,
    spoken,
    stops,
    too_few,
    user_words,
    with_results,
)
from .keys import FILLER, HOLD_LIMIT, NOT_HEARD, REPROMPTS, TOOL_FILLER
from .model import Asked, Said
from .play import BUTTON, Played
from .script import Script, Sound
from .tools import Run

__all__ = ["Wait", "silent_findings", "waits"]

Span = tuple[float, float]

MARGIN = 0.5
"""Seconds of silence for all that takes no time of the script."""

AFTER_NOISE = 2.0
"""Seconds, once: a sound may have been words, and words may still come. The first are those at the
pace `normal`."""

BY_MODEL = 0.3
"""How many seconds after the VAD a realtime model that detects turns reports the end of a sound."""

MOVE = 1.0
"""Seconds for each move of the application, and for a handoff."""


@attrs.frozen
class Wait:
    """Something was due, and the user waited for it.

    Attributes:
        what: What was due; `about`: ``sentence``, ``result`` or ``move``.
        since, until: From when; and when it was heard, or the end of the conversation.
        met: It was heard.
        silent: Seconds of this in which nobody was heard, and nothing of the script was awaited.
        limit: How many of them there may be.
    """

    about: str
    what: str
    since: float
    until: float
    met: bool
    silent: float
    limit: float

    @property
    def late(self) -> bool:
        """The user has waited too long."""
        return self.silent > self.limit


def silent_findings(played: Played) -> list[Finding]:
    """Each wait that took too long, and each result that was never heard."""
    return [
        Finding(
            "unheard" if wait.about == "result" and not wait.met else "silence",
            f"{wait.what}, due at {wait.since:.2f} s, "
            + (f"is heard at {wait.until:.2f} s" if wait.met else "is never heard")
            + f": {wait.silent:.2f} s of silence, {wait.limit:.2f} s are allowed",
        )
        for wait in waits(played)
        if wait.late
    ]


SAID = ("w1 w2.", "v1 v2.", FILLER, TOOL_FILLER, "", *REPROMPTS)
"""What the sections say by themselves. The sound of a filler has no text."""


def waits(played: Played) -> Iterator[Wait]:
    """All that was due."""
    if played.failed:
        return
    heard, script = heard_words(played), played.script
    for number, sound in script.sentences():
        since = _due(script, sound)
        until = answered(played, number, heard)
        if since < script.end and not _given_up(played, number, sound, until):
            if script.keys.never_silent is not None and until is not None and since < until:
                yield _longest_silence(played, number, since, until)
            yield _wait(played, "sentence", f"the answer to sentence {number}", since, until)
    for run, end, _ in with_results(played, script.end - 1.0):
        if script.jobs[run.job].does == "interrupts":
            continue  # it has ended its own turn, and need not be told; a later reply may tell it
        until = delivered(played, (run.job, run.asked), heard)
        acts = [*_stops(played), *_failed(played, (run.job, run.asked))]
        stopped = [at for at in acts if run.start - 3.0 < at < (until or script.end)]
        later = [said.request.at for said in played.said if said.request.at > max([end, *stopped])]
        if not stopped or later:  # what the application stops is due in the next reply
            what = f"the result of job {run.job} (sentence {run.asked})"
            since = min(later) if stopped else end
            yield _wait(played, "result", what, min(since, until or since), until)
    yield from _from_sections(played)
    for number, move in enumerate(script.moves, 1):
        if move.what in ("say", "say_on", "reply", "ask", "chat", "run"):
            until = obeyed(played, number, heard)
            if not (_overtaken(played, number, until) or refused(played, number)):
                what = f"what move {number} ({move.what}) asks for"
                yield _wait(played, "move", what, move.at, until)


def _longest_silence(played: Played, number: int, since: float, until: float) -> Wait:
    """With `never_silent`: while a sentence waits for its answer."""
    script, at, longest = played.script, since, 0.0
    spans = [(heard.start, heard.end) for heard in played.outcome.heard]
    spans += [(s.at, s.recognised + endpointing(script, s) + script.hook) for s in script.sounds]
    spans += [*holds(played), *((q.start, q.over) for q in questions(played)), (until, until)]
    spans += script.pressed()
    spans += _handing_over(played)  # LiveKit lets nobody speak then
    for start, end in sorted(span for span in spans if span[1] > since and span[0] <= until):
        longest, at = max(longest, start - at), max(at, end)
    limit = (script.keys.never_silent or 0.0) + 2 * MARGIN
    limit += _after_noise(script) * any(not s.words and s.over > since - 3.0 for s in script.sounds)
    what = f"anything, while the answer to sentence {number} is awaited,"
    return Wait("sentence", what, since, until, True, round(longest, 3), round(limit, 3))


def _from_sections(played: Played) -> Iterator[Wait]:
    """What `not_heard` and `hold` say to a user who does nothing else."""
    script, keys = played.script, played.script.keys
    for sound in script.sounds if script.model == "pipeline" else ():
        at = sound.over + keys.timers.get("transcript_limit", 3.0)
        first = not any(said < at for said in spoken(played, NOT_HEARD))
        if keys.not_heard and first and not sound.words and sound.duration >= 1.5:
            what = "what the agent says to speech without a transcript"
            yield from _said_alone(played, sound, what, NOT_HEARD, at)
        if sound.phrase in keys.holds and script.detection != "manual":
            at = sound.recognised + endpointing(script, sound) + script.hook + keys.hold
            at += 0.75 * keys.says_hold
            yield from _said_alone(played, sound, "the end of the hold", HOLD_LIMIT, at)
    yield from _hangs_up(played)


def _hangs_up(played: Played) -> Iterator[Wait]:
    """After a goodbye that was heard, if nothing else happens."""
    script, keys = played.script, played.script.keys
    last = REPROMPTS[len(keys.silence) - 1].split()[-1]
    for goodbye in played.outcome.heard if keys.hang_up else ():
        since = goodbye.end + times(keys.pace, 1.0)
        others = [(s.at, s.recognised + 4.0) for s in script.sounds]
        others += [(move.at, move.at + 1.0) for move in script.moves]
        others += [(h.start, h.end) for h in played.outcome.heard if h is not goodbye]
        alone = not any(start < since + 1.0 and over > goodbye.start for start, over in others)
        if goodbye.text.endswith(last) and alone and since + 4.0 < script.end:
            met = script.hung_up is not None
            end = script.hung_up if script.hung_up is not None else script.seconds
            yield Wait("move", "the end of the call", since, end, met, end - since, MARGIN)


def _said_alone(played: Played, sound: Sound, what: str, word: str, since: float) -> Iterator[Wait]:
    """What is due after a sound, if nothing else happens from before it until then."""
    script = played.script
    others = [(s.at, s.recognised + 4.0) for s in script.sounds if s is not sound]
    others += [(move.at - 1.0, move.at + 1.0) for move in script.moves]
    others += [(run.start, run.end or script.end) for run in played.runs]
    others += [(h.start, h.end) for h in played.outcome.heard if h.text not in SAID]
    until = min((at for at in spoken(played, word) if at > sound.at), default=None)
    end = script.end if until is None else until
    if since + 1.0 < script.end and not any(
        start < min(end, since + 1.0) and over > sound.at - 1.0 for start, over in others
    ):
        limit = MARGIN + script.hook
        silent = round(max(0.0, end - since), 3)
        yield Wait("move", what, since, end, until is not None, silent, limit)


def _after_noise(script: Script) -> float:
    by_model = BY_MODEL if script.model == "server" else 0.0
    return times(script.keys.pace, AFTER_NOISE) + LATEST_WORDS + by_model


def _due(script: Script, sound: Sound) -> float:
    """When its words are there, and committed."""
    if script.detection != "manual":
        return sound.recognised
    return max(sound.recognised, min(commits(script, sound), default=script.end))


def _given_up(played: Played, number: int, sound: Sound, until: float | None) -> bool:
    """Nothing is due: the application or a failure has ended it, or the words are dropped."""
    script = played.script
    last = script.end if until is None else until
    if any(sound.at <= at <= last for at in _stops(played)):
        return True
    ran = {run.job for run in played.runs if run.asked == number}
    ended = script.keys.confirm - ran  # a hold ends them
    empty = any(script.jobs[job].ends == "nothing" or job in ended for job in sound.calls)
    if said_yes(played, number) or (empty and any(sound.at < at < last for at, _ in holds(played))):
        return True  # after a hold nothing is left to be said of a call without a result
    if any(said in replies_to(played, number) for said in _broken(played)):
        return True
    shown = any(number in said.shows for said in played.said)
    if left_out(played, sound) and not user_words(played).keys() & script.words(number):
        return True
    return too_few(played, sound) or (not shown and may_be_lost(played, sound))


def _failed(played: Played, asked: Asked) -> list[float]:
    """When a reply that was to mention this result failed and is not tried again: from the second
    time on; or at once if a realtime model breaks off, which no session learns of."""
    tried = (s for s in _broken(played) if asked in s.offered)
    failed = [s.request.ended for s in tried if "application" not in dict(s.meant)]
    tries = 2 if played.script.model == "pipeline" else 1
    return [at for at in failed[tries - 1 :] if at is not None]


def _broken(played: Played) -> list[Said]:
    """The replies in which the model or the TTS fails."""
    return [said for number, said in enumerate(played.said, 1)
            if said.fails or number in played.script.tts_fails]  # fmt: skip


def _stops(played: Played) -> list[float]:
    """When what was to be said was given up: what is then still due comes with the next reply."""
    return [*stops(played), *given_up(played)]


def _overtaken(played: Played, number: int, until: float | None) -> bool:
    """Somebody has interrupted what a move asks for, perhaps with the end of their turn, or it has
    failed."""
    script, at = played.script, played.script.moves[number - 1].at
    last = script.end if until is None else until
    acts = [moment for sound in script.sounds for moment in (sound.at, sound.recognised)]
    acts += [_due(script, sound) + endpointing(script, sound) for _, sound in script.sentences()]
    acts += [stop for stop in _stops(played) if stop != at]  # `chat` stops what was said before it
    acts += [move.at for n, move in enumerate(script.moves, 1) if n != number]
    failed = "failures" in script.switches and until is None
    return failed or any(at - 1.0 <= other <= last for other in acts)


def _wait(played: Played, about: str, what: str, since: float, until: float | None) -> Wait:
    script = played.script
    end = script.end if until is None else max(since, until)
    noises = [s for s in script.sounds if not s.words and since - 3.0 < s.over < end]
    acts = (m for m in script.moves if m.what not in ("close", "hand_over", *BUTTON))
    moved = [m for m in acts if since - 3.0 < m.at < end]
    handed = [there for asked, there in handoffs(played) if asked < end and since - 3.0 < there]
    held_off = sum(start < end and until >= since for start, until in holds(played))
    held_off += sum(since <= said.request.at < end for said in _broken(played))
    limit = MARGIN + _for_noises(played, noises) * (1 + held_off)
    limit += MOVE * (len(moved) + len(handed))
    silent = end - since - _total(_busy(played, about), since, end)
    return Wait(about, what, since, end, until is not None, round(silent, 3), round(limit, 3))


def _for_noises(played: Played, noises: Sequence[Sound]) -> float:
    """How many seconds a session may wait for the words of these noises: once, however many come;
    again if it has replied before the next one, or the user has said something. If it goes on
    speaking before the time for the last one is over, it may wait for the rest afterwards. A model
    that detects turns drops the reply that it was asked for at each sound, and may answer the sound
    by itself: it cannot be asked again before that."""
    replies = [heard.start for heard in played.outcome.heard if heard.text not in SAID]
    spoken = replies + [sound.recognised for _, sound in played.script.sentences()]
    if played.script.model == "server":
        spoken += [r.at for r in played.outcome.requests if r.outcome == "cancelled"]
    again = sum(any(a.over < at < b.at for at in spoken) for a, b in pairwise(noises))
    over, seconds = noises[-1].over if noises else 0.0, _after_noise(played.script)
    rest = (over + seconds - at for at in replies if over < at < over + seconds)
    return seconds * (1 + again) + max(rest, default=0.0) if noises else 0.0


def _busy(played: Played, about: str) -> Iterator[Span]:
    """When somebody was heard; when words, the end of a turn, the model or a tool were awaited."""
    script = played.script
    yield from ((heard.start, heard.end) for heard in played.outcome.heard)
    yield from _undecided(script)
    yield from played.hooks
    for request in played.outcome.requests:
        yield request.at, (script.end if request.ended is None else request.ended) + 0.15
    away = [*holds(played), *script.pressed()]
    for run in played.runs:
        over = script.end if run.end is None else run.end
        if about == "result" or _holds(script, run):  # it waits for calls beside it, and later ones
            yield run.start, over
        # the user has interrupted the reply that has made the call: its result is the answer
        yield from ((run.start, over) for start, back in away if run.start < back and start < over)
    yield from away
    for question in questions(played):
        yield question.start, question.over
    yield from _handing_over(played)


def _handing_over(played: Played) -> Iterator[Span]:
    """A handoff waits for all calls that run, on both sessions."""
    for asked, there in handoffs(played):
        for run in played.runs:
            over = played.script.end if run.end is None else run.end
            yield max(asked, run.start), min(there, over)


def _undecided(script: Script) -> Iterator[Span]:
    """From each sound until the end of its turn is decided. A noise before that moment begins the
    decision anew: the user may be about to go on."""
    decided = waits = 0.0
    for sound in script.sounds:
        if sound.words:
            waits = endpointing(script, sound)
            decided = _due(script, sound) + waits
        else:
            decided = max(decided, sound.over + waits) if sound.at < decided else sound.over
        yield sound.at, decided


def _holds(script: Script, run: Run) -> bool:
    return script.policy(run.job) in ("hold", "finish")


def _total(spans: Iterable[Span], since: float, until: float) -> float:
    """Seconds between two moments that the spans cover."""
    total, at = 0.0, since
    for start, end in sorted(spans):
        begin, end = max(start, at), min(end, until)
        if end > begin:
            total, at = total + end - begin, end
    return total
