"""A worker dies in a real room, and the next one goes on with the conversation over WebRTC."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import attrs
import pytest
from livekit import api
from store.play import GREETING, SORRY
from typist import Typist

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "room"))

from supervisor import Supervisor

from room.server import RoomServer
from room.worker import Worker, working

pytestmark = pytest.mark.room

AGENT = Path(__file__).with_name("lasting.py")
PLACES = range(1, 66, 2)
WISHES = (
    (GREETING, "please book a table", "The book is"),
    ("The book is", "now call a taxi", "The taxi is"),
    ("The taxi is", "thank you very much", "With pleasure"),
)
"""What the agent says before, what the caller types, what is answered."""

ATTEMPTS = 3
"""So often the caller types a wish that no worker has got."""

ANSWERED = 60.0
"""Seconds in which a wish is answered that a worker has; so many only where none will come."""

AT_ONCE = 3
"""Rooms at a time."""

TAKEN_OVER = 2.0
"""Seconds from the dispatch of the next worker until it governs; the median, for on a busy
machine some wait for others."""


@attrs.define
class Told:
    """What a caller has read of an agent, and what came of a room."""

    record: int
    texts: list[str] = attrs.field(factory=list)
    agents: set[str] = attrs.field(factory=set)
    wrong: list[str] = attrs.field(factory=list)
    took: float = 0.0
    sent: int = 0


async def _place(server: RoomServer, folder: Path, record: int) -> Told:
    """A conversation whose first worker dies at a record."""
    room = f"crash-{record}-{uuid.uuid4().hex[:6]}"
    (folder / room).mkdir()
    (folder / room / "dies at").write_text(str(record))
    told = Told(record)
    async with Typist(server, room) as caller:
        for before, wish, answer in WISHES:
            await caller.reads(before, 12.0)
            if problem := await _asked(caller, folder / room, wish, answer):
                told.wrong.append(problem)
        told.texts, told.agents = caller.seen, caller.agents
    _judge(told, folder / room, room)
    return told


async def _asked(caller: Typist, folder: Path, wish: str, answer: str) -> str:
    """Type a wish until a worker has it; what is wrong if nobody answers it then.

    What is typed when no worker is there reaches nobody, and a worker may die before it has written
    it. What is written is to be answered.
    """
    for _ in range(ATTEMPTS):
        await caller.types(wish)
        if await caller.reads(answer, 8.0):
            return ""
        await _governed(folder / "jobs")
        if not _kept(folder, wish):
            continue
        # what was said to its end just before the death may not have reached the caller
        if await caller.reads(answer, ANSWERED) or _kept(folder, answer):
            return ""
        return f"{wish!r} was written, and never answered"
    return f"{wish!r} was typed {ATTEMPTS} times, and no worker has written it"


async def _governed(jobs: Path) -> None:
    """Until the second worker is there."""
    for _ in range(200):
        lines = _lines(jobs)
        if sum("dispatched" in line for line in lines) > 1 and "governs" in lines[-1]:
            return
        await asyncio.sleep(0.1)


def _kept(folder: Path, words: str) -> bool:
    connection = sqlite3.connect(folder / "calls.db")
    found = connection.execute("SELECT count(*) FROM record WHERE instr(body, ?)", (words,))
    kept = bool(found.fetchone()[0])
    connection.close()
    return kept


def _lines(jobs: Path) -> list[str]:
    return jobs.read_text().splitlines() if jobs.exists() else []


def _judge(told: Told, folder: Path, room: str) -> None:
    for name in ("book", "taxi"):
        path = folder / name
        done = len(path.read_text().splitlines()) if path.exists() else 0
        if done > 1:
            told.wrong.append(f"{name} was done {done} times")
    if sum(SORRY in text for text in told.texts) > 1:
        told.wrong.append("two apologies")
    connection = sqlite3.connect(folder / "calls.db")
    rows = connection.execute("SELECT epoch, body FROM record ORDER BY epoch, n").fetchall()
    connection.close()
    records = [(epoch, json.loads(body)) for epoch, body in rows]
    heard = any(e == 1 and r.get("trigger") == "playout_started" for e, r in records)
    if heard and sum(GREETING in text for text in told.texts) > 1:
        told.wrong.append("greeted twice")
    lines = [line.split() for line in (folder / "jobs").read_text().splitlines()]
    began = [float(time) for time, what, *_ in lines if what == "dispatched"]
    governs = [float(time) for time, what, *_ in lines if what == "governs"]
    if len(began) < 2 or not governs or governs[-1] < began[1]:
        told.wrong.append(f"no second worker: {lines}")
        return
    told.sent = len(began)
    told.took = governs[-1] - began[1]


def _told_wrong(results: Sequence[Told]) -> list[str]:
    return [
        f"record {t.record}: {t.wrong}; {t.sent} workers; read {t.texts}"
        for t in results
        if t.wrong
    ]


@pytest.fixture(scope="module")
def worker(
    server: RoomServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Worker, Path]]:
    """A worker whose job processes die."""
    folder = tmp_path_factory.mktemp("deadly")
    with working(server, AGENT, environment={"TURNFSM_DEADLY": str(folder)}) as worker:
        yield worker, folder


async def test_a_conversation_in_a_room_survives_its_worker(
    server: RoomServer, worker: tuple[Worker, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed with SIGKILL at 33 places; the caller stays in the room, and types on."""
    _, folder = worker
    places = asyncio.Semaphore(AT_ONCE)

    async def one(record: int) -> Told:
        async with places:
            return await _place(server, folder, record)

    async with api.LiveKitAPI(server.url, server.key, server.secret) as client:
        supervisor = Supervisor(client, "waiter")
        socket = await asyncio.start_unix_server(supervisor.watch, folder / "socket")
        watching = asyncio.ensure_future(supervisor.run())
        try:
            results = await asyncio.gather(*(one(record) for record in PLACES))
            if first := _told_wrong(results):  # what is real is wrong again
                with capsys.disabled():
                    print("\nplayed again: " + "\n".join(first))
                again = [told.record for told in results if told.wrong]
                right = [told for told in results if not told.wrong]
                results = [*right, *await asyncio.gather(*(one(record) for record in again))]
            await asyncio.sleep(3.0)  # the callers have gone, the agents follow them
        finally:
            watching.cancel()
            socket.close()
    wrong = _told_wrong(results)
    with capsys.disabled():
        took = sorted(told.took for told in results)
        half = median(took)
        print(f"\n{len(took)} places, governed after {took[0]:.2f}, {half:.2f}, {took[-1]:.2f} s")
    assert not wrong, "\n".join(wrong)
    assert half < TAKEN_OVER
