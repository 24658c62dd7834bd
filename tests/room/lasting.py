"""The worker of `test_crash` and `test_deploy`: a scripted agent whose session is stored.

`TURNFSM_DEADLY` is a folder: a file there, named as the room, holds the number of the record at
which the first worker of the room dies. With `TURNFSM_VERSION` it is the old (0) or the new (1)
version of a program whose flow is edited.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "room"))

from livekit.agents import AgentServer, JobContext, cli
from livekit.agents.voice.room_io import RoomOptions
from store.play import DeadlySink, Guest, Waiter, answer
from store.version import flow_of, versions
from supervisor import watched

from turnfsm import load_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedTTS

FOLDER = Path(os.environ["TURNFSM_DEADLY"])
VERSION = os.environ.get("TURNFSM_VERSION")
NAME = "waiter"

server = AgentServer(
    num_idle_processes=2,
    initialize_process_timeout=60.0,
    load_fnc=lambda _: 0.0,
    port=int(os.environ.get("TURNFSM_HEALTH_PORT", "8081")),
)


@server.rtc_session(agent_name=NAME)
async def entrypoint(ctx: JobContext) -> None:
    """Serve a room; die if this is the first worker in it."""
    room = ctx.job.room.name
    folder = FOLDER / room
    with (folder / "jobs").open("a") as jobs:
        jobs.write(f"{time.time()} dispatched\n")
    await watched(ctx, str(FOLDER / "socket"))
    deadly = folder / "dies at"
    sinks = []
    if deadly.exists():
        sinks = [DeadlySink(int(deadly.read_text()))]
        deadly.unlink()
    agent, says, flow = Waiter(Guest(folder, works=0.6)), answer, load_flow("turn")
    if VERSION is not None:
        version = versions(folder, works=6.0)[int(VERSION)]
        agent, says, flow = version.agent(), version.answer, flow_of(version.flow)
    session: Any = TurnSession(
        flow=flow,
        llm=ScriptedLLM(otherwise=says),
        tts=ScriptedTTS(seconds_per_word=0.15),
        store=folder / "calls.db",
        session_id=room,
        sinks=sinks,
    )
    session.on("close", lambda _: ctx.shutdown())
    await session.start(agent, room=ctx.room, room_options=RoomOptions(audio_input=False))
    with (folder / "jobs").open("a") as jobs:
        jobs.write(f"{time.time()} governs {session.epoch}\n")


if __name__ == "__main__":
    cli.run_app(server)
