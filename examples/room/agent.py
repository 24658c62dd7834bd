"""A voice agent for a LiveKit room. It needs no keys but those of the server.

    python agent.py console     talk to it in this terminal
    python agent.py dev         serve the rooms of LIVEKIT_URL, with every detail in the log
    python agent.py start       serve them as in production

Speech in and out runs on this machine, and the language model is a script: pip install
'turnfsm[demo]'. With TURNFSM_JOURNALS=folder each session leaves its journal there; with
TURNFSM_STAY=1 it waits for a caller who has hung up, who may come back.

So that calls survive this process: TURNFSM_STORE=calls.db, TURNFSM_AGENT=NAME,
TURNFSM_SUPERVISOR=SOCKET, and beside it `python supervisor.py NAME SOCKET`.
"""

import asyncio
import logging
import os
from pathlib import Path

from livekit import rtc
from livekit.agents import Agent, AgentServer, JobContext, JobProcess, cli, inference
from livekit.agents.voice.room_io import RoomOptions
from ready import exit_unless_ready, health_port
from supervisor import watched

from turnfsm import JsonlSink, load_flow
from turnfsm.demo import (
    FALLBACK,
    RULES,
    SOUNDS,
    MoonshineSTT,
    Pace,
    PiperTTS,
    PiperVoice,
    Robot,
    RuleLLM,
    Transcriber,
)
from turnfsm.livekit import TurnSession
from turnfsm.store import StoreError

logger = logging.getLogger("agent")

CALLS = 4  # that one worker takes at a time
AGENT = os.environ.get("TURNFSM_AGENT", "")  # a name: `supervisor.py` sends it into the rooms
STORE = os.environ.get("TURNFSM_STORE")  # where calls are kept, so that another worker goes on
SUPERVISOR = os.environ.get("TURNFSM_SUPERVISOR")  # its socket, if it runs on this machine
JOURNALS = os.environ.get("TURNFSM_JOURNALS")
STAY = bool(os.environ.get("TURNFSM_STAY"))
ON_ITS_WAY = 1.0  # seconds; the last words are heard later than they are sent
SORRY = "I am sorry, I can not take your call now. Please call again later."


def load(server: AgentServer) -> float:
    """How full the worker is; LiveKit gives new calls to those that have room."""
    return len(server.active_jobs) / CALLS


def load_models(process: JobProcess) -> None:
    """Before the first call, so that no caller waits for it."""
    process.userdata["transcriber"] = Transcriber.load()
    process.userdata["voice"] = PiperVoice.load()
    load_flow("overlap")  # it is kept


server = AgentServer(
    setup_fnc=load_models,
    load_fnc=load,
    load_threshold=0.99,
    num_idle_processes=1,
    initialize_process_timeout=60.0,  # the models, on a busy machine
    port=health_port(),
)


@server.rtc_session(agent_name=AGENT)
async def entrypoint(ctx: JobContext) -> None:
    models = ctx.proc.userdata
    pace = Pace()
    session = TurnSession(
        flow="overlap",  # over "oh, I see" the agent talks on
        stt=MoonshineSTT(models["transcriber"], ignore=SOUNDS),
        llm=RuleLLM(RULES, fallback=FALLBACK, pace=pace),
        tts=PiperTTS(models["voice"]),
        vad=inference.VAD(min_silence_duration=0.3),
        turn_handling={
            "turn_detection": "vad",
            "endpointing": {"min_delay": 0.5, "max_delay": 2.0},
            "interruption": {"mode": "vad", "min_duration": 0.3},
        },
        store=STORE,
        session_id=ctx.job.room.name,
        aec_warmup_duration=None,  # the first words of the agent can be interrupted, too
        publish_state=True,  # the page shows it
        sinks=[JsonlSink(Path(JOURNALS, f"{ctx.job.id}.jsonl"), redact=None)] if JOURNALS else [],
    )
    session.on("close", lambda _: ctx.shutdown())  # the caller has hung up
    take_keys(ctx.room, session)
    options = RoomOptions(close_on_disconnect=not STAY)
    if SUPERVISOR:
        await watched(ctx, SUPERVISOR)
    try:
        await session.start(Robot(pace), room=ctx.room, room_options=options)
    except StoreError as error:
        logger.error("the call cannot be taken: %s", error)
        await send_away(ctx)


async def send_away(ctx: JobContext) -> None:
    """Tell the caller that there is nobody, and end the call."""
    session = TurnSession(tts=PiperTTS(ctx.proc.userdata["voice"]), aec_warmup_duration=None)
    await session.start(Agent(instructions=""), room=ctx.room)
    await session.say(SORRY, allow_interruptions=False)
    await asyncio.sleep(ON_ITS_WAY)
    await session.aclose()
    await ctx.delete_room()
    ctx.shutdown()


def take_keys(room: rtc.Room, session: TurnSession) -> None:
    """What is typed on the keys of a telephone, up to the hash key, is a turn of the user."""
    digits: list[str] = []

    def pressed(key: rtc.SipDTMF) -> None:
        if key.digit != "#":
            digits.append(key.digit)
        elif digits:
            session.interrupt()
            session.generate_reply(user_input="".join(digits))
            digits.clear()

    room.on("sip_dtmf_received", pressed)


if __name__ == "__main__":
    exit_unless_ready()
    cli.run_app(server)
