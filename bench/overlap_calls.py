"""Draws overlaps, and plays each on a session."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import yaml
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.demo.speech import RATE, UserVoice
from turnfsm.testing import (
    Outcome,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
    Utterance,
)

from .heard import MIN_SILENCE, SILERO_MIN_SILENCE, Heard, interims, replay, scripted_vad

__all__ = [
    "ANSWER",
    "ASKED",
    "SESSIONS",
    "STORY",
    "Drawn",
    "Seen",
    "draw",
    "measure",
    "play",
    "spoken",
    "telling",
]

PHRASES = Path(__file__).with_name("overlap.yaml")

# Tuned: of min_words 0 to 3 and a longer min_duration, this had the best sum of what continues and
# what yields in 60 other overlaps.
SESSIONS: Mapping[str, Callable[..., AgentSession[Any]]] = {
    "AgentSession": AgentSession,
    "AgentSession, tuned": partial(
        AgentSession,
        turn_handling={"interruption": {"min_words": 3, "false_interruption_timeout": 0.5}},
    ),
    "TurnSession": TurnSession,
    'flow="overlap"': partial(TurnSession, flow="overlap"),
}
ASKED, ANSWER = "tell me about it", "Yes?"
STORY = (
    "There are three ways to get there from the station. The first one is the tram, which takes "
    "twenty minutes. The second one is the bus, and it is cheaper. Or you walk along the river."
)


@attrs.frozen
class Drawn:
    """One overlap.

    Attributes:
        kind: A kind of sound in bench/overlap.yaml.
        stays: The caller wants to hear the rest.
        rare: It is one of the rare phrases.
        words: What they say; empty for a cough.
        at: Seconds from the start of the conversation.
        lasts: Seconds.
        decides: Seconds from its start to the first word that is not a backchannel.
        story: Seconds that the agent's speech takes.
        sounds: What is heard, from `at` on.
        silence: Seconds of silence after which the VAD reports their end.
    """

    kind: str
    stays: bool
    rare: bool
    words: str
    at: float
    lasts: float
    decides: float
    story: float
    sounds: tuple[Utterance, ...]
    silence: float = SILERO_MIN_SILENCE


@attrs.frozen
class Seen:
    """The outcome of an overlap.

    Attributes:
        silent_after: Seconds from the start of the voice to the first silence; None: no silence.
        stopped_after: Seconds from the first word that is not a backchannel until the agent stopped
            for good; None: it was heard to its end.
        goes_on_after: Seconds from the end of the voice until the agent continued; None: it did
            not.
        answered: The caller's words are in the conversation as a turn.
    """

    drawn: Drawn
    silent_after: float | None
    stopped_after: float | None
    goes_on_after: float | None
    answered: bool

    @property
    def right(self) -> bool:
        """The agent continued, or yielded and got the transcript, as the caller wanted."""
        if self.drawn.stays:
            return self.stopped_after is None and not self.answered
        return self.stopped_after is not None and self.answered


def draw(seed: int, count: int, *, english: bool = False) -> list[Drawn]:
    """Draw so many overlaps. Half of the callers want to hear the rest.

    Args:
        english: They say something, and in English: no coughs.
    """
    phrases, dice = yaml.safe_load(PHRASES.read_text(encoding="utf-8")), random.Random(seed)
    for kinds in (phrases["stays"], phrases["leaves"]):
        for kind, said in tuple(kinds.items()):
            for name in ("usual", "rare"):
                said[name] += [] if english else said.get(f"{name}_elsewhere", [])
            if english and kind == "cough":
                del kinds[kind]
    return [_one(phrases, dice, stays=n % 2 == 0) for n in range(count)]


async def spoken(drawn: Sequence[Drawn], voice: UserVoice, heard: Heard) -> list[Drawn]:
    """The same overlaps in a synthetic voice, as a real VAD and STT hear it."""
    sounds: dict[str, tuple[Utterance, ...]] = {}
    made = []
    for one in drawn:
        pcm = voice.say(one.words)
        if one.words not in sounds:
            sounds[one.words] = tuple(await heard.sounds(pcm))
        lasts = len(pcm) / RATE
        decides = one.decides * lasts / one.lasts
        made.append(
            attrs.evolve(
                one,
                lasts=lasts,
                decides=decides,
                sounds=sounds[one.words],
                silence=MIN_SILENCE,
            )
        )
    return made


def _one(phrases: Mapping[str, Any], dice: random.Random, *, stays: bool) -> Drawn:
    kinds = phrases["stays" if stays else "leaves"]
    weights = [4 if kind == "backchannel" else 1 for kind in kinds]
    [kind] = dice.choices(list(kinds), weights)
    rare = dice.random() < 1 / phrases["rare_one_in"]
    said = dice.choice(kinds[kind]["rare" if rare else "usual"])
    at, story = 2.6 + dice.uniform(0.5, 4.0), dice.uniform(9.0, 12.0)
    delay = dice.uniform(0.2, 0.5)
    if isinstance(said, float):
        cough = Utterance(0.0, said, stt_delay=None)
        return Drawn(kind, stays, rare, "", at, said, 0.0, story, (cough,))
    before, bar, after = said.partition("|")
    first, words = len(before.split()) if bar else 0, (before + after).split()
    each = [dice.uniform(0.2, 0.35) + 0.12 * max(0, _letters(word) - 1) for word in words]
    lag = dice.uniform(0.1, 0.3)  # from the end of a word to its interim transcript
    text, lasts = " ".join(words), sum(each)
    voice = Utterance(0.0, lasts, text, delay, tuple(interims(words, each, lag)))
    return Drawn(kind, stays, rare, text, at, lasts, sum(each[:first]), story, (voice,))


def _letters(word: str) -> int:
    """The length of a word that is written without spaces, in longer sounds; 1 for others."""
    return len(word) // 2 if word > "\u3000" else 1


def play(
    drawn: Drawn, session: Callable[..., AgentSession[Any]], *, can_pause: bool = True
) -> Seen:
    """Play one overlap in virtual time."""
    tts = ScriptedTTS(durations=dict.fromkeys(_sentences(STORY), drawn.story / 4))
    vad = scripted_vad(drawn.silence)
    stage = telling(session, drawn.sounds, drawn.at, tts, vad, can_pause=can_pause)
    return _seen(drawn, stage.run(30.0))


def telling(
    session: Callable[..., AgentSession[Any]],
    sounds: Sequence[Utterance],
    at: float,
    tts: ScriptedTTS,
    vad: ScriptedVAD,
    *,
    can_pause: bool = True,
) -> Stage:
    """The agent is asked to tell the story, and the caller makes these sounds from `at` on."""
    user = ScriptedUser().says(ASKED, at=0.5, interims=((0.5, "tell"), (1.0, "tell me about")))
    return Stage(
        session,
        user=replay(sounds, user, at),
        llm=ScriptedLLM({ASKED: STORY}, otherwise=ANSWER),
        tts=tts,
        vad=vad,
        can_pause=can_pause,
    )


def _sentences(text: str) -> list[str]:
    return [f"{sentence}." for sentence in text.rstrip(".").split(". ")]


def _seen(drawn: Drawn, outcome: Outcome) -> Seen:
    begin, end = drawn.at, drawn.at + drawn.lasts
    story = [heard for heard in outcome.heard if heard.text != ANSWER]
    cut = next((one for one in story if one.end >= begin), story[-1])
    again = [one for one in story if one.start > cut.start]
    whole = sum(one.end - one.start for one in story) > drawn.story - 0.2
    said = [line for line in outcome.context if line.startswith("user: ")]
    return Seen(
        drawn,
        cut.end - begin if again or not whole else None,
        None if whole else max(0.0, story[-1].end - begin - drawn.decides),
        again[0].start - end if again else (0.0 if whole else None),
        len(said) > 1,
    )


def measure(drawn: Sequence[Drawn], *, can_pause: bool = True) -> dict[str, list[Seen]]:
    """Play the same overlaps on each session."""
    return {
        name: [play(one, session, can_pause=can_pause) for one in drawn]
        for name, session in SESSIONS.items()
    }
