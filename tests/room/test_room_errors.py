"""What is said when a server, a key, a port or a program is wrong: one error, with a remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from room.build import ServerMissing
from room.ear import Sounding
from room.judge import overlaps
from room.server import RoomServer, free_port, serving
from room.worker import ROOT, working


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
        pytest.raises(TimeoutError, match=r"LIVEKIT_API_KEY"),
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
        pytest.raises(TimeoutError, match=r"address already in use"),
        working(server, environment={"TURNFSM_HEALTH_PORT": taken}),
    ):
        pass


@pytest.mark.room
def test_a_port_that_is_in_use_is_an_error_of_the_server(server: RoomServer) -> None:
    taken = int(server.url.rpartition(":")[2])
    with pytest.raises(ServerMissing, match="Address already in use"), serving(port=taken):
        pass


def test_the_judge_finds_where_state_and_sound_differ() -> None:
    """Within the slack both ways; what is longer is named with its time."""
    heard = [Sounding(1.2, 3.0), Sounding(6.0, 7.0)]
    assert overlaps([Sounding(1.0, 2.9), Sounding(5.8, 7.1)], heard, 0.3) == []
    assert overlaps([Sounding(1.0, 3.5)], heard, 0.3) == [
        "speaking, not heard at 3.30 s",
        "heard, not speaking at 6.00 s",
    ]
