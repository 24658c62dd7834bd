"""A LiveKit server for one run."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from attrs import field, frozen
from livekit import api

from .build import HOW, ServerMissing, binary

__all__ = ["DEV_KEY", "DEV_SECRET", "RoomServer", "free_port", "here_or_elsewhere", "serving"]

DEV_KEY = "devkey"
DEV_SECRET = "dev-secret-for-this-machine-only-not-for-use"  # never a real one
ANSWERS = 5.0  # seconds within which a running server must answer first
_READY = 20.0  # seconds
_CONFIG = """
port: {port}
bind_addresses: [{addresses}]
rtc:
  tcp_port: {tcp}
  {udp}
  node_ip: {node}
  use_external_ip: false
  enable_loopback_candidate: true
keys:
  {key}: {secret}
room:
  empty_timeout: 30
  departure_timeout: 20
logging:
  level: info
  json: true
{more}
"""


@frozen
class RoomServer:
    """A running server, and its keys."""

    url: str
    key: str = DEV_KEY
    secret: str = field(default=DEV_SECRET, repr=False)
    log: Path | None = None

    def token(self, room: str, identity: str) -> str:
        """An access token for a participant."""
        grants = api.VideoGrants(room_join=True, room=room, can_update_own_metadata=True)
        token = api.AccessToken(self.key, self.secret).with_identity(identity).with_grants(grants)
        return token.with_ttl(timedelta(hours=1)).to_jwt()

    async def close(self, room: str) -> None:
        """Delete a room."""
        async with api.LiveKitAPI(self.url, self.key, self.secret) as client:
            await client.room.delete_room(api.DeleteRoomRequest(room=room))

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which LiveKit's tools find the server."""
        return {
            "LIVEKIT_URL": self.url,
            "LIVEKIT_API_KEY": self.key,
            "LIVEKIT_API_SECRET": self.secret,
        }


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A free port."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _unused(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ServerMissing(
                f"port {port} cannot be served: {error.strerror}\n"
                "  = help: end the program that uses it, or take another one"
            ) from error
    return port


@contextmanager
def here_or_elsewhere() -> Iterator[RoomServer]:
    """The server of LIVEKIT_URL, or else a new one.

    Raises:
        ServerMissing: There is no server, or it does not answer.
    """
    url = os.environ.get("LIVEKIT_URL")
    if not url:
        with serving() as server:
            yield server
        return
    _wait(url.replace("ws", "http", 1), None, ANSWERS)
    key = os.environ.get("LIVEKIT_API_KEY", DEV_KEY)
    yield RoomServer(url, key, os.environ.get("LIVEKIT_API_SECRET", DEV_SECRET))


@contextmanager
def serving(
    node: str = "127.0.0.1",
    *,
    redis: str = "",
    port: int = 0,
    prefix: Sequence[str] = (),
) -> Iterator[RoomServer]:
    """Start a server with the dev key, at an address of this machine.

    Args:
        node: The address that media go to.
        redis: host:port of a Redis that several servers share.
        port: For signalling; 0 takes a free one.
        prefix: What the command begins with, to run it in a network namespace.

    Raises:
        ServerMissing: There is no binary, or it does not start.
    """
    program, port = binary(), _unused(port) if port else free_port()
    config = _CONFIG.format(
        port=port,
        addresses=", ".join(dict.fromkeys(["127.0.0.1", node])),
        tcp=free_port(),
        # a single UDP port does not work through a TUN device; a namespace has its own ports
        udp="port_range_start: 50100\n  port_range_end: 50199"
        if prefix
        else f"udp_port: {free_port(socket.SOCK_DGRAM)}",
        node=node,
        key=DEV_KEY,
        secret=DEV_SECRET,
        more=f"redis:\n  address: {redis}" if redis else "",
    )
    with tempfile.TemporaryDirectory(prefix="turnfsm-room-") as folder:
        log = Path(folder, "server.log")
        Path(folder, "config.yaml").write_text(config, encoding="utf-8")
        with log.open("wb") as out:
            command = [*prefix, str(program), "--config", str(Path(folder, "config.yaml"))]
            process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            _wait(f"http://{node}:{port}", process, _READY, log)
            yield RoomServer(f"ws://{node}:{port}", log=log)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(
    url: str, process: subprocess.Popen[bytes] | None, seconds: float, log: Path | None = None
) -> None:
    end = time.monotonic() + seconds
    why = ""
    while time.monotonic() < end:
        if process is not None and process.poll() is not None:
            last = log.read_text("utf-8", "replace").strip().splitlines() if log else []
            raise ServerMissing(f"livekit-server ends at once: {last[-1] if last else ''}")
        try:
            with urllib.request.urlopen(url, timeout=1.0):
                return
        except urllib.error.HTTPError:
            return  # it answers
        except OSError as error:
            why = str(getattr(error, "reason", error))
        time.sleep(0.05)
    raise ServerMissing(
        f"no LiveKit server answers at {urlsplit(url).netloc}: {why}\n  = help: {HOW}"
    )
