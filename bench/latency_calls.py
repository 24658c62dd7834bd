"""Draws natural conversations, and plays each on a session."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from livekit.agents import AgentSession, function_tool, llm

from turnfsm.testing import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

from .heard import SILERO_MIN_SILENCE, scripted_vad

__all__ = ["PROFILES", "TURNS", "Sound", "draw", "names_of", "play"]

TURNS = 8
"""How many turns a conversation has."""

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "quiet": {},
    "noisy": {},
    "tools": {},
    "EOU model": {},  # the detector is made for each conversation
    "STT endpointing": {"turn_detection": "stt"},
    "no VAD": {"turn_detection": "stt"},
    "uninterruptible": {"interruption": {"enabled": False}},
    "adds a sentence": {},
}
"""The profiles, with LiveKit's `turn_handling` in each."""


@attrs.frozen
class Sound:
    """A sound of the caller: a sentence, a part of one, or a noise.

    Attributes:
        at: Seconds from the start of the conversation.
        lasts: Seconds.
        words: How many; 0: a noise.
        interims: Seconds from its start to each interim transcript, one for each word.
        stt_delay: Seconds from its end to the final transcript.
        goes_on: The sentence continues after it, and the EOU model knows that.
        ttft: Seconds until the model's answer to it begins.
        answer: The number of words of this answer.
        tool: Seconds that a tool works for the answer; None: without a tool.
        filler: The model says something before the call.
    """

    at: float
    lasts: float
    words: int = 0
    interims: tuple[float, ...] = ()
    stt_delay: float = 0.3
    goes_on: bool = False
    ttft: float = 0.4
    answer: int = 8
    tool: float | None = None
    filler: bool = False

    @property
    def end(self) -> float:
        """When it ends."""
        return self.at + self.lasts

    def text(self, number: int) -> str:
        """The transcript of the sound with this number."""
        return " ".join(f"u{number}w{place}" for place in range(self.words))


def draw(profile: str, seed: int, count: int) -> list[tuple[Sound, ...]]:
    """Draw conversations with so many sentences in all, or a few more."""
    dice = random.Random(f"{profile} {seed}")
    drawn: list[tuple[Sound, ...]] = []
    while sum(sound.words > 0 for sounds in drawn for sound in sounds) < count:
        drawn.append(tuple(_conversation(profile, dice)))
    return drawn


def names_of(sounds: Sequence[Sound]) -> list[str]:
    """The answers that a conversation has: those to sentences (``u3``), and results (``r3``)."""
    said = [f"u{number}" for number, sound in enumerate(sounds) if sound.words]
    return said + [f"r{number}" for number, sound in enumerate(sounds) if sound.tool is not None]


def _conversation(profile: str, dice: random.Random) -> Iterator[Sound]:
    at = 1.0
    for _ in range(TURNS):
        if dice.random() < 0.15:
            part = _sentence(profile, dice, at, goes_on=True)
            yield part
            at = part.end + dice.uniform(0.3, 1.0)
        last = _sentence(profile, dice, at)
        yield last
        if dice.random() < (0.5 if profile == "adds a sentence" else 0.05):
            last = _sentence(profile, dice, last.end + dice.uniform(0.4, 2.5))
            yield last
        works = 0.0 if last.tool is None else last.tool + 0.7
        heard = last.end + 0.8 + last.ttft + works
        over = heard + 0.3 * last.answer
        barges_in = dice.random() < 0.12
        at = dice.uniform(heard, over) if barges_in else over + dice.uniform(0.4, 2.5)
        if profile == "noisy":
            yield from _noises(dice, last.end, at)


def _sentence(profile: str, dice: random.Random, at: float, *, goes_on: bool = False) -> Sound:
    each = [dice.uniform(0.25, 0.4) for _ in range(dice.choice((1, 2, 3, 4, 5, 6, 8, 12)))]
    lag = dice.uniform(0.1, 0.3)  # from the end of a word to its interim transcript
    calls = not goes_on and profile == "tools" and dice.random() < 0.5
    return Sound(
        at,
        sum(each),
        len(each),
        tuple(sum(each[: n + 1]) + lag for n in range(len(each))),
        dice.uniform(0.2, 0.5),
        goes_on,
        dice.uniform(0.2, 0.8),
        dice.randint(3, 20),
        dice.uniform(0.2, 5.0) if calls else None,
        calls and dice.random() < 0.5,
    )


def _noises(dice: random.Random, start: float, end: float) -> Iterator[Sound]:
    at = start
    while (at := at + dice.uniform(0.1, 4.0)) < end - 1.3:
        noise = Sound(at, dice.uniform(0.1, 1.2))
        yield noise
        at = noise.end + 0.1


_KINDS = (("user", "result"), ("assistant",), ("call",))


class _Model:
    """Answers what no reply has answered before, of which a part was heard."""

    def __init__(self, sounds: Sequence[Sound]) -> None:
        self._sounds = sounds
        self.answers: list[frozenset[str]] = []
        """What each reply answers: sentences (``u3``), and results (``r3``)."""

    def __call__(self, request: Request) -> Reply:
        shown = {kind: " ".join(e.text for e in request.shown if e.kind in kind) for kind in _KINDS}
        said, spoken, calls = (shown[kind] for kind in _KINDS)
        found = {u or r for u, r in re.findall(r"\b(u\d+)w|\b(r\d+)\b", said)}
        earlier = (self.answers[int(reply)] for reply in re.findall(r"\bq(\d+)w", spoken))
        answers = frozenset(found.difference(*earlier))
        self.answers.append(answers)
        numbers = sorted(int(name[1:]) for name in answers)
        last = self._sounds[numbers[-1]] if numbers else Sound(0.0, 0.1, answer=2)
        made = {int(number) for number in re.findall(r'"number": (\d+)', calls)}
        asked = (n for n in numbers if self._sounds[n].tool is not None and n not in made)
        calls_now = [Call("look_up", {"number": n}) for n in asked]
        length = last.answer if not calls_now else 3 if last.filler else 0
        text = " ".join(f"q{len(self.answers) - 1}w{place}" for place in range(length))
        return Reply(text + "." * bool(text), calls=calls_now, ttft=last.ttft)


class _Detector:
    """An EOU model that takes 0.1 s, and knows where a sentence goes on."""

    model, provider = "scripted", "turnfsm"

    def __init__(self, sounds: Sequence[Sound]) -> None:
        self._sounds = sounds

    async def unlikely_threshold(self, language: Any) -> float:
        return 0.5

    async def supports_language(self, language: Any) -> bool:
        return True

    async def predict_end_of_turn(self, chat_ctx: llm.ChatContext, **_: Any) -> float:
        await asyncio.sleep(0.1)
        said = " ".join(item.text_content or "" for item in chat_ctx.messages())
        numbers = [int(n) for n in re.findall(r"\bu(\d+)w", said)]
        return 0.1 if numbers and self._sounds[numbers[-1]].goes_on else 0.9


def play(
    profile: str, sounds: Sequence[Sound], session: Callable[..., AgentSession[Any]]
) -> dict[str, float]:
    """Play a conversation in virtual time.

    Returns:
        Seconds from the end of a sentence (``u3``) until the agent is heard with a reply that
        answers it, or mentions the result that it has asked for (``r3``).
    """
    model, user = _Model(sounds), ScriptedUser()
    for number, sound in enumerate(sounds):
        words, when = sound.text(number).split(), {"at": sound.at, "duration": sound.lasts}
        if words:
            so_far = (" ".join(words[: n + 1]) for n in range(len(words)))
            interims = tuple(zip(sound.interims, so_far, strict=True))
            user.says(" ".join(words), **when, stt_delay=sound.stt_delay, interims=interims)
        else:
            user.makes_noise(**when)

    @function_tool
    async def look_up(number: int) -> str:
        """Look something up."""
        await asyncio.sleep(sounds[number].tool or 0.0)
        return f"r{number}"

    handling = dict(PROFILES[profile])
    if profile == "EOU model":
        handling["turn_detection"] = _Detector(sounds)
    stt = ScriptedSTT(user, ends_turns=handling.get("turn_detection") == "stt")
    options: dict[str, Any] = {"vad": scripted_vad(SILERO_MIN_SILENCE), "stt": stt}
    stage = Stage(
        session,
        user=user,
        llm=ScriptedLLM(otherwise=model, believes=False),
        tts=ScriptedTTS(),
        tools=[look_up],
        turn_handling=handling,
        **options,
    )
    if profile == "no VAD":
        stage.vad = None
    return _latencies(sounds, model.answers, stage.run(sounds[-1].end + 20.0))


def _latencies(
    sounds: Sequence[Sound], answers: Sequence[frozenset[str]], outcome: Outcome
) -> dict[str, float]:
    found: dict[str, float] = {}
    for heard in outcome.heard:
        for reply in {int(n) for n in re.findall(r"\bq(\d+)w", heard.text)}:
            for name in answers[reply]:
                found.setdefault(name, heard.start - sounds[int(name[1:])].end)
    return found
