"""The demo's conversation in a real room: server, worker, recorded caller, WebRTC."""

from __future__ import annotations

from pathlib import Path

import pytest

from room.main import converse
from room.server import RoomServer
from room.worker import working

pytestmark = pytest.mark.room


def test_the_conversation_of_the_demo_goes_as_declared_in_a_room(
    server: RoomServer, tmp_path: Path
) -> None:
    with working(server, environment={"TURNFSM_JOURNALS": str(tmp_path)}) as worker:
        results = converse(server, worker, tmp_path)
    wrong = [str(result) for result in results if not result.ok]
    assert not wrong, "\n".join(wrong)
    assert len(results) == 19
