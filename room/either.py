"""A worker whose sessions are LiveKit's own or TurnSession's; the name of the room says which, and
which conversation: `turn-S1-...`, `stock-S5-...`.

Speech is real (Moonshine, Piper), the language model is a script. ROOM_EVENTS names a folder for
the worker's notes, one file for each room.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from livekit.agents import (
    Agent,
    AgentServer,
    AgentSession,
    JobContext,
    JobProcess,
    RunContext,
    cli,
    function_tool,
    inference,
    llm,
)

from turnfsm import load_flow
from turnfsm.demo import IGNORED, MoonshineSTT, PiperTTS, PiperVoice, Transcriber
from turnfsm.livekit import TurnSession
from turnfsm.testing import Call, Reply, Request, ScriptedLLM

SESSIONS: dict[str, type[AgentSession[Any]]] = {"stock": AgentSession, "turn": TurnSession}
STORY = (
    "Once there was a king who had three daughters and no sons. The eldest loved salt, and the "
    "second loved gold. The youngest loved nothing so much as the sea, which was far away."
)
CANCEL = "I will cancel the contract for you right now, one moment please."
BOOKING = "I am booking the table for you right now, one moment please."
Note = Callable[..., None]


def model(note: Note) -> ScriptedLLM:
    """The rules of all conversations. The first whose phrase is in the user's message is used."""
    scripted = ScriptedLLM(
        {
            "story": STORY,
            "stop": "As you like.",
            "paris": "Paris is sunny.",
            "rome": Reply(calls=Call("look_up", {"city": "Rome"})),
            "weather": Reply(calls=Call("glance"), ttft=6.0),
            "contract": Reply(CANCEL, calls=Call("cancel_contract")),
            "joke": "Here is a joke.",
            "is the table": _booked,
            "table": Reply(BOOKING, calls=Call("book")),
        },
        {
            "look_up": "It rains in Rome.",
            "glance": "It is sunny.",
            "cancel_contract": "It is cancelled.",
            "book": "Your table is booked.",
        },
        otherwise="Good morning to you.",
    )

    def asked(request: Request) -> None:
        if request.outcome == "running":
            note("asked", prompt=request.prompt)

    scripted.on_request = asked
    return scripted


def _booked(request: Request) -> Reply:
    """What the model says about a call in its context. If there is none, it makes the call."""
    if any(entry.kind == "result" and entry.text == "booked" for entry in request.shown):
        return Reply("Yes, it is booked.")
    if any(entry.kind == "call" for entry in request.shown):
        return Reply("It is being booked.")
    return Reply(calls=Call("book"))


def tools(note: Note) -> list[llm.FunctionTool[..., Any]]:
    """The tools of all conversations. Their side effects are recorded as notes."""

    @function_tool
    async def look_up(city: str) -> str:
        """Look up the weather of a city."""
        await asyncio.sleep(8.0)
        return f"rain in {city}"

    @function_tool
    async def glance() -> str:
        """Look out of the window."""
        await asyncio.sleep(0.5)
        return "sun"

    @function_tool
    async def cancel_contract(context: RunContext[Any]) -> str:
        """Cancel the contract, once the caller has heard of it."""
        await context.wait_for_playout()
        note("effect", what="the contract is cancelled")
        return "cancelled"

    @function_tool
    async def book() -> str:
        """Book the table."""
        await asyncio.sleep(6.0)
        note("effect", what="the table is booked")
        return "booked"

    return [look_up, glance, cancel_contract, book]


def load_models(process: JobProcess) -> None:
    """Load the models before the first call."""
    process.userdata["transcriber"] = Transcriber.load()
    process.userdata["voice"] = PiperVoice.load()
    load_flow("turn")


server = AgentServer(
    setup_fnc=load_models,
    load_fnc=lambda server: len(server.active_jobs) / 8,
    num_idle_processes=1,
    initialize_process_timeout=60.0,
    port=int(os.environ.get("TURNFSM_HEALTH_PORT", "0")),
)


@server.rtc_session()
async def entrypoint(ctx: JobContext) -> None:
    """A session of the kind that the room asks for."""
    path = Path(os.environ["ROOM_EVENTS"], f"{ctx.room.name}.jsonl")

    def note(event: str, /, **data: Any) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"t": time.time(), "event": event, **data}) + "\n")

    models = ctx.proc.userdata
    session = SESSIONS[ctx.room.name.partition("-")[0]](
        stt=MoonshineSTT(models["transcriber"], ignore=IGNORED),
        llm=model(note),
        tts=PiperTTS(models["voice"]),
        vad=inference.VAD(min_silence_duration=0.3),
        tools=[*tools(note)],
        turn_handling={
            "turn_detection": "vad",
            "endpointing": {"min_delay": 0.5, "max_delay": 2.0},
            "interruption": {"mode": "vad", "min_duration": 0.3},
        },
        aec_warmup_duration=None,
    )
    session.on("agent_state_changed", lambda event: note("state", state=event.new_state))
    session.on("agent_false_interruption", lambda event: note("false", resumed=event.resumed))
    session.on("close", lambda _: ctx.shutdown())
    await session.start(Agent(instructions="You help."), room=ctx.room)


if __name__ == "__main__":
    cli.run_app(server)
