"""Sessions that releases have stored: each later turnfsm continues them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from turnfsm.livekit import on_interruption
from turnfsm.store import Batch, SqliteStore

from .play import ROOM, Guest, silent

RELEASES = sorted(Path(__file__).parents[1].joinpath("versions").glob("*/session.jsonl"))


@pytest.mark.parametrize("stored", RELEASES, ids=lambda path: path.parent.name)
def test_a_session_that_a_release_has_stored_is_continued(stored: Path, tmp_path: Path) -> None:
    """Its worker died while a tool ran and a turn was deferred; another turn was replied to."""
    guest = Guest(tmp_path, mark=on_interruption("hold"))
    store = SqliteStore(guest.path)
    epoch = store.acquire(ROOM).epoch
    store.append([Batch(ROOM, epoch, 1, tuple(stored.read_text().splitlines()))])
    store.close()
    stage = guest.stage(silent())
    outcome = stage.run(12.0)
    assert [heard.text for heard in outcome.heard] == [
        "The book is perhaps arranged. With pleasure."
    ], outcome.timeline()
    session: Any = stage.session
    assert {how: n for how, n in session.user_turns.items() if n} == {"replied": 2}
