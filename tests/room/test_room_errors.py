"""What is said when a server, a key, a port or a program is wrong: one error, with a remedy."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "room"))

from supervisor import watched

from room.build import ServerMissing
from room.caller import Caller
from room.judge import transcribed
from room.server import RoomServer, free_port, serving
from room.worker import AGENT, ROOT, working
from turnfsm.runtime.demo.words import words
from turnfsm.store import Batch, SqliteStore


def demo(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m room` with this environment alone."""
    known = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "room", "-o", str(tmp_path / "out")],
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_without_a_server_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no livekit-server\n  = help: `make room-server`")
    assert "Traceback" not in done.stderr


def test_a_binary_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = demo(tmp_path, LIVEKIT_SERVER="/nowhere/livekit-server")
    assert done.returncode == 2
    assert "LIVEKIT_SERVER=/nowhere/livekit-server: there is no such program" in done.stderr


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    port = free_port()
    done = demo(tmp_path, LIVEKIT_URL=f"ws://127.0.0.1:{port}")
    assert done.returncode == 2
    assert f"error: no LiveKit server answers at 127.0.0.1:{port}" in done.stderr


def test_a_program_that_is_no_server_is_an_error_at_once(tmp_path: Path) -> None:
    done = demo(tmp_path, LIVEKIT_SERVER="/bin/false")
    assert done.returncode == 2
    assert "livekit-server ends at once" in done.stderr


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


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "error: LIVEKIT_URL is not set\n"),
        ({"TURNFSM_HEALTH_PORT": "eight"}, "error: TURNFSM_HEALTH_PORT is 'eight'\n  = help: a n"),
    ],
    ids=["no server", "no number"],
)
def test_the_worker_says_what_it_lacks(environment: dict[str, str], said: str) -> None:
    """In one error, before anything is started."""
    pytest.importorskip("piper")
    known = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(AGENT), "start"],
        env={**known, **environment}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr


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
