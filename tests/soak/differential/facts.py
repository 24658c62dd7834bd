"""What can be seen of a conversation from outside: words, calls and results, with their times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import attrs
from livekit.agents import llm

from turnfsm.fsm.pace import times

from .keys import BACK, GIVEN_UP, HOLD_LIMIT, LISTENS, MONOLOGUE, YES, question
from .model import Asked, Said
from .play import APPLICATION_MOVE, Played
from .script import Script, Sound
from .tools import Run

__all__ = [
    "LATEST_WORDS", "Finding", "Question", "answered", "commits", "delivered", "endpointing",
    "given_up", "handoffs", "heard_words", "holds", "known_result", "left_out", "may_be_lost",
    "obeyed", "outputs", "questions", "refused", "replies_to", "said_yes", "spoken", "stops",
    "too_few", "typed", "user_words", "with_results",
]  # fmt: skip

LATEST_WORDS = 0.3
"""Seconds within which words of a sound come, at the latest."""

JOINED = 6.0
"""Seconds within which two sounds may be one turn."""

WORD = 0.3
"""Seconds of a word of the agent."""


@attrs.frozen
class Finding:
    """Something that is wrong: which measure found it, and what."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def heard_words(played: Played) -> dict[str, float]:
    """The words that were heard, and when each was first."""
    heard: dict[str, float] = {}
    for stretch in played.outcome.heard:
        for place, word in enumerate(stretch.text.split()):
            heard.setdefault(word.strip("."), stretch.start + WORD * place)
    return heard


def spoken(played: Played, word: str) -> list[float]:
    """All times at which a word was heard."""
    found = []
    for stretch in played.outcome.heard:
        words = [one.strip(".") for one in stretch.text.split()]
        found += [stretch.start + WORD * n for n, one in enumerate(words) if one == word]
    return found


@attrs.frozen
class Question:
    """The user was asked whether a call may run.

    Attributes:
        start, end: When it was heard, and when its end was, if it was.
        over: When nobody waits for the answer any more.
    """

    asked: Asked
    start: float
    end: float | None
    over: float


def questions(played: Played) -> Iterator[Question]:
    """Those that were heard."""
    script, heard = played.script, heard_words(played)
    for number, sound in script.sentences():
        for job in script.keys.confirm.intersection(sound.calls):
            first, last = question(job, number)
            if (start := heard.get(first)) is not None:
                end = heard[last] + WORD if last in heard else None
                ends = [run.start for run in played.runs if (run.job, run.asked) == (job, number)]
                if script.model == "pipeline":  # others get no transcript before the turn
                    ends += [s.recognised for _, s in script.sentences()
                             if s.recognised > start and not too_few(played, s)]  # fmt: skip
                ends += [at for at in (*typed(script), *stops(played)) if at > start]
                limit = (end or start) + script.keys.confirm_wait + WORD
                for more in played.outcome.heard:  # counts from the end of what is said meanwhile
                    if start < more.start < limit:
                        limit = max(limit, more.end + script.keys.confirm_wait + WORD)
                yield Question((job, number), start, end, min([limit, *ends]))


def typed(script: Script) -> list[float]:
    """When the user has typed."""
    return [move.at for move in script.moves if move.what in ("ask", "chat", "run")]


def said_yes(played: Played, number: int) -> bool:
    """A sentence was the yes that a call has waited for: it gets no answer of its own."""
    script = played.script
    for run in played.runs:
        if run.job in script.keys.confirm:
            before = [(n, s) for n, s in script.sentences() if s.over <= run.start]
            yes = max((n for n, s in before if s.phrase in YES), default=0)
            if number in {yes, *(n for n, s in before if n > yes > 0 and s.phrase in LISTENS)}:
                return True
    return False


def holds(played: Played) -> Iterator[tuple[float, float]]:
    """From when the user asks the agent to wait until they are back, or the agent asks for them."""
    script = played.script
    if script.keys.hold is None:
        return
    for _, sound in script.sentences():
        if sound.phrase in script.keys.holds:
            ends = [s.recognised for _, s in script.sentences()
                    if s.at > sound.at and s.phrase not in script.keys.holds
                    and (s.phrase in BACK or not script.keys.until)]  # fmt: skip
            ends += [*typed(script), *spoken(played, HOLD_LIMIT)]
            begun = _decided(script, sound) + script.hook
            ends = [at for at in ends if at > (begun if at in typed(script) else sound.recognised)]
            yield sound.at, min(ends, default=script.end)


def given_up(played: Played) -> list[float]:
    """When the agent said that it has no answer, or that it has talked for long enough."""
    return [*spoken(played, GIVEN_UP), *spoken(played, MONOLOGUE)]


def stops(played: Played) -> list[float]:
    """When the application, or a tool, gave up what was being said or about to be said."""
    return [at for at, note in played.outcome.notes if note == "stop"]


def refused(played: Played, number: int) -> bool:
    """A move of the application has raised an error: the application knows that nothing follows."""
    move = played.script.moves[number - 1]
    notes = (note for at, note in played.outcome.notes if move.at <= at < move.at + 0.1)
    return any(note.startswith(f"{move.what} is refused") for note in notes)


def handoffs(played: Played) -> Iterator[tuple[float, float]]:
    """From when the application or a tool asked for another agent until that agent was there."""
    script = played.script
    asked = [move.at for move in script.moves if move.what == "hand_over"]
    returned = (run for run in played.runs if run.end and run.how == "result")
    asked += [run.end or 0.0 for run in returned if script.jobs[run.job].ends == "hands_off"]
    before = 0.0
    for event in played.outcome.events:
        if event.what.startswith("agent_handoff") and event.at > 0.0:
            yield min((at for at in asked if before < at <= event.at), default=event.at), event.at
            before = event.at


def known_result(played: Played, run: Run) -> str:
    """The text with which a run has ended, if it has ended with one that the session passes on."""
    job = played.script.jobs[run.job]
    if run.how == "result" and job.ends in ("returns", "hands_off"):
        # LiveKit drops what is returned with an agent after `ctx.update()`, and logs this.
        return "" if (job.does, job.ends) == ("updates", "hands_off") else f"done{run.job}"
    return f"failed{run.job}" if run.how == "ToolError" and job.ends == "raises" else ""


def with_results(played: Played, before: float) -> Iterator[tuple[Run, float, str]]:
    """The runs that had ended with a result by then, when, and its text."""
    for run in played.runs:
        text = known_result(played, run)
        if run.end is not None and run.end < before and text:
            yield run, run.end, text


def outputs(chat_ctx: llm.ChatContext) -> Iterator[tuple[Asked, str]]:
    """The outputs of the calls in a context."""
    calls = {item.call_id: item for item in chat_ctx.items if item.type == "function_call"}
    for item in chat_ctx.items:
        if item.type == "function_call_output" and item.call_id in calls:
            job, asked = re.findall(r"\d+", calls[item.call_id].arguments)[:2]
            yield (int(job), int(asked)), item.output


def user_words(played: Played) -> Counter[str]:
    """The words of the user in the history."""
    return Counter(
        word
        for item in played.outcome.history.items
        if item.type == "message" and item.role == "user"
        for word in re.findall(r"\w+", item.text_content or "")
    )


def replies_to(played: Played, number: int) -> list[Said]:
    """The replies that answer a sentence: to it, or to a later one, spoken or typed, whose request
    shows it."""
    moves, said_at = played.script.moves, played.script.sounds[number - 1].at
    replies = []
    for said in played.said:
        typed = ("typed", 0) in said.meant and any(moves[n - 1].at > said_at for n in said.typed)
        if number in said.shows and (typed or number <= max(said.answers, default=0)):
            replies.append(said)
    return replies


def answered(played: Played, number: int, heard: dict[str, float]) -> float | None:
    """When an answer to a sentence began to be heard, or was complete if it has no words. An answer
    to a later sentence is one, if its request shows this one; so is what came of a call that was
    made to either, whatever it was asked for in."""
    asks = [q.start for q in questions(played) if q.asked[1] == number]
    later = replies_to(played, number)
    jobs = played.script.sounds[number - 1].calls
    made = [said for said in later if said.request.outcome == "complete"]
    calls = {(job, asked) for asked in {number, *(n for s in made for n in s.answers)}
             for job in played.script.sounds[asked - 1].calls}  # fmt: skip
    calls.update(*(said.calls for said in made))
    results = {(what, call) for what in ("result", "output") for call in calls}
    if any(played.script.jobs[job].ends == "nothing" for job in jobs):  # nothing can be said of it
        later += [s for s in played.said if not s.answers and number == max(s.shows, default=0)
                  and ("nothing", 0) in s.meant]  # fmt: skip
    told = [heard[w] for w, about in played.meaning.items() if about in results and w in heard]
    return min((at for at in (_first(later, heard), *told, *asks) if at is not None), default=None)


def obeyed(played: Played, number: int, heard: dict[str, float]) -> float | None:
    """When it began to be heard what a move of the application asks for."""
    what = played.script.moves[number - 1].what
    if what in ("say", "say_on"):
        return heard.get(f"y{number}a")
    if what == "reply":
        about = ("application", APPLICATION_MOVE + number)
        return min((heard[w] for w, a in played.meaning.items() if a == about and w in heard),
                   default=None)  # fmt: skip
    return _first([said for said in played.said if number in said.typed], heard)


def _first(replies: list[Said], heard: dict[str, float]) -> float | None:
    ends = (_begun(said, heard) if said.words else said.request.ended for said in replies)
    return min((at for at in ends if at is not None), default=None)


def delivered(played: Played, asked: Asked, heard: dict[str, float]) -> float | None:
    """When a result was mentioned, or a reply was heard to its end whose model left it out."""
    told = [heard[w] for w, about in played.meaning.items()
            if about == ("result", asked) and w in heard]  # fmt: skip
    for said in played.said:
        if asked in said.offered and ("result", asked) not in said.meant and not said.fails:
            last = said.words[-1:]
            complete = said.request.ended if said.request.outcome == "complete" else None
            at = heard.get(last[0]) if last else complete
            told += [] if at is None else [at]
    return min(told, default=None)


def _begun(said: Said, heard: dict[str, float]) -> float | None:
    return min((heard[word] for word in said.words if word in heard), default=None)


def may_be_lost(played: Played, sound: Sound) -> bool:
    """Its words are few, cleared, not committed in time, said over uninterruptible speech, or said
    to somebody else while the agent waits."""
    script = played.script
    if left_out(played, sound) or (script.detection == "manual" and not commits(script, sound)):
        return True
    cleared = (move.at for move in script.moves if move.what == "clear")
    if too_few(played, sound) or any(
        sound.at <= at <= _committed_by(script, sound) for at in cleared
    ):
        return True
    over = any(text.startswith("y") for text in _said_over(played, sound, sound.recognised))
    return over and any(move.what == "say_on" for move in script.moves)


def _committed_by(script: Script, sound: Sound) -> float:
    """When its turn is committed at the latest: a noise begins the wait for more words anew."""
    until = sound.recognised + 5.0
    for noise in script.sounds:
        if not noise.words and sound.at < noise.at < until:
            until = max(until, noise.over + 5.0)
    return until


def _decided(script: Script, sound: Sound) -> float:
    return sound.recognised + endpointing(script, sound) + 0.1


def endpointing(script: Script, sound: Sound) -> float:
    """Seconds until the end of a turn is decided, after the words of the sound. The rest of digits
    is waited for."""
    delay = times(script.keys.pace, 0.5)
    if script.detection == "detector":
        delay = times(script.keys.pace, 0.5 if sound.likely else 3.0) + script.detector_delay
    part = sound.phrase and script.keys.expect is not None
    return max(delay, LATEST_WORDS + (script.keys.expect or 0.0)) if part else delay


def left_out(played: Played, sound: Sound) -> bool:
    """It may have asked the agent to wait, together with other words; or the user is away; or it
    only shows that the user listens."""
    listens = played.script.keys.overlap and sound.phrase in (*LISTENS, *YES)
    until = _decided(played.script, sound)
    if listens and (_said_over(played, sound, until) or _awaits_tool(played, sound, until)):
        return True
    away = [(start, end) for start, end in holds(played) if start < sound.recognised]
    if sound.phrase in BACK:
        return False
    joined = any(sound.at < end for _, end in away) and played.script.keys.until
    asks = [s for s in played.script.sounds if s.phrase in played.script.keys.holds]
    near = any(abs(s.at - sound.at) < JOINED for s in asks)
    return sound in asks or joined or (sound.phrase in (*YES, *LISTENS) and near)


def _awaits_tool(played: Played, sound: Sound, until: float) -> bool:
    """The turn before it waits for a tool, or for what the agent says when that has ended, and the
    user has not been asked whether a tool may run."""
    if any(q.end is not None and q.end - 0.05 <= sound.at < q.over for q in questions(played)):
        return False
    sentences = [(n, s) for n, s in played.script.sentences() if s.phrase not in (*LISTENS, *YES)]
    earlier = [number for number, said in sentences if said.at < sound.at]
    replies = [said for said in played.said if max(earlier, default=0) in said.answers]
    calls = {call for said in replies for call in said.calls}
    for run in played.runs:
        if (run.job, run.asked) in calls and run.start < until:
            spoken = (h.start for h in played.outcome.heard if run.end and h.start >= run.end)
            if sound.at < min(spoken, default=played.script.end):
                return True
    return False


def too_few(played: Played, sound: Sound) -> bool:
    """The agent speaks when the turn may end, and the words are too few to interrupt: LiveKit waits
    for more. For words that only show that the user listens, it is enough that a model answers."""
    until = _decided(played.script, sound)
    spans = [(heard.start, heard.end) for heard in played.outcome.heard]
    if sound.phrase in LISTENS:
        spans += [(r.at, r.ended or played.script.end) for r in played.outcome.requests]
    few = sound.words < max(played.script.min_words, played.script.keys.min_words)
    return few and any(start < until and end > sound.at for start, end in spans)


def _said_over(played: Played, sound: Sound, until: float) -> list[str]:
    """What the agent says between the beginning of a sound and its final transcript."""
    audible = (h for h in played.outcome.heard if h.start < until and h.end > sound.at)
    return [heard.text for heard in audible]


def commits(script: Script, sound: Sound) -> list[float]:
    """When the application commits the words of a sound, which may come up to three seconds
    later."""
    made = [move.at for move in script.moves if move.what == "commit"]
    released = {move.at for move in script.moves if move.what == "release"}
    made += [end for start, end in script.pressed() if start <= sound.at < end and end in released]
    return [at for at in made if sound.over <= at and sound.recognised < at + 3.0]
