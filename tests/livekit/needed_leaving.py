"""Conversations for the overrides that let an agent go whose tools or hooks hang."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from livekit.agents import Agent, AgentTask, RunContext, function_tool
from livekit.agents.llm import Toolset

from turnfsm.runtime.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)
from turnfsm.runtime.testing.livekit.tasks import complete

__all__ = ["LEAVING", "a_call_in_a_reply_that_a_handoff_skips_has_an_output"]


class _Next(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Go on.")

    async def on_enter(self) -> None:
        await self.session.say("I go on.")


class _Entering(Agent):
    """Its on_enter never returns."""

    def __init__(self) -> None:
        super().__init__(instructions="Hang.")

    async def on_enter(self) -> None:
        await asyncio.Event().wait()


class _Stuck(Toolset):
    def __init__(self) -> None:
        super().__init__(id="stuck", tools=[])

    async def aclose(self) -> None:
        await asyncio.Event().wait()


@function_tool
async def book() -> str:
    """Book."""
    await asyncio.Event().wait()
    return "booked"


@on_interruption("finish")
@function_tool
async def pack() -> str:
    """Pack it."""
    await asyncio.sleep(4.0)
    return "packed"


def a_tool_that_hangs_does_not_hold_up_a_drain() -> list[str]:
    """The drain ends within drain_limit."""
    drained: list[float] = []

    async def drain(stage: Stage) -> None:
        await stage.session.drain()
        drained.append(stage.now)

    model = ScriptedLLM({"book": Reply(calls=Call("book"))})
    user = ScriptedUser().says("book a table", at=1.0)
    limits = {"drain_limit": 5.0}
    Stage(TurnSession, user=user, llm=model, tools=[book], timers=limits).at(5.0, drain).run(15.0)
    return [] if drained and drained[0] < 11.0 else [f"the drain ends at {drained} s"]


def an_on_enter_that_hangs_does_not_hold_up_a_handoff() -> list[str]:
    """The next agent is heard."""
    stage = Stage(TurnSession, agent=_Entering, timers={"drain_limit": 5.0})
    stage.at(2.0, lambda s: s.session.update_agent(_Next()))
    outcome = stage.run(15.0)
    return [] if outcome.heard_saying("I go on.") else ["the next agent is not heard"]


def a_toolset_of_the_agent_holds_up_no_close() -> list[str]:
    """The close ends after the time for cleaning up."""
    agent = lambda: Agent(instructions="Help.", tools=[_Stuck()])  # noqa: E731
    return _closes(Stage(TurnSession, agent=agent, timers={"cleanup_limit": 60.0}))


def a_toolset_of_the_session_holds_up_no_close() -> list[str]:
    """Likewise."""
    make: Any = lambda **options: TurnSession(  # noqa: E731
        **options, tools=[_Stuck()], timers={"cleanup_limit": 60.0}
    )
    return _closes(Stage(make))


class _Errand(AgentTask[str]):
    """A task that is done at once."""

    def __init__(self) -> None:
        super().__init__(instructions="Do it.")

    async def on_enter(self) -> Any:
        return complete(self, "done")


@on_interruption("hold")
@function_tool
async def collect() -> str:
    """Have it collected."""
    return await _Errand()


@function_tool
async def reserve() -> str:
    """Reserve."""
    return "reserved"


def a_call_in_a_reply_that_a_handoff_skips_has_an_output() -> list[str]:
    """A realtime model replies by itself while a task takes over; LiveKit skips the reply."""
    user = ScriptedUser().says("collect it", at=0.5).says("reserve a table", at=2.5)
    answers = {
        "collect": Reply("I have it collected for you at once.", calls=Call("collect")),
        "reserve": Reply(calls=Call("reserve")),
    }
    model = ScriptedLLM(answers, {"reserve": "It is reserved.", "collect": "It is done."})
    voice = ScriptedTTS()
    stage = Stage(
        TurnSession,
        user=user,
        llm=ScriptedRealtime(user, model, voice, turn_detection=True),  # type: ignore[arg-type]
        tts=voice,
        turn_handling={"turn_detection": "realtime_llm"},
        agent=lambda: Agent(instructions="Help.", tools=[collect, reserve]),
    )
    items = stage.run(15.0).realtime_ctx.items
    made = {item.call_id for item in items if item.type == "function_call"}
    answered = {item.call_id for item in items if item.type == "function_call_output"}
    return [f"{call} has no output" for call in made - answered]


def a_turn_of_a_handoff_is_answered_by_the_next_agent() -> list[str]:
    """The application commits it while the handoff waits for a call."""
    user = ScriptedUser().says("pack it", at=0.5).says("how long", at=3.5)
    answers = {"pack": Reply(calls=Call("pack")), "how long": "An hour."}
    model, voice = ScriptedLLM(answers), ScriptedTTS()
    stage = Stage(
        *(TurnSession,),
        **{"user": user, "tts": voice, "turn_handling": {"turn_detection": "manual"}},
        llm=ScriptedRealtime(user, model, voice, turn_detection=False),  # type: ignore[arg-type]
        agent=lambda: Agent(instructions="Help.", tools=[pack]),
    )
    stage.at(3.0, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    for at in (1.5, 5.0):
        stage.at(at, _commit)
    answer = stage.run(20.0).heard_saying("An hour.")
    return [] if answer is not None else ["the next agent does not answer"]


@on_interruption("detach")
@function_tool
async def look_up(context: RunContext) -> str:
    """Look it up."""
    await context.update("I look.")
    await asyncio.sleep(6.0)
    return "found"


def a_close_during_a_handoff_hears_the_users_last_words() -> list[str]:
    """They are recognised after the close has begun."""
    user = ScriptedUser().says("look it up", at=0.5).says("and this", at=3.5)
    model = ScriptedLLM({"look it up": Reply("I do.", calls=Call("look_up"))})
    stage = Stage(TurnSession, user=user, llm=model, tools=[look_up])
    stage.at(3.4, lambda s: s.session.update_agent(_Next()))
    stage.at(4.2, lambda s: s.session.aclose())
    said = {message.text_content for message in stage.run(20.0).history.messages()}
    return [] if "and this" in said else ["the last words are not in the history"]


def _commit(stage: Stage) -> None:
    with contextlib.suppress(RuntimeError):
        stage.session.commit_user_turn()


def _closes(stage: Stage) -> list[str]:
    seconds = stage.run(1.0).closed_in
    return [] if seconds < 65.0 else [f"closing takes {seconds} s"]


LEAVING: dict[str, Callable[[], list[str]]] = {
    "LeavingActivity.drain": a_tool_that_hangs_does_not_hold_up_a_drain,
    "LeavingActivity._create_speech_task": an_on_enter_that_hangs_does_not_hold_up_a_handoff,
    "GovernedSession.commit_user_turn": a_turn_of_a_handoff_is_answered_by_the_next_agent,
    "LeavingActivity._detach_reusable_resources": (
        a_close_during_a_handoff_hears_the_users_last_words
    ),
    "LeavingActivity.aclose": a_toolset_of_the_agent_holds_up_no_close,
    "ClosingSession._teardown_activity": a_toolset_of_the_session_holds_up_no_close,
}
