"""What can be seen of a conversation from outside: words, calls and results, with their times."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs
from livekit.agents import llm

from .model import Asked, Said
from .play import APPLICATION_MOVE, Played
from .script import Script, Sound
from .tools import Run

__all__ = [
    "Finding", "answered", "commits", "delivered", "handoffs", "heard_words", "known_result",
    "may_be_lost", "obeyed", "outputs", "refused", "stops", "too_few", "with_results",
]  # fmt: skip

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


def answered(played: Played, number: int, heard: dict[str, float]) -> float | None:
    """When an answer to a sentence began to be heard, or was complete if it has no words. An answer
    to a later sentence is one, if its request shows this one; so is the result of its call."""
    later = [s for s in played.said if number in s.shows and number <= max(s.answers, default=0)]
    results = [("result", (job, number)) for job in played.script.sounds[number - 1].calls]
    told = [heard[w] for w, about in played.meaning.items() if about in results and w in heard]
    return min((at for at in (_first(later, heard), *told) if at is not None), default=None)


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
    """Its words are few, cleared, not committed in time, or said over uninterruptible speech."""
    script = played.script
    cleared = (move.at for move in script.moves if move.what == "clear")
    if too_few(played, sound) or any(sound.at <= at <= sound.recognised + 5.0 for at in cleared):
        return True
    if any(text.startswith("y") for text in _said_over(played, sound)):
        return any(move.what == "say_on" for move in script.moves)
    return script.detection == "manual" and not commits(script, sound)


def too_few(played: Played, sound: Sound) -> bool:
    """The agent speaks, and the words are too few to interrupt: LiveKit waits for more."""
    return sound.words < played.script.min_words and bool(_said_over(played, sound))


def _said_over(played: Played, sound: Sound) -> list[str]:
    """What the agent says between the beginning of a sound and its final transcript."""
    audible = (h for h in played.outcome.heard if h.start < sound.recognised and h.end > sound.at)
    return [heard.text for heard in audible]


def commits(script: Script, sound: Sound) -> list[float]:
    """When the application commits the words of a sound: a commit waits a second for them."""
    made = (move.at for move in script.moves if move.what == "commit")
    return [at for at in made if sound.over <= at and sound.recognised < at + 0.9]
