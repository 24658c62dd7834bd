"""A conversation that is played twice; nothing in it depends on the order of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from random import Random
from typing import Any, Literal

import attrs

from turnfsm.runtime.testing.livekit.user import ScriptedUser

from .jobs import POLICIES, Job

__all__ = [
    "ASKED",
    "GRID",
    "MOVES",
    "TYPED",
    "Answer",
    "Move",
    "Plan",
    "Sound",
    "draw_plan",
    "shrunk",
]

GRID = 0.05
"""Times lie on the grid of the microphone's frames, so that things happen at the same moment."""

INTERIM = 0.2
"""Seconds from a word to an interim transcript that has it."""

TAIL = 24.0
"""Seconds at the end in which nothing happens."""

MOVES = (
    "interrupt", "force", "say", "say_on", "reply", "ask", "chat", "commit", "clear",
    "update_agent", "run", "wait",
)  # fmt: skip
"""What an application does; `chat` is how RoomIO takes typed text: interrupt, then reply."""

ASKED = 70
"""What the application asks for has this number and that of its move, and so has the answer."""

TYPED = 80
"""The same of a line that is typed."""

Model = Literal["pipeline", "realtime", "server"]


@attrs.frozen
class Sound:
    """What the user does: words, or noise if there are none."""

    at: float
    words: int
    duration: float
    stt_delay: float | None = 0.3

    @property
    def over(self) -> float:
        """When it ends."""
        return self.at + self.duration


@attrs.frozen
class Move:
    """What the application does at a moment."""

    at: float
    what: str


@attrs.frozen
class Answer:
    """What the model says to one sentence of the user."""

    words: int = 6
    jobs: tuple[int, ...] = ()
    ttft: float = 0.2


@attrs.frozen
class Plan:
    """One conversation."""

    name: str
    sounds: tuple[Sound, ...]
    answers: Mapping[int, Answer]
    jobs: Mapping[int, Job]
    moves: tuple[Move, ...] = ()
    model: Model = "pipeline"
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    greets: str = ""
    hook: float = 0.0
    """Seconds that `on_user_turn_completed` takes."""
    can_pause: bool = True
    interims: bool = False
    """The STT gives interim transcripts, one for each word."""
    tail: float = TAIL
    schedule: int = 0
    """The order in which the loop wakes tasks; 0 is asyncio's."""

    @property
    def ends_at(self) -> float | None:
        """When the application closes the session, if it does."""
        return min((move.at for move in self.moves if move.what == "aclose"), default=None)

    @property
    def seconds(self) -> float:
        """How long it is played."""
        if self.ends_at is not None:
            return self.ends_at + 8.0
        ends = [s.at + s.duration for s in self.sounds] + [move.at for move in self.moves]
        return max([0.0, *ends]) + self.tail

    def words(self, number: int) -> str:
        """The sentence of the user with this number, from 1."""
        return " ".join(f"u{number}{chr(97 + i)}" for i in range(self.sounds[number - 1].words))

    def user(self) -> ScriptedUser:
        """The user who says it."""
        user = ScriptedUser()
        for number, sound in enumerate(self.sounds, 1):
            if not sound.words:
                user.makes_noise(at=sound.at, duration=sound.duration)
                continue
            text = self.words(number)
            user.says(
                text,
                at=sound.at,
                duration=sound.duration,
                stt_delay=sound.stt_delay,
                interims=tuple(self._interims(number)) if self.interims else (),
            )
        return user

    def _interims(self, number: int) -> Iterator[tuple[float, str]]:
        """Each comes a moment after its last word, before the final transcript. An STT gives the
        final transcript of one sound before it gives any of the next."""
        sound, words = self.sounds[number - 1], self.words(number).split()
        before = [
            s.over + s.stt_delay for s in self.sounds[: number - 1] if s.stt_delay is not None
        ]
        for count in range(1, len(words) + 1):
            at = round(sound.duration * count / len(words) + INTERIM, 3)
            final = sound.duration + (inf if sound.stt_delay is None else sound.stt_delay)
            if at < final and sound.at + at > max(before, default=0.0):
                yield at, " ".join(words[:count])

    def text(self) -> str:
        """Its script."""
        lines = [
            (s.at, f"{s.at:7.2f}  user {self.words(n) or '(noise)'} until {s.at + s.duration:.2f}, "
                   f"heard +{s.stt_delay}; {self.answers.get(n, '')}")
            for n, s in enumerate(self.sounds, 1)
        ]  # fmt: skip
        lines += [(move.at, f"{move.at:7.2f}  {move.what}") for move in self.moves]
        head = f"{self.name}: {self.model} {dict(self.settings)} pause={self.can_pause} "
        head += f"greets={self.greets!r} hook={self.hook} interims={self.interims}"
        jobs = [f"         {job}" for job in self.jobs.values()]
        return "\n".join([head, *jobs, *(line for _, line in sorted(lines))])


def draw_plan(seed: int, schedule: int = 0) -> Plan:
    """The conversation of a seed. It is short, so that many can be played.

    Args:
        schedule: The order in which the loop wakes tasks; 0 is asyncio's.
    """
    draws = Random(seed)
    sounds = _sounds(draws)
    jobs = {n: _job(n, draws) for n in range(1, 5)}
    answers = {n: _answer(draws, jobs) for n in range(1, len(sounds) + 1)}
    model: Model = draws.choice(("pipeline",) * 6 + ("realtime", "server"))
    detection = "realtime_llm" if model == "server" else draws.choice(("vad",) * 5 + ("manual",))
    end = sounds[-1].at + sounds[-1].duration
    kinds = draws.choices(MOVES, k=draws.choice((0, 0, 1, 1, 2)))
    moves = [Move(_grid(draws, 0.5, end + 4.0), what) for what in kinds]
    if detection == "manual":
        moves += [Move(round(s.at + s.duration + 0.4, 2), "commit") for s in sounds if s.words]
    if draws.random() < 0.1:
        moves.append(Move(_grid(draws, 2.0, end + 4.0), "aclose"))
    return Plan(
        name=f"seed {seed}" + f" --schedule {schedule}" * bool(schedule),
        schedule=schedule,
        sounds=sounds,
        answers=answers,
        jobs=jobs,
        moves=tuple(sorted(moves, key=lambda move: move.at)),
        model=model,
        settings={
            "turn_detection": detection,
            "preemptive_generation": {"enabled": draws.random() < 0.6},
        },
        greets=draws.choice(("", "", "", "say", "reply")),
        hook=draws.choice((0.0, 0.0, 0.0, 0.0, 0.05, 1.0)),
        can_pause=draws.random() < 0.7,
        interims=draws.random() < 0.5,
    )


def _sounds(draws: Random) -> tuple[Sound, ...]:
    sounds: list[Sound] = []
    at = 0.0
    for _ in range(draws.randint(1, 4)):
        at = round(at + draws.choice((0.4, 0.9, 1.5, 3.0, 5.0)), 2)
        if draws.random() < 0.2 and sounds:
            sound = Sound(at, 0, draws.choice((0.15, 0.3, 1.0)), None)
        else:
            words = draws.randint(1, 4)
            delay = draws.choice((0.05, 0.3, 0.3, 0.3, 0.6, 1.5))
            sound = Sound(at, words, round(0.3 * words, 2), delay)
        sounds.append(sound)
        at = sound.at + sound.duration
    return tuple(sounds)


def _answer(draws: Random, jobs: Mapping[int, Job]) -> Answer:
    many = draws.choice((0, 1, 1, 1, 2))
    called = tuple(draws.sample(sorted(jobs), many))
    words = draws.choice((0, 3, 8)) if called else draws.choice((2, 6, 12))
    return Answer(words, called, draws.choice((0.05, 0.2, 0.2, 0.6, 1.5)))


def _job(number: int, draws: Random) -> Job:
    return Job(
        number,
        draws.choice((0.0, 0.05, 0.5, 1.5, 3.0, 6.0)),
        draws.choice(("", "", "", "playout", "says", "replies", "updates", "filler", "interrupts")),
        draws.choice((None, None, 0.5, 2.0)),
        draws.choice(("returns",) * 6 + ("nothing", "raises", "hands_off", "invalid")),
        draws.choice(POLICIES),
    )


def _grid(draws: Random, start: float, end: float) -> float:
    return round(draws.randint(int(start / GRID), int(end / GRID)) * GRID, 2)


def shrunk(plan: Plan) -> Iterator[Plan]:
    """Plans that are simpler by one thing, the simplest first."""
    for i in range(len(plan.moves)):
        yield attrs.evolve(plan, moves=plan.moves[:i] + plan.moves[i + 1 :])
    if len(plan.sounds) > 1:
        fewer = plan.sounds[:-1]
        left = {n: answer for n, answer in plan.answers.items() if n <= len(fewer)}
        yield attrs.evolve(plan, sounds=fewer, answers=left)
    for number, answer in plan.answers.items():
        if answer.jobs:
            shorter = attrs.evolve(answer, jobs=answer.jobs[1:])
            yield attrs.evolve(plan, answers={**plan.answers, number: shorter})
    for number, job in plan.jobs.items():
        for plain in (
            attrs.evolve(job, waits=""),
            attrs.evolve(job, ends="returns"),
            attrs.evolve(job, after=None),
            attrs.evolve(job, policy="detach"),
        ):
            if plain != job:
                yield attrs.evolve(plan, jobs={**plan.jobs, number: plain})
    if plan.hook:
        yield attrs.evolve(plan, hook=0.0)
    if plan.greets:
        yield attrs.evolve(plan, greets="")
    if plan.interims:
        yield attrs.evolve(plan, interims=False)
    if plan.model == "realtime":
        yield attrs.evolve(plan, model="pipeline")
