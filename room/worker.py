"""A worker process: an agent's file, as LiveKit's command line runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import define, field

from .server import RoomServer, free_port

__all__ = ["AGENT", "ROOT", "Worker", "working"]

ROOT = Path(__file__).parents[1]
AGENT = ROOT / "examples" / "room" / "agent.py"
_REGISTERED = 120.0  # seconds; loading the models is slow on a busy machine


@define
class Worker:
    """A worker that has registered with the server."""

    process: subprocess.Popen[str]
    port: int
    lines: list[Mapping[str, Any]] = field(factory=list)
    _more: threading.Condition = field(factory=threading.Condition)

    def add(self, line: str) -> None:
        """Add a line of the log."""
        try:
            entry = json.loads(line)
        except ValueError:
            entry = line
        if not isinstance(entry, dict):  # a traceback, or a warning of Python's own
            entry = {"level": "RAW", "message": line.rstrip()}
        with self._more:
            self.lines.append(entry)
            self._more.notify_all()

    def wait_for(
        self, message: str | tuple[str, ...], seconds: float = _REGISTERED, **also: str
    ) -> Mapping[str, Any]:
        """The first line of the log with one of these messages and these fields. Raises
        TimeoutError with the log."""
        messages = (message,) if isinstance(message, str) else message
        end = time.monotonic() + seconds
        seen = 0
        with self._more:
            while True:
                for entry in self.lines[seen:]:
                    said = str(entry.get("message", ""))
                    if any(one in said for one in messages) and also.items() <= entry.items():
                        return entry
                seen = len(self.lines)
                ended = self.process.poll() is not None
                if ended and (said := self._said_at_its_end()):
                    raise TimeoutError(said)
                if ended or (left := end - time.monotonic()) <= 0:
                    tail = "\n".join(str(line)[:400] for line in self.lines[-20:])
                    why = f"ended with {self.process.returncode}" if ended else "still runs"
                    raise TimeoutError(f"no line {message!r}; the worker {why}:\n{tail}")
                self._more.wait(min(left, 0.5))

    def _said_at_its_end(self) -> str:
        """The error with which the agent's file has ended, and its remedy."""
        raw = [str(line["message"]) for line in self.lines if line.get("level") == "RAW"]
        return "\n".join(line for line in raw if line.startswith(("error: ", "  = help: ")))

    def job(self, room: str) -> str:
        """The id of the job that serves a room."""
        return next(str(line["job_id"]) for line in self.lines if line.get("room") == room)

    def serves(self, room: str) -> bool:
        """Whether it has the job of a room."""
        return any(line.get("room") == room for line in list(self.lines))

    @property
    def errors(self) -> list[str]:
        """Everything that was logged as an error, and every traceback."""
        return self.errors_of()

    def errors_of(self, job: str = "") -> list[str]:
        """The errors of one job."""
        bad = ("ERROR", "CRITICAL")
        # from LiveKit's SDK, when the server has deleted a room
        hung_up = ("closed unexpectedly", "failed to send session event")
        return [
            str({"error": line.get("message", line), "why": line.get("exc_info", "")})
            for line in list(self.lines)
            if (line.get("level") in bad or "Traceback" in str(line.get("message", "")))
            and (not job or line.get("job_id", job) == job)
            and not str(line.get("message", "")).partition("\n")[0].endswith(hung_up)
        ]

    def terminate(self) -> None:
        """Ask it to finish its calls, and to accept no new ones."""
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def working(
    server: RoomServer,
    agent: Path = AGENT,
    *,
    environment: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Iterator[Worker]:
    """Run the agent's file. At the end, stop it with everything that it started.

    Raises:
        TimeoutError: It does not register; the message has its log.
    """
    port = free_port()
    known = {"TURNFSM_HEALTH_PORT": str(port), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [*prefix, sys.executable, str(agent), "start"],
        env={
            **os.environ,
            **server.environment,
            **known,
            "PYTHONPATH": path,
            **(environment or {}),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    worker = Worker(process, port)
    reader = threading.Thread(target=_read, args=(worker,), daemon=True)
    reader.start()
    try:
        _registered(worker, server)
        yield worker
    finally:
        _end(process)
        reader.join(5)
        assert process.stdout is not None
        process.stdout.close()


def _registered(worker: Worker, server: RoomServer) -> None:
    line = worker.wait_for(("registered worker", "failed to connect to livekit", "worker failed"))
    if line["message"] == "registered worker":
        return
    why = str(line.get("error") or line.get("exc_info", "")).strip().splitlines()
    raise TimeoutError(
        f"the worker cannot serve {server.url}: {why[-1] if why else line['message']}\n"
        "  = help: LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET must be those of a server "
        "that runs"
    )


def _read(worker: Worker) -> None:
    assert worker.process.stdout is not None
    for line in worker.process.stdout:
        worker.add(line)


def _end(process: subprocess.Popen[str]) -> None:
    """End it and its job processes, which are a process group."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(3)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
