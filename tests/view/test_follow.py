"""Journals that are shown while they are written, without a server."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from turnfsm.fsm import load_flow
from turnfsm.runtime.view.follow import CUT_OFF, Folder
from turnfsm.runtime.view.hub import Feed, Hub

HEADER = {"journal": 1, "flow": "turn", "initial": "listening"}
NOTE = {"seq": 1, "t": 1.0, "note": "message", "data": {"role": "user"}}


def line(record: object) -> bytes:
    return json.dumps(record).encode() + b"\n"


def rows(hub: Hub) -> list[int]:
    """How many records of each journal are shown."""
    return [len(conversation.rows(0)[1]) for conversation in hub.conversations.values()]


def test_journals_are_shown_as_far_as_whole_lines_are_there(tmp_path: Path) -> None:
    """New files are found, and one that is not there for a moment goes on where it was."""
    hub = Hub()
    folder = Folder(tmp_path, hub, load_flow)
    first, away = tmp_path / "a.jsonl", tmp_path / "a.away"
    first.write_bytes(line(HEADER) + line(NOTE) + line(NOTE | {"seq": 2})[:20])
    assert folder.look() == []
    assert rows(hub) == [1]
    with first.open("ab") as file:
        file.write(line(NOTE | {"seq": 2})[20:])
    (tmp_path / "b.jsonl").write_bytes(line(HEADER) + line(NOTE))
    first.rename(away)
    assert folder.look() == []
    assert rows(hub) == [1, 1]
    away.rename(first)
    assert folder.look() == []
    assert rows(hub) == [2, 1]


def test_a_file_that_is_no_journal_is_named_once(tmp_path: Path) -> None:
    """What was shown of it before stays, and has ended."""
    hub = Hub()
    folder = Folder(tmp_path / "a.jsonl", hub, load_flow)
    (tmp_path / "a.jsonl").write_bytes(line(HEADER) + line(NOTE))
    assert folder.look() == []
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"nonsense\n" + line(NOTE | {"seq": 2}))
    [trouble] = folder.look()
    assert "a.jsonl" in trouble
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(line(NOTE | {"seq": 3}))
    assert folder.look() == []
    (shown,) = hub.conversations.values()
    assert (shown.ended, shown.opened()["damage"], rows(hub)) == (True, trouble, [1])


def test_a_record_that_cannot_be_shown_does_not_end_the_session() -> None:
    """The page says so; the records after it are shown."""
    hub = Hub()
    feed = Feed(hub, load_flow("turn"))
    for record in (HEADER, {"seq": "one"}, NOTE):
        feed.write(record)
    assert feed.drain()
    (shown,) = hub.conversations.values()
    assert str(shown.trouble).startswith("a record cannot be shown: ")
    assert (shown.ended, rows(hub)) == (False, [1])


CLOSED = {"seq": 2, "t": 9.0, "note": "closed", "data": {"reason": "participant_disconnected"}}


def shown(tmp_path: Path, *records: object, age: float = 0.0) -> dict[str, object]:
    """How a journal is listed that was last written so many seconds ago."""
    path, hub = tmp_path / "a.jsonl", Hub()
    path.write_bytes(b"".join(line(record) for record in (HEADER, *records)))
    os.utime(path, (time.time() - age,) * 2)
    Folder(tmp_path, hub, load_flow).look()
    [conversation] = hub.conversations.values()
    return {**conversation.listed(), "now": conversation.now}


def test_a_journal_whose_session_has_closed_is_not_live(tmp_path: Path) -> None:
    """Its clock stands at the close, and the page says why it has closed."""
    told = shown(tmp_path, NOTE, CLOSED)
    assert (told["ended"], told["now"]) == (True, 9.0)
    assert told["how"] == "the session closed: participant_disconnected"


def test_a_journal_that_nobody_has_written_to_for_long_is_cut_off(tmp_path: Path) -> None:
    """Its worker was killed. One that was written to a moment ago is live."""
    told = shown(tmp_path, NOTE, age=CUT_OFF + 1)
    assert (told["ended"], told["now"]) == (True, 1.0)
    assert told["how"] == "cut off: the session has not closed"
    assert not shown(tmp_path, NOTE, age=CUT_OFF - 60)["ended"]


def test_a_journal_that_goes_on_is_live_again(tmp_path: Path) -> None:
    """Nothing was written for long, and then something was."""
    path, hub = tmp_path / "a.jsonl", Hub()
    path.write_bytes(line(HEADER) + line(NOTE))
    os.utime(path, (time.time() - CUT_OFF - 1,) * 2)
    folder = Folder(tmp_path, hub, load_flow)
    folder.look()
    [conversation] = hub.conversations.values()
    assert conversation.ended
    with path.open("ab") as file:
        file.write(line(NOTE | {"seq": 2, "t": 900.0}))
    folder.look()
    assert not conversation.ended
