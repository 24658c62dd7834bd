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
)
from livekit.agents.llm.mcp import MCPServer, MCPToolset
from mcp.server import MCPServer as Server
from mcp.shared.memory import create_client_server_memory_streams
from realtime_stage import realtime

from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
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
    stage = realtime(user, answers, look_up, detects=detects, auto=replies, session=session_class)
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
