"""A conversation before it is played: what the user says, what tools do, what fails, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from turnfsm.fsm.flow import Policy
from turnfsm.runtime.testing.livekit import ScriptedUser

from .keys import KEYS, Keys

__all__ = ["MODELS", "SWITCHES", "Job", "Model", "Move", "Obeys", "Script", "Sound", "simpler"]

SWITCHES = {
    "barge_in": "the user speaks at any moment, also while the agent speaks or a tool runs",
    "slow_words": "transcripts come up to 1.5 s after their sound",
    "noise": "sounds without words",
    "policies": "tools with another policy than `detach`",
    "speaking_tools": "tools that wait for playout, speak, interrupt or call `ctx.update()`",
    "handoff": "tools and the application hand over to another agent",
    "application": "the application interrupts, speaks and asks for replies",
    "manual": "the application commits the user's turns",
    "realtime": "realtime models",
    "failures": "the model and the TTS fail",
    "close": "the application or a tool closes the session in the middle of the conversation",
    **KEYS,
}
"""Where `TurnSession` differs from `AgentSession` on purpose. With all off, the two must agree."""

Model = Literal["pipeline", "realtime", "server"]
MODELS: tuple[Model, ...] = ("pipeline", "realtime", "server")
"""STT, LLM and TTS; a realtime model; a realtime model that detects turns."""

Obeys = Literal["always", "mostly", "never"]
"""How the model treats system messages that are not the script's: it follows them, four of five of
them, or reads none."""

TAIL = 22.0
"""Seconds at the end in which nothing happens; more if the agent still speaks then."""


@attrs.frozen
class Sound:
    """A sound of the user: a sentence, or noise if it has no words.

    Attributes:
        at, duration: Seconds.
        words: How many.
        phrase: What they are, if it is something that the flow knows, such as a yes.
        stt_delay: Seconds from its end to its final transcript.
        interims: Interim transcripts: "", "plain", or "revised" (each has a wrong last word).
        likely: A turn detector takes its end for the end of the turn.
        calls: The jobs that it asks for.
        answer: How many words the model says to it.
        ttft: Seconds until the model's answer begins.
    """

    at: float
    duration: float
    words: int = 0
    stt_delay: float = 0.3
    interims: str = ""
    likely: bool = True
    calls: tuple[int, ...] = ()
    answer: int = 4
    ttft: float = 0.2
    phrase: str = ""

    @property
    def over(self) -> float:
        """When it ends."""
        return round(self.at + self.duration, 3)

    @property
    def recognised(self) -> float:
        """When its final transcript comes."""
        return round(self.over + self.stt_delay, 3)


@attrs.frozen
class Job:
    """What a tool call does: it works, has its effect, and may then speak.

    Attributes:
        seconds: How long it works before its effect.
        after: Seconds until the second half of its effect, like a credit after a debit.
        does: What it waits for or says, if anything.
        ends: How it ends.
        policy: That of its tool, by `@on_interruption`; `Script.policy` is the one that holds.
    """

    seconds: float = 0.5
    after: float | None = None
    does: Literal["", "playout", "says", "replies", "updates", "filler", "interrupts"] = ""
    ends: Literal["returns", "nothing", "raises", "hands_off", "hangs_up"] = "returns"
    policy: Policy = "detach"


@attrs.frozen
class Move:
    """What the application does at a moment."""

    at: float
    what: str


@attrs.frozen
class Script:
    """One conversation. Numbers of sounds, jobs and moves count from 1."""

    name: str
    sounds: tuple[Sound, ...]
    jobs: Mapping[int, Job] = attrs.field(factory=dict)
    moves: tuple[Move, ...] = ()
    switches: frozenset[str] = frozenset()
    model: Model = "pipeline"
    keys: Keys = attrs.field(factory=Keys)
    obeys: Obeys = "always"
    detection: str = "vad"
    """As of LiveKit, or ``detector``: one that takes `detector_delay` seconds."""
    detector_delay: float = 0.0
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    min_words: int = 0
    greets: bool = False
    hook: float = 0.0
    """Seconds that `on_user_turn_completed` takes."""
    can_pause: bool = True
    llm_fails: frozenset[int] = frozenset()
    """Which requests fail, by their number."""
    tts_fails: frozenset[int] = frozenset()
    """To which requests the answer breaks off."""
    schedule: int = 0
    """The order in which the loop runs tasks; 0 is asyncio's."""
    tail: float = TAIL
    """Seconds that are played after the last sound or move."""
    hung_up: float | None = None
    """When the agent has hung up, once it was played."""

    @property
    def closes_at(self) -> float | None:
        """When the session closes, if it does before the end."""
        closes = [move.at for move in self.moves if move.what == "close"]
        return min(closes if self.hung_up is None else [*closes, self.hung_up], default=None)

    def pressed(self) -> Iterator[tuple[float, float]]:
        """From when to when the user holds the button."""
        since: float | None = None
        for move in self.moves:
            if move.what == "press":
                since = move.at
            elif move.what in ("release", "cancel") and since is not None:
                yield since, move.at
                since = None

    @property
    def seconds(self) -> float:
        """How long it is played."""
        if self.closes_at is not None:
            return self.closes_at + 8.0
        keys = self.keys
        asked = sum(len(keys.confirm.intersection(sound.calls)) for sound in self.sounds)
        waits = (1 + asked) * keys.confirm_wait * bool(keys.confirm) + (keys.hold or 0.0)
        return (
            max([0.0, *(s.over for s in self.sounds), *(m.at for m in self.moves)])
            + self.tail
            + waits
        )

    @property
    def end(self) -> float:
        """Until when something is expected of the session."""
        return self.seconds if self.closes_at is None else self.closes_at

    def policy(self, job: int) -> Policy:
        """What an interruption of its turn does to a job, on a `TurnSession`."""
        own = self.jobs[job].policy
        return self.keys.policies.get(own, own)

    def sentences(self) -> Iterator[tuple[int, Sound]]:
        """The sounds with words."""
        return ((n, sound) for n, sound in enumerate(self.sounds, 1) if sound.words)

    def words(self, number: int) -> list[str]:
        """Those of a sound: ``u2a u2b``."""
        sound = self.sounds[number - 1]
        return sound.phrase.split() or [f"u{number}{chr(97 + i)}" for i in range(sound.words)]

    def sentences_in(self, text: str) -> set[int]:
        """The sentences of which a word is in a text."""
        said = {*re.findall(r"\w+", text)}
        return {number for number, _ in self.sentences() if said & {*self.words(number)}}

    def user(self) -> ScriptedUser:
        """The user who says it."""
        user = ScriptedUser()
        for number, sound in enumerate(self.sounds, 1):
            if sound.words:
                user.says(
                    " ".join(self.words(number)),
                    at=sound.at,
                    duration=sound.duration,
                    stt_delay=sound.stt_delay,
                    interims=tuple(self._interims(number, sound)),
                )
            else:
                user.makes_noise(at=sound.at, duration=sound.duration)
        return user

    def _interims(self, number: int, sound: Sound) -> Iterator[tuple[float, str]]:
        """0.2 s after each word. All transcripts of an STT are in the order of the sounds."""
        words = self.words(number)
        before = max((s.recognised for s in self.sounds[: number - 1] if s.words), default=0.0)
        for count in range(1, len(words) + 1) if sound.interims else ():
            at = round(sound.duration * count / len(words) + 0.2, 3)
            last = f"x{number}{count}" if sound.interims == "revised" else words[count - 1]
            if at < sound.duration + sound.stt_delay and sound.at + at > before:
                yield at, " ".join([*words[: count - 1], last])

    def text(self) -> str:
        """The script, for a reader."""
        shown = attrs.asdict(self, filter=lambda a, _: a.name not in ("sounds", "jobs", "moves"))
        lines = [(s.at, f"{s.at:7.2f}  user {self.words(n) or '(noise)'} {s}")
                 for n, s in enumerate(self.sounds, 1)]  # fmt: skip
        lines += [(m.at, f"{m.at:7.2f}  {n}: {m.what}") for n, m in enumerate(self.moves, 1)]
        jobs = [f"         job {number}: {job}" for number, job in self.jobs.items()]
        return "\n".join([str(shown), *jobs, *(line for _, line in sorted(lines))])


def simpler(script: Script) -> Iterator[Script]:
    """Scripts that are simpler by one thing."""
    for i in range(len(script.moves)):
        yield attrs.evolve(script, moves=script.moves[:i] + script.moves[i + 1 :])
    if len(script.sounds) > 1:
        yield attrs.evolve(script, sounds=script.sounds[:-1])
    for i, sound in enumerate(script.sounds):
        for plain in (
            attrs.evolve(sound, calls=sound.calls[1:]),
            attrs.evolve(sound, interims=""),
            attrs.evolve(sound, stt_delay=0.3),
            attrs.evolve(sound, phrase=""),
        ):
            if plain != sound:
                sounds = (*script.sounds[:i], plain, *script.sounds[i + 1 :])
                yield attrs.evolve(script, sounds=sounds)
    for field in attrs.fields(Keys):
        keys = attrs.evolve(script.keys, **{field.name: getattr(Keys(), field.name)})
        if keys != script.keys and keys.button == script.keys.button:  # its moves need it
            yield attrs.evolve(script, keys=keys)
    for number, job in script.jobs.items():
        for field in attrs.fields(Job):
            plain_job = attrs.evolve(job, **{field.name: field.default})
            if plain_job != job:
                yield attrs.evolve(script, jobs={**script.jobs, number: plain_job})
    for name in (
        "hook", "greets", "obeys", "min_words", "detection", "settings", "llm_fails", "tts_fails",
        "can_pause",
    ):  # fmt: skip
        default = getattr(attrs.fields(Script), name).default
        default = {} if name == "settings" else default
        if getattr(script, name) != default and not (name == "detection" and script.keys.button):
            yield attrs.evolve(script, **{name: default})
