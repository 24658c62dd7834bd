"""Serve the page of examples/room, LiveKit's client for browsers, and a token for each visitor."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from attrs import field, frozen

from .build import cache
from .server import RoomServer
from .worker import ROOT, working

__all__ = ["CLIENT", "browser_client", "page_served", "talk"]

CLIENT = "livekit-client@2.23.0"
_PAGE = ROOT / "examples" / "room" / "index.html"


@frozen
class Page:
    """The address of the page."""

    url: str
    requests: list[str] = field(factory=list)


def browser_client() -> Path | None:
    """LiveKit's client for browsers, from npm. It is installed once. None without npm."""
    npm, folder = shutil.which("npm"), cache() / "room-node"
    script = folder / "node_modules/livekit-client/dist/livekit-client.umd.js"
    pinned = folder / f"{CLIENT}.installed"
    if pinned.is_file() and script.is_file():
        return script
    if npm is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ["--silent", "--no-fund", "--no-audit", "--ignore-scripts"]
    command = [npm, "install", *quiet, "--prefix", str(folder), CLIENT]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        return None
    pinned.touch()
    return script


@contextmanager
def page_served(server: RoomServer, port: int = 0) -> Iterator[Page]:
    """Serve the page at a port of this machine, with a separate room for each visitor."""
    client, requests = browser_client(), list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            requests.append(path)
            if path in ("/", "/index.html"):
                self._send(_PAGE.read_bytes(), "text/html; charset=utf-8")
            elif path == "/livekit-client.umd.js" and client is not None:
                self._send(client.read_bytes(), "text/javascript")
            elif path == "/connection.json":
                room = f"talk-{uuid.uuid4().hex[:8]}"
                here = {"url": server.url, "token": server.token(room, "caller")}
                self._send(json.dumps(here).encode(), "application/json")
            else:
                self.send_error(404)

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        try:
            yield Page(f"http://localhost:{http.server_port}/", requests)
        finally:
            http.shutdown()
            thread.join()


def talk(server: RoomServer, port: int) -> int:
    """Serve until the worker ends or Ctrl-C is pressed."""
    with working(server) as worker, page_served(server, port) as page:
        print(f"open {page.url} and talk; Ctrl-C ends it", flush=True)
        worker.process.wait()
    print("error: the worker has ended", file=sys.stderr)
    return 2
