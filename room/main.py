"""The demo over WebRTC: a LiveKit room or a Pipecat pipeline, and a recorded caller, or you in a
browser."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import uuid
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.journal import read_journal
from turnfsm.runtime.cli._streams import quiet_logs
from turnfsm.runtime.demo.checks import Result
from turnfsm.runtime.demo.speech import write_conversation

from .build import ServerMissing
from .caller import Caller
from .hold import Held, caller_records, hold, lines
from .judge import judge
from .machine import Busy, judged
from .person import Person
from .server import RoomServer, here_or_elsewhere
from .talk import talk
from .worker import Worker, working

__all__ = ["converse", "converse_with_pipecat", "main"]

_CLOSED = 60.0  # seconds within which a session without its caller closes


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if all checks pass, 1 if not, 2 if it cannot run, 3 if other processes use the
    CPU."""
    parser = argparse.ArgumentParser(prog="python -m room", description=__doc__)
    parser.add_argument("what", nargs="?", default="demo", choices=["demo", "talk"])
    parser.add_argument("--host", default="livekit", choices=["livekit", "pipecat"])
    parser.add_argument("--port", type=int, default=8080, help="of the page, for talk")
    parser.add_argument("-o", "--out", type=Path, default=Path("room-out"))
    options = parser.parse_args(arguments)
    logging.getLogger("livekit").setLevel(logging.WARNING)
    try:
        if options.what == "talk" and options.host == "pipecat":
            _pipecat().talk(options.port)
            return 0
        if options.what == "talk":
            with here_or_elsewhere() as server:
                return talk(server, options.port)
        options.out.mkdir(parents=True, exist_ok=True)
        print(judged(lambda: _as_declared(options.out, options.host)))
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


def _as_declared(out: Path, host: str) -> str:
    """Play the conversation. Returns the checks, or raises AssertionError if one fails."""
    if host == "pipecat":
        results = converse_with_pipecat(out)
    else:
        journals = {"TURNFSM_JOURNALS": str(out.resolve())}
        with here_or_elsewhere() as server, working(server, environment=journals) as worker:
            results = converse(server, worker, out)
    summary = "\n".join(map(str, results))
    summary += f"\n\n{out}: conversation.wav, journal.jsonl, caller.jsonl, worker.jsonl"
    if any(result.ok is False for result in results):
        raise AssertionError(summary)
    return summary


def converse(server: RoomServer, worker: Worker, out: Path) -> list[Result]:
    """Play the whole conversation in a room, write it to the folder, and check it.

    The worker's journals must go to the same folder.
    """
    _clear(out)
    caller, held = asyncio.run(_call(server))
    worker.wait_for("process exiting", _CLOSED)
    return _written(out, caller, held, worker.lines, worker.errors)


def converse_with_pipecat(out: Path) -> list[Result]:
    """Play the whole conversation with a pipeline, write it to the folder, and check it."""
    _clear(out)
    caller, held, log = _pipecat().call(out)
    errors = [line for line in log if line.startswith(("ERROR", "CRITICAL"))]
    return _written(out, caller, held, log, errors, {"preemptive_generation"})


def _pipecat() -> Any:
    """Its calls; Pipecat may be missing."""
    try:
        with quiet_logs():
            return import_module("room.pipecat.call")
    except ImportError as error:
        raise TurnfsmError(f"error: {error}\n  = help: make room-pipecat") from error


def _clear(out: Path) -> None:
    for old in out.glob("*.jsonl"):
        old.unlink()


def _written(
    out: Path,
    caller: Person,
    held: Held,
    log: Sequence[object],
    errors: Sequence[str],
    never_posted: Collection[str] = (),
) -> list[Result]:
    (fresh,) = out.glob("*.jsonl")  # of the one session
    journal = fresh.rename(out / "journal.jsonl")
    records = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    write_conversation(out / "conversation.wav", caller.spoken(), caller.ear.track())
    _write(out / "caller.jsonl", list(caller_records(caller, held)))
    _write(out / "worker.jsonl", log)
    entries = read_journal(journal)
    return asyncio.run(judge(caller, held, entries, records, errors, never_posted))


async def _call(server: RoomServer) -> tuple[Caller, Held]:
    script = await asyncio.to_thread(lines)
    async with Caller(server, f"demo-{uuid.uuid4().hex[:8]}") as caller:
        return caller, await hold(caller, script)


def _write(path: Path, records: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
