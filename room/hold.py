"""The demo's conversation, played by a caller in a room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import define, field, frozen

from turnfsm.runtime.demo.prompter import wait_for
from turnfsm.runtime.demo.script import CONVERSATION, Cue, Line, When
from turnfsm.runtime.demo.speech import PCM, UserVoice
from turnfsm.runtime.demo.tts import PiperVoice

from .person import AGENT_STATE, Person

__all__ = ["Held", "Said", "caller_records", "hold", "lines", "words_ahead"]

_MAX_WAIT = 60.0  # seconds within which the situation for a line occurs
_AWAITED = {"question": "very light"}
"""The agent's text that the caller waits for before a line, since a running tool cannot be seen
from outside."""

_EARLY = 0.3  # seconds by which a transcript may be early
_BUFFERS = 1.0  # seconds by which audio may be late


@frozen
class Said:
    """A line as it was spoken, in conversation time."""

    line: Line
    start: float
    end: float


@define
class Held:
    """The conversation as the caller recorded it."""

    wall: float = 0.0  # the date at conversation time 0
    said: list[Said] = field(factory=list)
    stopped: str = ""  # why it did not finish


def lines(only: Sequence[str] = ()) -> list[tuple[Line, PCM]]:
    """The lines of the demo with their audio. Those without a recording are synthesised."""
    voice = UserVoice(PiperVoice.load())
    return [(one, voice.clip(one)) for one in CONVERSATION if not only or one.name in only]


async def hold(caller: Person, script: Sequence[tuple[Line, PCM]]) -> Held:
    """Say all lines, each when its situation occurs."""
    held = Held(wall=caller.wall)
    asked = 0.0  # the end of the last line that needs an answer
    try:
        await caller.agent_comes()
        for line, pcm in script:
            if line.name in _AWAITED:
                await caller.until(partial(_says, caller, _AWAITED[line.name]), _MAX_WAIT)
            await _wait(caller, line.cue, asked)
            start = caller.pace.now()
            end = await caller.say(pcm)
            held.said.append(Said(line, start, end))
            asked = asked if line.ignored else end
        await _wait(caller, Cue(When.QUIET, 1.0), asked)
    except TimeoutError as error:
        held.stopped = str(error)
    return held


def _says(caller: Person, words: str) -> bool:
    return any(words in text.text for text in caller.agent_texts)


async def _wait(caller: Person, cue: Cue, asked: float) -> None:
    await wait_for(cue, lambda when: _holds(caller, when, asked), caller.pace, _MAX_WAIT)


def _holds(caller: Person, when: When, asked: float) -> bool:
    """Whether the situation holds, judged by the published state and the agent's audio."""
    sounding = caller.ear.sounding
    answered = asked == 0.0 or caller.ear.began > asked
    match when:
        case When.SPEAKING:
            return sounding
        case When.SILENT_TOOL:
            return caller.state == "thinking" and answered and not sounding
        case When.SILENT_STEP:
            return caller.state == "thinking" and not sounding
    return caller.state == "listening" and answered and not sounding


def caller_records(caller: Person, held: Held) -> Iterator[Mapping[str, Any]]:
    """What the caller said and heard, as notes of a journal in conversation time."""
    for said in held.said:
        data = {"name": said.line.name, "text": said.line.text, "start": said.start}
        yield {"t": said.start, "note": "line", "data": data}
    old = ""
    for change in caller.changes:
        if change.name == AGENT_STATE:
            states = {"old": old, "new": change.value}
            yield {"t": change.at, "note": "agent_state", "data": states}
            old = change.value
    for text in caller.texts:
        at = text.pieces[0][0] if text.pieces else held.said[-1].end if held.said else 0.0
        data = {"of": text.of, "segment": text.segment, "final": text.final, "text": text.text}
        yield {"t": at, "note": "transcript", "data": data}
    yield from _voice(caller)


def words_ahead(caller: Person) -> list[float]:
    """By how many seconds each transcript came before its audio, which waits in buffers, longer on
    a busy machine. 0 if the audio resumes after a pause."""
    begun = [text.pieces[0][0] for text in caller.agent_texts if text.pieces]
    return [
        min((s.start - at for at in begun if 0.0 < s.start - at <= _BUFFERS), default=0.0)
        for s in caller.ear.sounds()
    ]


def _voice(caller: Person) -> Iterator[Mapping[str, Any]]:
    """Each piece of the agent's audio with the transcript that came during it."""
    if not (sounds := caller.ear.sounds()):
        return
    pieces = sorted(piece for text in caller.agent_texts for piece in text.pieces)
    due = [s.start - ahead - _EARLY for s, ahead in zip(sounds, words_ahead(caller), strict=True)]
    begins, ends = [float("-inf"), *due[1:]], [*due[1:], float("inf")]
    for sound, begin, end in zip(sounds, begins, ends, strict=True):
        words = "".join(word for at, word in pieces if begin <= at < end)
        data = {"start": round(sound.start, 3), "end": round(sound.end, 3), "text": words}
        yield {"t": sound.start, "note": "agent_audio", "data": data}
