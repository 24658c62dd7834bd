"""The server of live pages. It listens on loopback, or on another address with a token."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import json
import secrets
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from time import monotonic
from typing import Any

from aiohttp import web

from turnfsm.fsm.errors import TurnfsmError

from .page import build_page

__all__ = ["Server", "is_loopback"]

_SLOWEST = 30.0
"""Seconds that a viewer may take for one message; then it is disconnected. It may connect again."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

Message = Mapping[str, Any] | str
"""A message to a viewer. A string is already JSON."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Loop(asyncio.SelectorEventLoop):
    """A loop in real time, even while the test kit's clock replaces that of the process."""

    def time(self) -> float:
        return monotonic()


class Server:
    """A server for one page and its viewers, in a thread of its own.

    Args:
        page: What the page shows when it is opened.
        messages: The messages to one viewer; takes the server, and the session that the viewer asks
            for.
        host, port: The address; port 0 is any free one.
        token: What a request must contain. If the address is not loopback, one is made if none is
            given.
        more: How many ports are tried after a busy one.
        posts: Path to handler.

    Attributes:
        news: Set when there is something new for the viewers, and then replaced.

    Raises:
        TurnfsmError: The address cannot be used.
    """

    def __init__(
        self,
        page: Callable[[], Mapping[str, Any]],
        messages: Callable[[Server, str | None], AsyncGenerator[Message]],
        host: str,
        port: int,
        token: str | None = None,
        more: int = 0,
        posts: Mapping[str, Handler] | None = None,
    ) -> None:
        self.host = host
        self.token = token or ("" if is_loopback(host) else secrets.token_urlsafe(16))
        self.loop = _Loop()
        self.news = asyncio.Event()
        self._page, self._messages, self._posts = page, messages, posts or {}
        self._runner: web.AppRunner | None = None
        self._thread = threading.Thread(target=self._run, name="turnfsm view", daemon=True)
        self._thread.start()
        try:
            self.port = self.call(self._listen(port, more)).result(10)
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """What to open in a browser."""
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104
        shown = f"[{shown}]" if ":" in shown else shown
        query = f"?token={self.token}" if self.token else ""
        return f"http://{shown}:{self.port}/{query}"

    def call(self, job: Any) -> Any:
        """Run a coroutine in the server's thread. Returns a future of its result."""
        return asyncio.run_coroutine_threadsafe(job, self.loop)

    def ring(self) -> None:
        """There is something new for the viewers. Called in the server's thread."""
        self.news.set()
        self.news = asyncio.Event()

    def close(self) -> None:
        """Stop the server and disconnect the viewers."""
        if self.loop.is_closed():
            return
        with contextlib.suppress(TimeoutError):
            self.call(self._end()).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    async def _listen(self, port: int, more: int) -> int:
        app = web.Application(middlewares=[self._guard], client_max_size=4_000_000)
        app.router.add_get("/", self._open)
        app.router.add_get("/events", self._events)
        for path, handler in self._posts.items():
            app.router.add_post(path, handler)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2
        )
        await self._runner.setup()
        for number in range(port, port + more + 1):
            try:
                site = web.TCPSite(self._runner, self.host, number)
                await site.start()
            except OSError as error:
                if error.errno == errno.EADDRINUSE and number < port + more:
                    continue
                raise _unusable(self.host, number, error) from None
            else:
                return int(self._runner.addresses[0][1])
        raise AssertionError("the last port was bound or refused")

    async def _end(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _open(self, _request: web.Request) -> web.Response:
        return web.Response(text=build_page(self._page()), content_type="text/html")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Answer with server-sent events, one for each message.

        If a viewer goes away or does not read, only its own answer ends.
        """
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            messages = self._messages(self, request.query.get("session"))
            async with contextlib.aclosing(messages) as stream:
                async for message in stream:
                    text = message if isinstance(message, str) else json.dumps(message, default=str)
                    async with asyncio.timeout(_SLOWEST):
                        await response.write(f"data: {text}\n\n".encode())
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        return response

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse forms, requests without the token, and on loopback other host names."""
        if self.token:
            given = request.query.get("token", "")
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                raise web.HTTPUnauthorized(text="open the address with its token\n")
        elif not is_loopback(_name_of(request.host)):
            raise web.HTTPForbidden(text="this server is for this machine only\n")
        if request.method == "POST" and request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="JSON only\n")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response


_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def _name_of(host: str) -> str:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return name.strip("[]")


def _unusable(host: str, port: int, error: OSError) -> TurnfsmError:
    if error.errno == errno.EADDRINUSE:
        return TurnfsmError(f"{host}:{port}: the port is in use; name another one: --port 0 is any")
    why = (error.strerror or str(error)).lower()
    return TurnfsmError(f"{host}:{port}: {why}; name an address of this machine and a free port")
