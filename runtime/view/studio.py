"""A page for editing a flow. It follows the file; the simulator runs in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .flow_page import FlowFile

if TYPE_CHECKING:
    from aiohttp import web

    from .server import Server

__all__ = ["FlowStudio"]

logger = logging.getLogger("turnfsm")

_LOOK = 0.25
"""Seconds between two checks of the file."""

_BEAT = 5.0


class FlowStudio:
    """Serves the page of a flow, and proves the flow again whenever its file is saved.

    `name` is a file, or the name of a shipped flow; the address and `url` are as for `LiveView`.
    """

    def __init__(
        self, name: str, host: str = "127.0.0.1", port: int = 8765, token: str | None = None
    ) -> None:
        from .server import Server  # aiohttp

        self._file = FlowFile(name)
        self._seen = self._stamps()
        posts = {"/simulate": self._simulate}
        self._server = Server(self._page, self._messages, host, port, token, posts=posts)
        self.url = self._server.url
        self._watch = self._server.call(self._watching())

    def close(self) -> None:
        """Stop the server."""
        self._server.close()

    async def _watching(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            stamps = self._stamps()
            if stamps == self._seen:
                continue
            self._seen = stamps
            try:
                await asyncio.to_thread(self._file.read)
            except Exception:  # the next save is tried again
                logger.exception("%s cannot be shown", self._file.name)
                continue
            self._server.ring()

    def _stamps(self) -> dict[Path, tuple[int, int]]:
        """The flow's file, and those beside it, which it may extend."""
        path = Path(self._file.name)
        found = {}
        for file in path.parent.glob("*.y*ml") if path.suffix else ():
            try:
                stat = file.stat()
            except OSError:
                continue
            found[file] = (stat.st_mtime_ns, stat.st_size)
        return found

    def _page(self) -> dict[str, Any]:
        return {**self._file.data, "served": True}

    async def _messages(
        self, server: Server, _session: str | None
    ) -> AsyncGenerator[dict[str, Any]]:
        sent = None
        while True:
            news = server.news
            if sent is not self._file.data:
                sent = self._file.data
                yield {"flow": sent}
            try:
                async with asyncio.timeout(_BEAT):
                    await news.wait()
            except TimeoutError:
                yield {}

    async def _simulate(self, request: web.Request) -> web.Response:
        from aiohttp import web

        try:
            asked = await request.json()
            presses = [dict(press) for press in asked["presses"]]
        except (ValueError, TypeError, KeyError):
            raise web.HTTPBadRequest(text="give {presses: [{trigger, host, stale}]}\n") from None
        simulation = self._file.simulate(presses)
        if simulation is None:
            raise web.HTTPConflict(text="the file is not a flow\n")
        return web.json_response(simulation)
