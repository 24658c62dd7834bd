"""A rolling deploy: the worker of the old version is killed, and one of the new version continues
its call under an edited flow, over WebRTC."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from livekit import api
from store.play import GREETING
from store.version import BOOKED
from typist import Typist

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "room"))

from supervisor import Supervisor

from room.server import RoomServer
from room.worker import working

pytestmark = pytest.mark.room

AGENT = Path(__file__).with_name("lasting.py")
SOON = 60.0
"""Seconds in which anything happens, on a busy machine."""


def _records(folder: Path) -> list[tuple[int, dict[str, Any]]]:
    connection = sqlite3.connect(folder / "calls.db")
    rows = connection.execute("SELECT epoch, body FROM record ORDER BY epoch, n").fetchall()
    connection.close()
    return [(epoch, json.loads(body)) for epoch, body in rows]


async def _noted(folder: Path, kind: str) -> None:
    """Until the store has a note of this kind."""
    for _ in range(int(SOON / 0.05)):
        if any(record.get("note") == kind for _, record in _records(folder)):
            return
        await asyncio.sleep(0.05)
    raise TimeoutError(f"no note {kind!r}")


async def test_a_worker_of_the_new_version_continues_the_call(
    server: RoomServer, tmp_path: Path
) -> None:
    """While a tool ran that has another name now: the caller stays, and hears its result."""
    room = f"deploy-{uuid.uuid4().hex[:6]}"
    (tmp_path / room).mkdir()
    old, new = ({"TURNFSM_DEADLY": str(tmp_path), "TURNFSM_VERSION": name} for name in "01")
    async with api.LiveKitAPI(server.url, server.key, server.secret) as client:
        supervisor = Supervisor(client, "waiter")
        socket = await asyncio.start_unix_server(supervisor.watch, tmp_path / "socket")
        watching = asyncio.ensure_future(supervisor.run())
        try:
            with working(server, AGENT, environment=old) as first:
                async with Typist(server, room) as caller:
                    assert await caller.reads(GREETING, SOON)
                    with working(server, AGENT, environment=new):
                        await caller.types("please book a table")
                        await _noted(tmp_path / room, "tool_started")
                        os.killpg(first.process.pid, signal.SIGKILL)
                        assert await caller.reads(BOOKED, SOON), caller.seen
                        agents = caller.agents
        finally:
            watching.cancel()
            socket.close()
    assert len(agents) == 2
    calls = [
        (epoch, record["data"]["name"])
        for epoch, record in _records(tmp_path / room)
        if record.get("note") in ("tool_started", "tool_restored")
    ]
    assert calls == [(1, "book"), (2, "book_table")]
    assert caller.seen.count(GREETING) == 1
