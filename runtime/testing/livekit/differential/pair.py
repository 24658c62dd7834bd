"""Plays a plan on two session classes, each in virtual time."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import attrs
from livekit.agents import AgentSession, APIError, llm

from turnfsm.runtime.testing.clock import VirtualLoop, VirtualTimeError
from turnfsm.runtime.testing.livekit.ears import ScriptedSTT, ScriptedVAD
from turnfsm.runtime.testing.livekit.realtime import ScriptedRealtime
from turnfsm.runtime.testing.livekit.scripted_llm import ScriptedLLM
from turnfsm.runtime.testing.livekit.stage import Stage
from turnfsm.runtime.testing.livekit.voice import ScriptedTTS
from turnfsm.runtime.testing.schedules import PermutedLoop

from .agents import Clerk, answer
from .jobs import Jobs
from .measures import Measures
from .plan import ASKED, TYPED, Move, Plan

__all__ = ["Pair", "play_pair", "play_plan"]


@attrs.frozen
class Pair:
    """The outcomes of a plan on a stock session and on the session that is judged."""

    plan: Plan
    stock: Measures
    ours: Measures


def play_pair(plan: Plan, session_class: Any, stock_class: Any = AgentSession) -> Pair:
    """Play it on both, one after the other."""
    return Pair(plan, play_plan(plan, stock_class), play_plan(plan, session_class))


def play_plan(plan: Plan, session_class: Any) -> Measures:
    """Play it once."""
    jobs = Jobs(plan.jobs)
    stage = _stage(plan, jobs, session_class)
    for number, move in enumerate(plan.moves):
        stage.at(move.at, partial(_move, plan, jobs, number, move))
    loop = partial(PermutedLoop, seed=plan.schedule) if plan.schedule else VirtualLoop
    try:
        outcome = stage.run(plan.seconds, make_loop=loop)
    except (VirtualTimeError, RuntimeError, AssertionError) as error:
        return Measures.without_end(jobs, f"{type(error).__name__}: {str(error)[:200]}")
    return Measures.of(plan, jobs, outcome, stage)


def _stage(plan: Plan, jobs: Jobs, session_class: Any) -> Stage:
    user, voice = plan.user(), ScriptedTTS()
    model: Any = ScriptedLLM(otherwise=partial(answer, plan), retries=True)
    if plan.model != "pipeline":
        model = ScriptedRealtime(user, model, voice, turn_detection=plan.model == "server")
    stage = Stage(
        session_class,
        user=user,
        llm=model,
        tts=voice,
        stt=ScriptedSTT(user),
        vad=ScriptedVAD(),
        agent=lambda: Clerk(plan, jobs),
        can_pause=plan.can_pause,
        turn_handling=dict(plan.settings),
    )
    jobs.clock, jobs.note = lambda: stage.now, lambda what: stage.note(what)
    jobs.next_agent = lambda: Clerk(plan, jobs, stage.session.current_agent.chat_ctx, "2")
    return stage


async def _move(plan: Plan, jobs: Jobs, number: int, move: Move, stage: Stage) -> None:
    stage.note(f"move {number}: {move.what}")
    try:
        await _moved(plan, jobs, number, move.what, stage.session)
    except (RuntimeError, TimeoutError, llm.RealtimeError, APIError) as error:
        stage.note(f"move {number}: refused: {type(error).__name__}")
    else:
        stage.note(f"move {number}: done")


async def _moved(plan: Plan, jobs: Jobs, number: int, what: str, session: Any) -> None:
    if what in ("interrupt", "force"):
        await session.interrupt(force=what == "force")
    elif what in ("say", "say_on"):
        session.say(f"y{number}a y{number}b y{number}c.", allow_interruptions=what == "say")
    elif what == "reply":
        session.generate_reply(instructions=f"go on {ASKED + number}")
    elif what == "ask":
        session.generate_reply(user_input=f"typed{TYPED + number}")
    elif what == "chat":
        await session.interrupt()
        session.generate_reply(user_input=f"typed{TYPED + number}")
    elif what == "commit":
        session.commit_user_turn(transcript_timeout=1.0, stt_flush_duration=0.5)
    elif what == "clear":
        session.clear_user_turn()
    elif what == "update_agent":
        session.update_agent(Clerk(plan, jobs, session.current_agent.chat_ctx, "2"))
    elif what == "run":
        await asyncio.wait_for(session.run(user_input=f"typed{TYPED + number}"), 40.0)
    elif what == "wait":
        await session.say(f"y{number}a y{number}b y{number}c.")
    elif what == "aclose":
        await session.aclose()
