"""The room demo: a server, a worker, and a recorded caller, or you in a browser."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.journal import read_journal
from turnfsm.runtime.demo.checks import Result
from turnfsm.runtime.demo.speech import write_conversation

from .build import ServerMissing
from .caller import Caller
from .hold import Held, caller_records, hold, lines
from .judge import judge
from .machine import Busy, judged
from .server import RoomServer, here_or_elsewhere
from .talk import talk
from .worker import Worker, working

__all__ = ["converse", "main"]

_CLOSED = 60.0  # seconds within which a session without its caller closes


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if all checks pass, 1 if not, 2 if it cannot run, 3 if other processes use the
    CPU."""
    parser = argparse.ArgumentParser(prog="python -m room", description=__doc__)
    parser.add_argument("what", nargs="?", default="demo", choices=["demo", "talk"])
    parser.add_argument("--port", type=int, default=8080, help="of the page, for talk")
    parser.add_argument("-o", "--out", type=Path, default=Path("room-out"))
    options = parser.parse_args(arguments)
    logging.getLogger("livekit").setLevel(logging.WARNING)
    try:
        if options.what == "talk":
            with here_or_elsewhere() as server:
                return talk(server, options.port)
        options.out.mkdir(parents=True, exist_ok=True)
        print(judged(lambda: _as_declared(options.out)))
    except AssertionError as error:
        print(error)
        return 1
    except Busy as busy:
        print(f"error: {busy}", file=sys.stderr)
        return 3
    except (ServerMissing, TurnfsmError, TimeoutError, OSError) as error:
        print(str(error) if str(error).startswith("error") else f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _as_declared(out: Path) -> str:
    """Play the conversation. Returns the checks, or raises AssertionError if one fails."""
    journals = {"TURNFSM_JOURNALS": str(out.resolve())}
    with here_or_elsewhere() as server, working(server, environment=journals) as worker:
        results = converse(server, worker, out)
    told = "\n".join(map(str, results))
    told += f"\n\n{out}: conversation.wav, journal.jsonl, caller.jsonl, worker.jsonl"
    if any(result.ok is False for result in results):
        raise AssertionError(told)
    return told


def converse(server: RoomServer, worker: Worker, out: Path) -> list[Result]:
    """Play the whole conversation, write it to the folder, and check it.

    The worker's journals must go to the same folder.
    """
    for old in out.glob("*.jsonl"):
        old.unlink()
    caller, held = asyncio.run(_call(server))
    worker.wait_for("process exiting", _CLOSED)
    (fresh,) = out.glob("*.jsonl")  # of the one session
    journal = fresh.rename(out / "journal.jsonl")
    records = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    write_conversation(out / "conversation.wav", caller.mic.track(), caller.ear.track())
    _write(out / "caller.jsonl", list(caller_records(caller, held)))
    _write(out / "worker.jsonl", worker.lines)
    return asyncio.run(judge(caller, held, read_journal(journal), records, worker.errors))


async def _call(server: RoomServer) -> tuple[Caller, Held]:
    script = await asyncio.to_thread(lines)
    async with Caller(server, f"demo-{uuid.uuid4().hex[:8]}") as caller:
        return caller, await hold(caller, script)


def _write(path: Path, records: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
