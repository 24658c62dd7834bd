"""What livekit-agents promises of tools and realtime models holds with both sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp.types
import pytest
from both import Session, lines, look_up
from livekit.agents import (
    Agent,
    RunContext,
    function_tool,
)
from livekit.agents.llm.mcp import MCPServer, MCPToolset
from mcp.server import MCPServer as Server
from mcp.shared.memory import create_client_server_memory_streams

from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)


@pytest.mark.parametrize("detects", [True, False], ids=["server", "client"])
@pytest.mark.parametrize("replies", [True, False], ids=["auto", "asked"])
def test_realtime_models_work_with_tools_and_interruptions(
    session_class: Session, detects: bool, replies: bool
) -> None:
    """Turns that the model or the session detects, a tool and an interruption."""
    user = ScriptedUser().says("weather please", at=1.0).says("stop", at=5.0, duration=1.0)
    answers = ScriptedLLM(
        {"weather": Reply("let me see", calls=Call("look_up")), "stop": "All right."},
        {"look_up": "It rains in Rome and in Milan and it will go on for days."},
    )
    voice = ScriptedTTS()
    model = ScriptedRealtime(user, answers, voice, turn_detection=detects, auto_tool_reply=replies)
    turns = {"turn_detection": "realtime_llm" if detects else "vad"}
    stage = Stage(
        session_class, user=user, llm=model, tts=voice, tools=[look_up], turn_handling=turns
    )
    outcome = stage.run(12)
    heard = [h.text for h in outcome.heard]
    assert [heard[0], heard[2]] == ["let me see", "All right."]
    assert heard[1].startswith("It rains in Rome")
    assert not heard[1].endswith("days.")
    assert [run.message for run in outcome.tools] == ["rain"]
    assert sorted(lines(outcome)) == sorted(
        [
            *("user: weather please", "assistant: let me see", "call call_1 look_up({})"),
            *("output call_1 look_up = rain", f"assistant: {heard[1]} (interrupted)"),
            *("user: stop", "assistant: All right."),
        ]
    )
    assert outcome.wrong_agent_states(tolerance=0.021) == []


class _InProcess(MCPServer):
    """An MCP server that runs in a task of this loop, so that it keeps virtual time."""

    def __init__(self, server: Server) -> None:
        super().__init__(client_session_timeout_seconds=0)
        self._server = server._lowlevel_server

    @asynccontextmanager
    async def client_streams(self) -> AsyncIterator[Any]:
        async with create_client_server_memory_streams() as (client, (read, write)):
            options = self._server.create_initialization_options()
            serving = asyncio.create_task(self._server.run(read, write, options))
            try:
                yield client
            finally:
                serving.cancel()
                await asyncio.wait([serving])


def test_tools_of_an_mcp_server_are_called(session_class: Session) -> None:
    """The tools of an MCP server are called as the agent's own."""
    server = Server("weather")

    @server.tool()
    async def look_up(city: str) -> list[mcp.types.TextContent]:
        """Look the weather up."""
        await asyncio.sleep(1.0)
        return [mcp.types.TextContent(type="text", text=f"rain in {city}")]

    model = ScriptedLLM(
        {"weather": Reply(calls=Call("look_up", {"city": "Rome"}))}, {"look_up": "It rains."}
    )
    user = ScriptedUser().says("weather please", at=1.0)
    stage = Stage(
        session_class,
        user=user,
        llm=model,
        agent=lambda: Agent(
            instructions="Help.", tools=[MCPToolset(id="mcp", mcp_server=_InProcess(server))]
        ),
    )
    outcome = stage.run(8)
    assert any("rain in Rome" in line for line in outcome.context)
    assert outcome.heard_saying("It rains.") is not None
    assert outcome.orphans == ()


def test_a_background_tool_reports_and_the_talk_goes_on(session_class: Session) -> None:
    """`ctx.update()` frees the turn; the result is spoken when it comes, once."""

    @function_tool
    async def look_up(ctx: RunContext) -> str:
        """Look the weather up."""
        await ctx.update("it takes a while")
        await asyncio.sleep(6.0)
        return "rain"

    answers = [Reply("I am on it."), Reply("It rains.")]
    model = ScriptedLLM(
        {"weather": Reply(calls=Call("look_up")), "joke": "Here is a joke."},
        {"look_up": lambda request: answers.pop(0)},
        otherwise="It rains.",
    )
    user = ScriptedUser().says("weather please", at=1.0).says("tell me a joke", at=4.0)
    outcome = Stage(session_class, user=user, llm=model, tools=[look_up]).run(16)
    assert [h.text for h in outcome.heard] == ["I am on it.", "Here is a joke.", "It rains."]
    assert [run.status for run in outcome.tools] == ["done"]


def test_a_filler_is_spoken_while_a_tool_runs(session_class: Session) -> None:
    """`with_filler` speaks into the silence, and no longer than the tool runs."""

    @function_tool
    async def look_up(ctx: RunContext) -> str:
        """Look the weather up."""
        async with ctx.with_filler("One moment.", delay=1.0, interval=2.0):
            await asyncio.sleep(6.0)
        return "rain"

    model = ScriptedLLM({"weather": Reply(calls=Call("look_up"))}, {"look_up": "It rains."})
    user = ScriptedUser().says("weather please", at=1.0)
    outcome = Stage(session_class, user=user, llm=model, tools=[look_up]).run(16)
    assert [h.text for h in outcome.heard] == ["One moment.", "One moment.", "It rains."]
    assert outcome.wrong_agent_states() == []


def test_foreground_holds_the_floor(session_class: Session) -> None:
    """`foreground()` waits until nobody speaks for the agent, and nobody else then does."""

    @function_tool
    async def look_up(ctx: RunContext) -> str:
        """Look the weather up."""
        await ctx.update("it takes a while")
        async with ctx.foreground():
            await ctx.session.say("First this.")
            await ctx.session.say("Then that.")
        return "rain"

    model = ScriptedLLM(
        {"weather": Reply(calls=Call("look_up"))}, {"look_up": "I am on it."}, otherwise="It rains."
    )
    user = ScriptedUser().says("weather please", at=1.0)
    outcome = Stage(session_class, user=user, llm=model, tools=[look_up]).run(16)
    said = [h.text for h in outcome.heard]
    assert said[:3] == ["I am on it.", "First this.", "Then that."]
