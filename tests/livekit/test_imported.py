"""What `import turnfsm.livekit` loads: what a session uses, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

UNUSED = (
    *("turnfsm.fsm.audit", "turnfsm.fsm.check", "turnfsm.fsm.cover", "turnfsm.fsm.diagram"),
    *("turnfsm.fsm.interop", "turnfsm.fsm.matrix", "turnfsm.fsm.metrics"),
    *("turnfsm.runtime.cli", "turnfsm.runtime.compare", "turnfsm.runtime.demo"),
    *("turnfsm.runtime.pipecat", "turnfsm.runtime.testing", "turnfsm.testing"),
    *("turnfsm.runtime.store.sqlite", "turnfsm.runtime.store.postgres"),
    *("turnfsm.runtime.view.hub", "turnfsm.runtime.observe.turn_log"),
)
"""The checker, the pictures, the figures, the viewer, the stores, the kit."""


def loaded(code: str, folder: Path | None = None) -> set[str]:
    """Those of `UNUSED` that a new process has loaded after this code, which runs in a folder."""
    report = "\nimport sys; print(*sys.modules)"
    command = [sys.executable, "-c", code + report]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return set(UNUSED) & set(ran.stdout.split())


def test_an_import_and_a_session_load_only_what_the_session_uses() -> None:
    """A worker imports it in each process, before the call."""
    assert loaded("import turnfsm.livekit") == set()
    assert loaded(SESSION.format("")) == set()


SESSION = """
import asyncio
from turnfsm.livekit import Telemetry, TurnSession
from livekit.agents import Agent

async def talk():
    session = TurnSession({})
    await session.start(Agent(instructions=""))
    await session.aclose()

asyncio.run(talk())
"""


@pytest.mark.parametrize(
    ("option", "module"),
    [
        ("audit=True", "turnfsm.fsm.check"),
        ("telemetry=True", "turnfsm.fsm.metrics"),
        ("store='calls.db', session_id='a'", "turnfsm.runtime.store.sqlite"),
    ],
)
def test_an_option_loads_what_it_needs(option: str, module: str, tmp_path: Path) -> None:
    """When the session starts."""
    assert module in loaded(SESSION.format(option), tmp_path)
