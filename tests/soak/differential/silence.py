"""How long the user waits in silence for something that is due, by the script's own delays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from .facts import (
    Finding,
    answered,
    commits,
    delivered,
    handoffs,
    heard_words,
    may_be_lost,
    obeyed,
    refused,
    stops,
    too_few,
    with_results,
)
from .play import Played
from .script import Script, Sound
from .tools import Run

__all__ = ["Wait", "silent_findings", "waits"]

Span = tuple[float, float]

MARGIN = 0.5
"""Seconds of silence for all that takes no time of the script."""

AFTER_NOISE = 2.3
"""Seconds, once: a sound may have been words, and words may still come."""

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


def waits(played: Played) -> Iterator[Wait]:
    """All that was due."""
    if played.failed:
        return
    heard, script = heard_words(played), played.script
    for number, sound in script.sentences():
        since = _due(script, sound)
        until = answered(played, number, heard)
        if not _given_up(played, number, sound, until):
            yield _wait(played, "sentence", f"the answer to sentence {number}", since, until)
    for run, end, _ in with_results(played, script.end - 1.0):
        until = delivered(played, (run.job, run.asked), heard)
        stopped = [at for at in stops(played) if run.start - 3.0 < at < (until or script.end)]
        later = [said.request.at for said in played.said if said.request.at > max([end, *stopped])]
        if not stopped or later:  # what the application stops is due in the next reply
            what = f"the result of job {run.job} (sentence {run.asked})"
            since = min(later) if stopped else end
            yield _wait(played, "result", what, min(since, until or since), until)
    for number, move in enumerate(script.moves, 1):
        if move.what in ("say", "say_on", "reply", "ask", "chat", "run"):
            until = obeyed(played, number, heard)
            if not (_overtaken(played, number, until) or refused(played, number)):
                what = f"what move {number} ({move.what}) asks for"
                yield _wait(played, "move", what, move.at, until)


def endpointing(script: Script, sound: Sound) -> float:
    """Seconds until the end of a turn is decided, after the words of the sound."""
    if script.detection == "detector":
        return script.detector_delay + (0.5 if sound.likely else 3.0)
    return 0.5


def _due(script: Script, sound: Sound) -> float:
    """When its words are there, and committed."""
    if script.detection != "manual":
        return sound.recognised
    return max(sound.recognised, min(commits(script, sound), default=script.end))


def _given_up(played: Played, number: int, sound: Sound, until: float | None) -> bool:
    """Nothing is due: the application or a failure has ended it, or the words are dropped."""
    script = played.script
    last = script.end if until is None else until
    if any(sound.at <= at <= last for at in stops(played)):
        return True
    replies = [said for said in played.said if number in said.answers]
    if any(s.fails or played.said.index(s) + 1 in script.tts_fails for s in replies):
        return True
    shown = any(number in said.shows for said in played.said)
    return too_few(played, sound) or (not shown and may_be_lost(played, sound))


def _overtaken(played: Played, number: int, until: float | None) -> bool:
    """Somebody has interrupted what a move asks for, or it has failed."""
    script, at = played.script, played.script.moves[number - 1].at
    last = script.end if until is None else until
    acts = [moment for sound in script.sounds for moment in (sound.at, sound.recognised)]
    acts += stops(played)
    acts += [move.at for n, move in enumerate(script.moves, 1) if n != number]
    failed = "failures" in script.switches and until is None
    return failed or any(at - 1.0 <= other <= last for other in acts if other != at)


def _wait(played: Played, about: str, what: str, since: float, until: float | None) -> Wait:
    script = played.script
    end = script.end if until is None else max(since, until)
    noises = [s for s in script.sounds if not s.words and since - 3.0 < s.over < end]
    moved = [m for m in script.moves
             if since - 3.0 < m.at < end and m.what not in ("close", "hand_over")]  # fmt: skip
    handed = [there for asked, there in handoffs(played) if asked < end and since - 3.0 < there]
    held = any(_holds(script, r) and r.start < end and (r.end or end) >= since for r in played.runs)
    limit = MARGIN + AFTER_NOISE * bool(noises) + MOVE * (len(moved) + len(handed))
    limit += script.hook * held  # a turn that has waited for the tool
    silent = end - since - _total(_busy(played, about), since, end)
    return Wait(about, what, since, end, until is not None, round(silent, 3), round(limit, 3))


def _busy(played: Played, about: str) -> Iterator[Span]:
    """When somebody was heard; when words, the end of a turn, the model or a tool were awaited."""
    script = played.script
    yield from ((heard.start, heard.end) for heard in played.outcome.heard)
    for sound in script.sounds:
        decided = endpointing(script, sound) + script.hook if sound.words else 0.0
        yield sound.at, (_due(script, sound) if sound.words else sound.over) + decided
    for request in played.outcome.requests:
        yield request.at, (script.end if request.ended is None else request.ended) + 0.15
    for run in played.runs:
        if about == "result" or _holds(
            script, run
        ):  # a result waits for the calls beside it, and later ones
            yield run.start, script.end if run.end is None else run.end
    for asked, there in handoffs(played):  # one waits for all calls that run, on both sessions
        for run in played.runs:
            over = script.end if run.end is None else run.end
            yield max(asked, run.start), min(there, over)


def _holds(script: Script, run: Run) -> bool:
    return script.jobs[run.job].policy in ("hold", "finish")


def _total(spans: Iterable[Span], since: float, until: float) -> float:
    """Seconds between two moments that the spans cover."""
    total, at = 0.0, since
    for start, end in sorted(spans):
        begin, end = max(start, at), min(end, until)
        if end > begin:
            total, at = total + end - begin, end
    return total
