"""The cost of observing a session, as a share of its own work: `python -m bench.observe`.

A conversation is played in virtual time, so that only the session takes CPU time: LiveKit, turnfsm,
and the scripted models, which take nearly none. A session also runs a VAD, so LiveKit's own
(Silero) is run on the same amount of audio. Models that run elsewhere are not included.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import attrs
from livekit import rtc
from livekit.agents import inference
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from turnfsm.livekit import Telemetry, TurnSession
from turnfsm.runtime.journal import LiveJournal
from turnfsm.runtime.observe import Watch
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

from .minute import ShortFrames

__all__ = ["Cost", "cost", "vad"]

SECONDS = 125.0

RATE = 16_000
FRAME = 0.05
SAMPLES = round(RATE * FRAME)

STORY = "Once upon a time there was a king who had three daughters and a horse."


def _conversation(**setting: Any) -> Stage:
    from livekit.agents import function_tool

    @function_tool
    async def look_up() -> str:
        """Look it up."""
        return "rain"

    class Session(TurnSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(**setting, **options)

    user = ScriptedUser()
    for n in range(6):
        user.says("tell me a story", at=1.0 + 20 * n).makes_noise(at=6.0 + 20 * n, duration=0.8)
        user.says("what is the weather", at=11.0 + 20 * n)
    answers: dict[str, Any] = {"story": STORY, "weather": Reply(calls=Call("look_up"))}
    model = ScriptedLLM(answers, {"look_up": "It rains."})
    tts = ScriptedTTS(durations={STORY: 9.0})
    return ShortFrames(Session, user=user, llm=model, tts=tts, tools=[look_up])


@attrs.frozen
class Cost:
    """Seconds of CPU time.

    Attributes:
        observing: The part of it for observing.
        records: How many records the journal has.
    """

    session: float
    observing: float
    records: int


def cost(**setting: Any) -> Cost:
    """The CPU time of a conversation, and the part of it for observing.

    Args:
        setting: Arguments of the session, such as ``telemetry``.
    """
    spent = 0.0

    def timed(method: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            nonlocal spent
            begun = time.process_time()  # the time of day is virtual here
            method(*args)
            spent += time.process_time() - begun

        return run

    # the one is done at every record, the other once a second
    with (
        patch.object(LiveJournal, "_pass_on", timed(LiveJournal._pass_on)),
        patch.object(Watch, "_catch_up", timed(Watch._catch_up)),
    ):
        stage = _conversation(**setting)
        begun = time.process_time()
        stage.run(SECONDS)
        took = time.process_time() - begun
    session: Any = stage.session
    return Cost(took, spent, len(session.turn.journal.read().records))


async def vad() -> float:
    """Seconds of CPU time of LiveKit's own VAD for the audio of a conversation."""
    noise = random.Random(1).randbytes(2 * SAMPLES)
    stream = inference.VAD(model="silero").stream()
    heard = asyncio.create_task(_all(stream))
    begun = time.process_time()
    for _ in range(round(SECONDS / FRAME)):
        stream.push_frame(rtc.AudioFrame(noise, RATE, 1, SAMPLES))
        await asyncio.sleep(0)
    stream.end_input()
    await heard
    return time.process_time() - begun


async def _all(stream: Any) -> None:
    async for _ in stream:
        pass


def _telemetry(**options: Any) -> dict[str, Any]:
    return {"telemetry": Telemetry(MeterProvider([InMemoryMetricReader()]), **options)}


def _audit() -> dict[str, Any]:
    return {"audit": True}


def _log() -> dict[str, Any]:
    turn_log = logging.getLogger("turnfsm.turn")
    turn_log.setLevel(logging.INFO)
    turn_log.propagate = False
    turn_log.addHandler(logging.NullHandler())
    return {}


def main() -> None:
    """Print each setting with its shares."""
    settings: dict[str, Callable[[], dict[str, Any]]] = {
        "off": dict,
        "telemetry": _telemetry,
        "audit": _audit,
        "figures": lambda: _telemetry(spans=False),
        "both": lambda: _telemetry() | _audit(),
        "log": _log,
    }
    cost()  # warm
    hearing = asyncio.run(vad())
    print(f"LiveKit's VAD, for {SECONDS:g} s: {hearing:.2f} s")
    for name, setting in settings.items():
        best = min((cost(**setting()) for _ in range(5)), key=lambda one: one.observing)
        whole = best.session + hearing
        spent, session = best.observing, best.session
        print(
            f"{name:<10} {1e3 * spent:5.2f} ms, {1e6 * spent / best.records:4.1f} us a record: "
            f"{spent / whole:.2%} of {whole:.2f} s, {spent / session:.2%} of {session:.2f} s "
            "without the VAD"
        )


if __name__ == "__main__":
    main()
