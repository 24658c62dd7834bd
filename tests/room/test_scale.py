"""Two servers that share a Redis: a worker at one of them serves the callers of both."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from room.caller import Caller
from room.judge import transcribed
from room.server import free_port, serving
from room.worker import working
from turnfsm.runtime.demo.speech import PCM
from turnfsm.runtime.demo.words import words

pytestmark = pytest.mark.room


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A Redis of this test's own, with nothing on disk."""
    port = free_port()
    memory = ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", str(folder)]
    command = ["redis-server", "--port", str(port), *memory]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            asked = ["redis-cli", "-p", str(port), "ping"]
            if subprocess.run(asked, capture_output=True, check=False).stdout == b"PONG\n":
                break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.usefixtures("server")
async def test_a_worker_at_one_server_serves_a_caller_at_the_other(
    clips: Mapping[str, PCM], tmp_path: Path
) -> None:
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        pytest.skip("there is no Redis: apt-get install redis-server")
    with (
        redis(tmp_path) as shared,
        serving(redis=shared) as here,
        serving(redis=shared) as there,
        working(here) as worker,
    ):
        assert here.url != there.url
        async with Caller(there, "far-away") as caller:
            await caller.agent_comes()
            await caller.say(clips["command"])
            await caller.text_seen("I have reached the place.")
            await caller.silence(0.6)
        heard = await transcribed(caller.ear.track(), caller.ear.sounds())
        assert "reached the place" in " ".join(words(" ".join(heard)))
        assert worker.serves("far-away")
        assert worker.errors == []
