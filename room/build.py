"""Finds livekit-server, or builds it. Building needs Go.

python3 -m room.build       builds it if it is missing, and prints its path
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["HOW", "ServerMissing", "binary", "build", "cache"]

MODULE = Path(__file__).parents[1] / "tests" / "room" / "server"
PACKAGE = "github.com/livekit/livekit-server"
HOW = (
    "`make room-server` builds livekit-server (needs Go 1.26 or newer); or set LIVEKIT_SERVER to "
    "a binary, or LIVEKIT_URL to a running server"
)


class ServerMissing(Exception):
    """There is no livekit-server, or it cannot be built; the message has the remedy."""


def version() -> str:
    """The release that go.mod pins."""
    pinned = re.search(rf"{re.escape(PACKAGE)} (v\S+)", (MODULE / "go.mod").read_text("utf-8"))
    assert pinned is not None
    return pinned[1]


def cache() -> Path:
    """The folder for everything that is built or installed for the room, outside of the
    repository."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnfsm"


def _cached() -> Path:
    return cache() / f"livekit-server-{version()}"


def binary() -> Path:
    """The binary: LIVEKIT_SERVER, or the one that was built, or the one on the PATH.

    Raises:
        ServerMissing: There is none.
    """
    if named := os.environ.get("LIVEKIT_SERVER"):
        if shutil.which(named) is None:
            missing = f"LIVEKIT_SERVER={named}: there is no such program"
            raise ServerMissing(f"{missing}\n  = help: {HOW}")
        return Path(named)
    if _cached().is_file():
        return _cached()
    if found := shutil.which("livekit-server"):
        return Path(found)
    raise ServerMissing(f"there is no livekit-server\n  = help: {HOW}")


def build() -> Path:
    """Build the pinned release with Go. The first build takes some minutes.

    Raises:
        ServerMissing: There is no Go, or the build fails.
    """
    if _cached().is_file():
        return _cached()
    go = shutil.which("go")
    if go is None:
        raise ServerMissing("livekit-server cannot be built: there is no go\n  = help: " + HOW)
    print(f"building livekit-server {version()}, some minutes, once", file=sys.stderr, flush=True)
    _cached().parent.mkdir(parents=True, exist_ok=True)
    fresh = _cached().with_suffix(".new")
    command = [go, "build", "-p", "1", "-trimpath", "-ldflags", "-s -w", "-o", str(fresh)]
    polite = ["nice", "-n", "10"] if shutil.which("nice") else []
    built = subprocess.run(
        [*polite, *command, f"{PACKAGE}/cmd/server"],
        cwd=MODULE,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        why = (built.stderr.strip().splitlines() or ["go build failed"])[-1]
        raise ServerMissing(f"livekit-server cannot be built: {why}\n  = help: {HOW}")
    fresh.rename(_cached())
    return _cached()


def main() -> int:
    """Print the path of the server. Returns 2 if there is none."""
    try:
        try:
            print(binary())
        except ServerMissing:
            if os.environ.get("LIVEKIT_SERVER"):
                raise
            print(build())
    except ServerMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
