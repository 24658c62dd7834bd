"""A random conversation: what the user says, what the application does, what fails, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import attrs
from cast import Caller, Cast, Odds
from livekit.agents import APIError, llm

from turnfsm.fsm import Flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.clock import VirtualLoop
from turnfsm.runtime.testing.livekit import (
    Outcome,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)
from turnfsm.runtime.testing.schedules import PermutedLoop

FAULTS = (
    "llm_fails", "llm_hangs", "tts_fails", "stt_fails", "vad_fails", "tool_hangs", "hooks",
    "no_start",
)  # fmt: skip
MODELS = ("pipeline", "pipeline", "pipeline", "realtime", "server")
"""Speech through STT, LLM and TTS; a realtime model; one that decides on turns by itself."""

GRID = 0.05
"""Times lie on the grid of the microphone's frames, so that things happen at the same moment."""

MOVES = (
    "interrupt", "force", "say", "say_on", "reply", "ask", "commit", "clear", "hand_over", "run",
    "wait", "cut_wait", "disallow",
)  # fmt: skip
TIMERS = {
    "false_interruption": (0.3, 1.0, 2.0),
    "pause_limit": (3.0, 6.0),
    "settle": (0.05, 0.5),
    "thinking_limit": (1.5, 8.0),
    "speaking_limit": (2.0, 10.0),
    "tool_limit": (2.0, 8.0),
    "finish_limit": (0.5, 2.0),
    "turn_overdue": (3.0, 8.0),
}
NEEDED = ("thinking_limit", "tool_limit", "turn_overdue")
"""Timers that are long in the flow, and must have fired by the end of a conversation."""

DRAIN_LIMIT = 5.0
"""Seconds that a close or a handoff waits for a tool that hangs; by default it waits on."""

QUIET = 25.0
"""Seconds at the end in which nothing is said: every timer has fired by then."""


@attrs.frozen
class Move:
    """Something that the application does at a moment."""

    at: float
    what: str

    def __str__(self) -> str:
        return f"{self.at:7.2f}  {self.what}"


@attrs.frozen
class Shape:
    """How long and how wild a conversation is drawn."""

    turns: int = 6
    clear: bool = False  # every sound is a turn with words
    moves: int = 4
    faults: bool = True
    closes: bool = True
    models: tuple[str, ...] = MODELS
    odds: Odds = attrs.field(factory=Odds)


class Sink:
    """Keeps every record of a journal."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []

    def write(self, record: Mapping[str, Any]) -> None:
        self.records.append(record)

    def close(self) -> None:
        pass


@attrs.frozen
class Talk:
    """One conversation, drawn whole from its seed before it begins."""

    seed: int
    user: ScriptedUser
    moves: tuple[Move, ...]
    seconds: float
    closes_at: float | None
    faults: frozenset[str]
    settings: Mapping[str, Any]
    timers: Mapping[str, float]

    def finished(self, moves: tuple[Move, ...], seconds: float, faults: frozenset[str]) -> Talk:
        """The same with what has come of it, where that was not known beforehand."""
        return attrs.evolve(self, moves=moves, seconds=seconds, faults=faults)

    def text(self) -> str:
        """The conversation's script."""
        said = [
            f"{u.at:7.2f}  user {u.text or '(noise)'!r} until {u.end:.2f}, heard +{u.stt_delay}"
            for u in self.user.utterances
        ]
        head = f"seed {self.seed}: {dict(self.settings)}, faults {sorted(self.faults)}"
        return "\n".join(
            [head, f"timers {dict(self.timers)}", *sorted([*said, *map(str, self.moves)])]
        )


@attrs.frozen
class Played:
    """A conversation and what came of it."""

    talk: Talk
    cast: Cast
    outcome: Outcome
    records: list[Mapping[str, Any]]
    session: TurnSession[Any]
    conversations: list[llm.ChatContext]
    """As a realtime model has them, one for each of its sessions."""

    @property
    def flow(self) -> Flow:
        return self.session.turn.flow


def draw_talk(seed: int, shape: Shape = Shape()) -> Talk:
    """The conversation of a seed."""
    draws = Random(seed)
    faults = _some(draws, FAULTS) if shape.faults and draws.random() < 0.5 else frozenset()
    settings = {
        "turn_detection": draws.choice(("vad", "vad", "stt", "manual")),
        "can_pause": draws.random() < 0.7,
        "preemptive": draws.random() < 0.7,
        "min_words": draws.choice((0, 0, 0, 2)),
    }
    later = Random(seed + 4)  # what was added since: an old seed is still the same conversation
    settings["model"] = later.choice(shape.models)
    if settings["model"] == "server":
        settings["turn_detection"] = "realtime_llm"
    elif settings["model"] == "realtime" and settings["turn_detection"] == "stt":
        settings["turn_detection"] = "vad"
    if shape.faults and later.random() < 0.1:
        faults |= {"no_end"}
    user, spoken = _user(draws, shape)
    moves = [Move(_grid(draws, 0.0, spoken), draws.choice(MOVES)) for _ in range(shape.moves)]
    if settings["turn_detection"] == "manual":
        moves += [Move(_near(u.end, draws), "commit") for u in user.utterances]
    closes = shape.closes and draws.random() < 0.4
    closes_at = _grid(draws, 0.0, spoken + 5.0) if closes else None
    if closes_at is not None:
        moves.append(Move(closes_at, draws.choice(("close", "shutdown", "shutdown_now"))))
    seconds = (spoken if closes_at is None else closes_at) + QUIET
    timers = {name: draws.choice(choice) for name, choice in TIMERS.items() if draws.random() < 0.4}
    needed = (*NEEDED, "speaking_limit") if "no_end" in faults else NEEDED
    timers |= {name: TIMERS[name][-1] for name in needed if name not in timers}
    if "tool_hangs" in faults:
        timers["drain_limit"] = DRAIN_LIMIT
    ordered = tuple(sorted(moves, key=lambda move: move.at))
    return Talk(seed, user, ordered, seconds, closes_at, faults, settings, timers)


def play(talk: Talk, schedule: int = 0, shape: Shape = Shape(), flow: Any = "turn") -> Played:
    """Play it in virtual time; schedule 0 is asyncio's own."""
    cast = Cast(Random(talk.seed + 1), attrs.evolve(shape.odds, faults=talk.faults))
    sink = Sink()
    stage = stage_of(talk, cast, partial(TurnSession, flow=flow, proof="off", sinks=[sink]))
    for move in talk.moves:
        stage.at(move.at, partial(make, move.what, cast))
    loop = partial(PermutedLoop, seed=schedule) if schedule else VirtualLoop
    outcome = stage.run(talk.seconds, make_loop=loop)
    known = [model.chat_ctx for model in getattr(stage.llm, "sessions", ())]
    return Played(talk, cast, outcome, sink.records, stage.session, known)


def stage_of(talk: Talk, cast: Cast, session: Any) -> Stage:
    """The talk's parts around a session."""
    draws, settings = Random(talk.seed + 2), talk.settings
    texts = [u.text for u in talk.user.utterances if u.text]
    breaks = draws.sample(texts, min(2, len(texts))) if "stt_fails" in talk.faults else []
    vad_fails = draws.uniform(1.0, talk.seconds) if "vad_fails" in talk.faults else None
    voice = _Voice(Random(talk.seed + 3), "tts_fails" in talk.faults)
    model: Any = ScriptedLLM(otherwise=lambda request: cast.answers(request))
    if settings["model"] != "pipeline":
        by_itself = settings["model"] == "server"
        model = ScriptedRealtime(talk.user, model, voice, turn_detection=by_itself)
    return Stage(
        session,
        user=talk.user,
        llm=model,
        tts=voice,
        stt=ScriptedSTT(
            talk.user,
            failures=dict.fromkeys(breaks, 0.1),
            ends_turns=settings["turn_detection"] == "stt",
        ),
        vad=ScriptedVAD(fails_at=vad_fails),
        agent=lambda: Caller(cast),
        can_pause=settings["can_pause"],
        faults=[fault for fault in ("no_start", "no_end") if fault in talk.faults],
        turn_handling={
            "turn_detection": settings["turn_detection"],
            "preemptive_generation": {"enabled": settings["preemptive"]},
            "interruption": {"min_words": settings["min_words"]},
        },
        timers=dict(talk.timers),
    )


class _Voice(ScriptedTTS):
    """Fails before its first sound or breaks off, if it is to fail."""

    def __init__(self, draws: Random, fails: bool) -> None:
        super().__init__()
        self._draws, self._fails = draws, fails
        self.breaks: float | None = None
        """Seconds after which the next sentence breaks off."""

    def synthesize(self, text: str, **options: Any) -> Any:
        if self._fails and self._draws.random() < 0.15:
            self.failures[text.strip()] = self._draws.choice((0.0, 0.0, 0.2, 1.0))
        if self.breaks is not None:
            self.failures[text.strip()], self.breaks = self.breaks, None
        return super().synthesize(text, **options)


async def make(what: str, cast: Cast, stage: Stage) -> None:
    """Carry a move out. What LiveKit refuses is no fault of the conversation."""
    session: Any = stage.session
    stage.note(f"move: {what}")
    try:
        await _moved(what, cast, session)
    except (RuntimeError, TimeoutError, llm.RealtimeError, llm.ToolError, APIError) as error:
        stage.note(f"move: {what} is refused: {error}")


async def _moved(what: str, cast: Cast, session: Any) -> None:
    if what in ("interrupt", "force"):
        await session.interrupt(force=what == "force")
    elif what in ("say", "say_on"):
        session.say(cast.words(), allow_interruptions=what == "say")
    elif what == "reply":
        session.generate_reply(instructions="go on")
    elif what == "ask":
        session.generate_reply(user_input=f"typed {cast.words(3)}")
    elif what == "commit":
        session.commit_user_turn(transcript_timeout=1.0, stt_flush_duration=0.5)
    elif what == "clear":
        session.clear_user_turn()
    elif what == "hand_over":
        session.update_agent(Caller(cast))
    elif what == "run":
        await asyncio.wait_for(session.run(user_input=f"run {cast.words(3)}"), 20.0)
    elif what == "wait":
        await session.say(cast.words())
    elif what == "cut_wait":
        await asyncio.wait_for(session.generate_reply(instructions="go on"), 0.5)
    elif what == "disallow" and session.current_speech is not None:
        session.current_speech.allow_interruptions = False
    elif what == "close":
        await session.aclose()
    elif what.startswith("shutdown"):
        session.shutdown(drain=what == "shutdown")


def _user(draws: Random, shape: Shape) -> tuple[ScriptedUser, float]:
    """What the user says, and when the last of it has ended."""
    user, at = ScriptedUser(), 0.0
    gaps = (0.1, 0.4, 0.9, 1.5, 3.0, 5.0, 8.0)
    delays = (0.05, 0.3, 0.3, 0.3, 1.0, 2.5, None)
    for number in range(1, shape.turns + 1):
        at += draws.choice(gaps[3:5] if shape.clear else gaps)
        words = " ".join(f"u{number}{chr(97 + i)}" for i in range(draws.randint(1, 6)))
        seconds = round(0.3 * len(words.split()), 2)
        if draws.random() < 0.2 and not shape.clear:
            seconds = draws.choice((0.1, 0.3, 1.0))
            user.makes_noise(at=round(at, 2), duration=seconds)
        else:
            delay = draws.choice(delays[:4] if shape.clear else delays)
            interims = ((GRID * 3, words.split()[0]),) if draws.random() < 0.3 else ()
            if any(u.end + (u.stt_delay or 0.0) >= at + GRID * 3 for u in user.utterances):
                interims = ()  # an STT ends the transcript of one sound before that of the next
            user.says(words, at=round(at, 2), duration=seconds, stt_delay=delay, interims=interims)
        at += seconds
    return user, at


def _some(draws: Random, of: tuple[str, ...]) -> frozenset[str]:
    return frozenset(draws.sample(of, draws.randint(1, 3)))


def _grid(draws: Random, start: float, end: float) -> float:
    return round(draws.randint(int(start / GRID), int(end / GRID)) * GRID, 2)


def _near(at: float, draws: Random) -> float:
    return round(at + draws.choice((-0.3, 0.0, 0.1, 0.5, 1.0)), 2)
