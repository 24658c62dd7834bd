"""A page holds the button: the RPC methods of a flow in a real room."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from flow_text import parsed
from livekit import rtc
from livekit.agents import Agent

from room.server import RoomServer
from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedLLM

pytestmark = pytest.mark.room

FLOW = """
flow: radio
extends: push_to_talk
button: {}
requests: {transfer: {rpc: transfer}}
states: {listening: {on: {transfer: {conditions: user_speaking}}}}
"""


async def test_a_page_opens_and_closes_the_microphone(server: RoomServer) -> None:
    flow = parsed(FLOW)
    name = f"button-{uuid.uuid4().hex[:8]}"
    agent_room, page = rtc.Room(), rtc.Room()
    await agent_room.connect(server.url, server.token(name, "agent"))
    await page.connect(server.url, server.token(name, "page"))
    session: Any = TurnSession(flow=flow, vad=None, llm=ScriptedLLM())
    await session.start(Agent(instructions="Help."), room=agent_room)
    try:

        async def calls(method: str) -> str:
            return await page.local_participant.perform_rpc(
                destination_identity="agent", method=method, payload=""
            )

        assert not session.input.audio_enabled
        assert await calls("start_turn") == "listening"
        assert session.input.audio_enabled
        assert await calls("cancel_turn") == "listening"
        assert not session.input.audio_enabled
        with pytest.raises(rtc.RpcError) as refused:
            await calls("transfer")
        assert refused.value.message == "not user_speaking"
    finally:
        await session.aclose()
        await page.disconnect()
        await agent_room.disconnect()
