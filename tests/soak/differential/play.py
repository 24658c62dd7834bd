"""Plays a script on a session class, in virtual time."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import attrs
from livekit.agents import APIError, llm, tts

from turnfsm.fsm.pace import times
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.clock import VirtualLoop, VirtualTimeError
from turnfsm.runtime.testing.livekit import (
    Outcome,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedSTT,
    ScriptedTTS,
    Stage,
)
from turnfsm.runtime.testing.schedules import PermutedLoop

from .keys import REPROMPTS, Keys
from .model import Model, Said
from .script import Move, Script
from .tools import Clerk, Run, Tools

__all__ = ["APPLICATION_MOVE", "BUTTON", "Played", "hung_up", "play", "prolonged"]

APPLICATION_MOVE = 10
"""The instructions of a move have its number and this; those of a tool the number of its job."""

BUTTON = {"press": "button_pressed", "release": "button_released", "cancel": "button_cancelled"}
"""The events of the flow for the moves of the user's button."""


@attrs.frozen
class Played:
    """What came of a script on one session.

    Attributes:
        runs: Every execution of a tool.
        hooks: From when to when `on_user_turn_completed` ran.
        said: What the model said, request by request.
        meaning: What each of its words is about.
        outcome: What was heard, asked and kept.
        state: Of a `TurnSession` at the end: the state of its turn, and the facts that hold.
        failed: Why it could not be played to its end.
    """

    script: Script
    runs: tuple[Run, ...] = ()
    hooks: tuple[tuple[float, float], ...] = ()
    said: tuple[Said, ...] = ()
    meaning: dict[str, tuple[str, object]] = attrs.field(factory=dict)
    outcome: Outcome = attrs.field(factory=Outcome)
    state: tuple[str, ...] = ()
    failed: str = ""


class Detector:
    """A turn detector: it takes its time, and knows from the script where a turn goes on."""

    model, provider = "scripted", "turnfsm"

    def __init__(self, script: Script) -> None:
        self._script = script

    async def unlikely_threshold(self, language: Any) -> float:
        return 0.5

    async def supports_language(self, language: Any) -> bool:
        return True

    async def predict_end_of_turn(self, chat_ctx: llm.ChatContext, **_: Any) -> float:
        await asyncio.sleep(self._script.detector_delay)
        said = " ".join(item.text_content or "" for item in chat_ctx.messages())
        last = max(self._script.sentences_in(said), default=0)
        return 0.9 if last == 0 or self._script.sounds[last - 1].likely else 0.1


class _Voice(ScriptedTTS):
    """Breaks off where the script says so."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    def synthesize(self, text: str, **options: Any) -> tts.ChunkedStream:
        if self._model.breaks_off(text):
            self.failures[text.strip()] = 0.2
        return super().synthesize(text, **options)


LONGEST_TAIL = 90.0
"""Seconds after which an agent that still speaks is not waited for."""


def play(script: Script, session_class: Any) -> Played:
    """Play it, until the agent has said all that it has to say."""
    played = _play(script, session_class)
    return played if (longer := prolonged(played)) is None else play(longer, session_class)


def prolonged(played: Played) -> Script | None:
    """The script with a longer tail, if the agent still speaks at its end."""
    script = played.script
    speaks = any(heard.end > script.seconds - 0.5 for heard in played.outcome.heard)
    if not speaks or script.closes_at is not None or 2 * script.tail > LONGEST_TAIL:
        return None
    return attrs.evolve(script, tail=2 * script.tail)


def _play(script: Script, session_class: Any) -> Played:
    tools, model = Tools(script), Model(script)
    if script.keys != Keys() and issubclass(session_class, TurnSession):
        flow, timers = script.keys.flow(), script.keys.session_timers
        session_class = partial(session_class, flow=flow, proof="off", timers=timers)
    stage = _stage(script, tools, model, session_class)
    states: list[str] = []

    def look(stage: Stage) -> None:
        turn = getattr(stage.session, "turn", None)
        states.extend(() if turn is None else (turn.state, *sorted(turn.facts)))

    if script.keys.button:
        stage.at(0.0, lambda stage: stage.session.input.set_audio_enabled(False))
    for number, move in enumerate(script.moves, 1):
        stage.at(move.at, partial(_move, tools, number, move))
    if script.closes_at is None:
        stage.at(script.seconds - 0.1, look)
    loop = partial(PermutedLoop, seed=script.schedule) if script.schedule else VirtualLoop
    try:
        outcome = stage.run(script.seconds, make_loop=loop)
    except (VirtualTimeError, RuntimeError, AssertionError) as error:
        return Played(script, failed=f"{type(error).__name__}: {str(error)[:200]}")
    script = attrs.evolve(script, hung_up=hung_up(script, outcome))
    return Played(
        script,
        tuple(tools.runs),
        tuple(tools.hooks),
        tuple(model.said),
        model.meaning,
        outcome,
        tuple(states) if script.closes_at is None else (),
    )


def hung_up(script: Script, outcome: Outcome) -> float | None:
    """When a tool or the flow has hung up: the flow a while after the goodbye, or after what the
    application has said since."""
    by_tool = [at for at, note in outcome.notes if note == "hangs up"]
    closes = [e.at for e in outcome.events if e.what.startswith("close: ")]
    if script.keys.hang_up and closes and closes[0] < script.end - 0.01:
        last = REPROMPTS[len(script.keys.silence) - 1].split()[-1]
        said = [h for h in outcome.heard if h.end < closes[0]]
        if any(h.text.endswith(last) for h in said):
            by_tool.append(min(said[-1].end + times(script.keys.pace, 1.0), closes[0]))
    return min(by_tool, default=None)


def _stage(script: Script, tools: Tools, model: Model, session_class: Any) -> Stage:
    user, voice = script.user(), _Voice(model)
    scripted: Any = ScriptedLLM(otherwise=model.answer, believes=False)
    if script.model != "pipeline":
        server = script.model == "server"
        scripted = ScriptedRealtime(user, scripted, voice, turn_detection=server)
    detection: Any = Detector(script) if script.detection == "detector" else script.detection
    stage = Stage(
        session_class,
        user=user,
        llm=scripted,
        tts=voice,
        stt=ScriptedSTT(user, ends_turns=script.detection == "stt"),
        agent=lambda: Clerk(tools),
        can_pause=script.can_pause,
        turn_handling={
            "turn_detection": detection,
            "interruption": {"min_words": script.min_words},
            **script.settings,
        },
    )
    tools.clock, tools.note = lambda: stage.now, stage.note
    return stage


STOPS = ("interrupt", "force", "chat", "clear", "cancel", "hand_over")
"""Moves by which the application, or the user with the button, gives up what was to be said."""


async def _move(tools: Tools, number: int, move: Move, stage: Stage) -> None:
    if move.what in STOPS:
        stage.note("stop")
    try:
        await _moved(tools, number, move.what, stage.session)
    except (RuntimeError, TimeoutError, llm.RealtimeError, APIError) as error:
        stage.note(f"{move.what} is refused: {error}")


async def _moved(tools: Tools, number: int, what: str, session: Any) -> None:
    if what in ("interrupt", "force"):
        await session.interrupt(force=what == "force")
    elif what in ("say", "say_on"):
        session.say(f"y{number}a y{number}b y{number}c.", allow_interruptions=what == "say")
    elif what == "reply":
        session.generate_reply(instructions=f"app{APPLICATION_MOVE + number}")
    elif what == "ask":
        session.generate_reply(user_input=f"typed{number}")
    elif what == "chat":
        await session.interrupt()
        session.generate_reply(user_input=f"typed{number}")
    elif what == "run":
        await asyncio.wait_for(session.run(user_input=f"typed{number}"), 40.0)
    elif what == "commit":
        session.commit_user_turn(transcript_timeout=1.0, stt_flush_duration=0.5)
    elif what in ("press", "release", "cancel"):
        _press(session, what)
    elif what == "clear":
        session.clear_user_turn()
    elif what == "hand_over":
        session.update_agent(Clerk(tools, session.current_agent.chat_ctx))
    elif what == "close":
        await session.aclose()


def _press(session: Any, what: str) -> None:
    """The user's button. `AgentSession` has none, so the application does what LiveKit's example of
    push to talk does."""
    if isinstance(session, TurnSession):
        session.turn.post(BUTTON[what])
        return
    if what == "press":
        session.interrupt()
    session.input.set_audio_enabled(what == "press")
    if what == "release":
        session.commit_user_turn(transcript_timeout=2.0)
    else:
        session.clear_user_turn()
