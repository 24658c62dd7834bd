"""What `import turnfsm.livekit` loads: what a session uses, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

UNUSED = (
    *("turnfsm.fsm.audit", "turnfsm.fsm.check", "turnfsm.fsm.diagram"),
    *("turnfsm.fsm.interop", "turnfsm.fsm.matrix", "turnfsm.fsm.metrics"),
    *("turnfsm.runtime.cli", "turnfsm.runtime.compare", "turnfsm.runtime.demo"),
    *("turnfsm.runtime.pipecat", "turnfsm.runtime.testing", "turnfsm.testing"),
    *("turnfsm.runtime.store.sqlite", "turnfsm.runtime.store.postgres"),
    *("turnfsm.runtime.view.hub", "turnfsm.runtime.observe.turn_log"),
)
"""The checker, the pictures, the figures, the viewer, the stores, the kit."""


SESSIONS = """
import asyncio, sys
from turnfsm.livekit import TurnSession
from livekit.agents import Agent

async def talk(**options):
    session = TurnSession(**options)
    await session.start(Agent(instructions=""))
    await session.aclose()
    print(*sys.modules)

asyncio.run(talk())
asyncio.run(talk(telemetry=True))
asyncio.run(talk(store="calls.db", session_id="a"))
asyncio.run(talk(audit=True))
"""


@pytest.mark.exhaustive
def test_a_session_loads_what_its_options_need_and_nothing_else(tmp_path: Path) -> None:
    """A worker imports it in each process, before the call."""
    command = [sys.executable, "-c", SESSIONS]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    plain, *loaded = [set(UNUSED) & set(line.split()) for line in ran.stdout.splitlines()]
    assert plain == set()
    needs = ("turnfsm.fsm.metrics", "turnfsm.runtime.store.sqlite", "turnfsm.fsm.check")
    for module, (before, after) in zip(needs, pairwise([plain, *loaded]), strict=True):
        assert module in after - before
