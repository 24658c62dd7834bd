"""What is said when a server, a key, a port or a program is wrong: one error, with a remedy."""

from __future__ import annotations

import logging
import os
import runpy
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "room"))

from supervisor import watched

from room import server as room_server
from room.build import ServerMissing
from room.caller import Caller
from room.judge import transcribed
from room.main import main
from room.server import RoomServer, free_port, serving
from room.worker import AGENT, ROOT, working
from turnfsm.runtime.demo.words import words
from turnfsm.store import Batch, SqliteStore


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A user of whom nothing is known, here and for a process of its own."""
    for name in list(os.environ):
        if name.startswith(("LIVEKIT_", "XDG_", "TURNFSM_")):
            monkeypatch.delenv(name)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment | {"PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "HOME",
            "/nowhere",
            "error: there is no livekit-server\n  = help: `make room-server`",
        ),
        (
            "LIVEKIT_SERVER",
            "/nowhere/livekit-server",
            "error: LIVEKIT_SERVER=/nowhere/livekit-server: there is no such program",
        ),
        ("LIVEKIT_SERVER", "/bin/false", "error: livekit-server ends at once"),
        ("LIVEKIT_URL", "ws://127.0.0.1:{port}", "error: no LiveKit server answers at 127.0.0.1:"),
    ],
    ids=["nothing is given", "no program", "no server", "no answer"],
)
@pytest.mark.usefixtures("bare")
def test_a_server_that_cannot_be_used_is_named(
    name: str,
    value: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.NOTSET, "livekit")  # which the command changes
    monkeypatch.setattr(room_server, "ANSWERS", 0.5)
    monkeypatch.setenv(name, value.format(port=free_port()))
    assert main(["-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.room
def test_a_wrong_key_is_an_error_at_once(server: RoomServer) -> None:
    with (
        pytest.raises(TimeoutError, match=r"^error: the server at .* refuses the key 'otherkey'\n"),
        working(RoomServer(server.url, "otherkey", "another-dev-secret-for-this-test-only-0")),
    ):
        pass


@pytest.mark.room
def test_a_server_that_is_away_is_an_error_at_once() -> None:
    away = f"ws://127.0.0.1:{free_port()}"
    with pytest.raises(TimeoutError, match="cannot serve"), working(RoomServer(away)):
        pass


@pytest.mark.room
def test_a_health_port_that_is_in_use_is_an_error_at_once(server: RoomServer) -> None:
    taken = server.url.rpartition(":")[2]
    with (
        pytest.raises(
            TimeoutError,
            match=rf"^error: port {taken} of the health check cannot be used: Address already in "
            r"use\n  = help: TURNFSM_HEALTH_PORT=0 takes a free one$",
        ),
        working(server, environment={"TURNFSM_HEALTH_PORT": taken}),
    ):
        pass


@pytest.mark.exhaustive
def test_the_worker_says_what_it_lacks(bare: dict[str, str]) -> None:
    """In one error, before anything is started."""
    pytest.importorskip("piper")
    done = subprocess.run(
        [sys.executable, str(AGENT), "start"],
        env=bare, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: LIVEKIT_URL is not set\n")
    assert "Traceback" not in done.stderr


def test_a_port_of_the_worker_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`sys.exit` with a text prints it, and ends with 1."""
    monkeypatch.setenv("TURNFSM_HEALTH_PORT", "eight")
    with pytest.raises(SystemExit, match=r"^error: TURNFSM_HEALTH_PORT is 'eight'\n  = help: a n"):
        runpy.run_path(str(AGENT))


async def test_a_job_goes_on_without_its_supervisor(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It says that nobody will send the next agent."""
    context: Any = None  # a job's, which it does not come to
    await watched(context, str(tmp_path / "socket"))
    assert "no supervisor listens at" in caplog.text


def other_version(folder: Path, room: str) -> str:
    """A store that has this session, written by a turnfsm that is not there yet."""
    store = SqliteStore(folder / "calls.db")
    line = '{"journal": 99, "flow": "turn", "initial": "listening"}'
    store.append([Batch(room, store.acquire(room).epoch, 1, (line,))])
    store.close()
    return str(store.path)


STORES = {
    "that is away": lambda *_: "postgresql://nobody@127.0.0.1:1/none",
    "of another version": other_version,
}


@pytest.mark.room
@pytest.mark.parametrize("store", STORES)
async def test_a_caller_hears_that_the_call_cannot_be_taken_with_a_store(
    store: str, server: RoomServer, tmp_path: Path
) -> None:
    """Then the call ends; one error is logged, without a traceback."""
    room = f"away-{uuid.uuid4().hex[:8]}"
    address = STORES[store](tmp_path, room)
    with working(server, environment={"TURNFSM_STORE": address}) as worker:
        async with Caller(server, room) as caller:
            await caller.until(lambda: not caller.room.isconnected(), why="the call does not end")
        heard = await transcribed(caller.ear.track(), caller.ear.sounds())
    assert "call again later" in " ".join(words(" ".join(heard)))
    assert ["the call cannot be taken: " in error for error in worker.errors] == [True], (
        worker.errors
    )
    assert "Traceback" not in worker.errors[0]


@pytest.mark.room
def test_a_port_that_is_in_use_is_an_error_of_the_server(server: RoomServer) -> None:
    taken = int(server.url.rpartition(":")[2])
    with pytest.raises(ServerMissing, match="Address already in use"), serving(port=taken):
        pass
