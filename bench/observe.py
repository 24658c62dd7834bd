"""What it costs a session to be observed, as a share of its own work: `python -m bench.observe`.

A conversation is played in virtual time, so that the session's work is all that takes CPU time:
LiveKit's, ours, and that of the scripted parts, which is far less than real speech models take.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from turnfsm.livekit import Telemetry, TurnSession
from turnfsm.runtime.journal import LiveJournal
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

__all__ = ["share"]

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
    answers = {"story": STORY, "weather": Reply(calls=Call("look_up"))}
    model = ScriptedLLM(answers, {"look_up": "It rains."})
    tts = ScriptedTTS(durations={STORY: 9.0})
    return Stage(Session, user=user, llm=model, tts=tts, tools=[look_up])


def share(**setting: Any) -> tuple[float, float, int]:
    """Seconds of CPU time for observing, for all, and how many records there were.

    Args:
        setting: Arguments of the session, such as ``telemetry``.
    """
    spent, records = 0.0, 0
    pass_on = LiveJournal._pass_on

    def timed(self: LiveJournal, raw: Any) -> None:
        nonlocal spent, records
        begun = time.process_time()  # what tells the time of day is virtual here
        pass_on(self, raw)
        spent += time.process_time() - begun
        records += 1

    LiveJournal._pass_on = timed  # type: ignore[method-assign]
    try:
        stage = _conversation(**setting)
        begun = time.process_time()
        stage.run(125.0)
        return spent, time.process_time() - begun, records
    finally:
        LiveJournal._pass_on = pass_on  # type: ignore[method-assign]


def _telemetry() -> dict[str, Any]:
    return {"telemetry": Telemetry(MeterProvider([InMemoryMetricReader()]))}


def _audit() -> dict[str, Any]:
    return {"audit": True}


def main() -> None:
    """Print each setting with its share."""
    settings: dict[str, Callable[[], dict[str, Any]]] = {
        "off": dict,
        "telemetry": _telemetry,
        "audit": _audit,
    }
    share()  # warm
    for name, setting in settings.items():
        spent, total, records = min((share(**setting()) for _ in range(3)), key=lambda s: s[0])
        each = f", {spent / records * 1e6:.1f} us a record" if records else ""
        print(f"{name:<10} {spent / total:7.2%} of {total:.2f} s{each}")


if __name__ == "__main__":
    main()
