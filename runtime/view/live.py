"""Shows sessions while they run: the page, and how a session gets onto it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import Flow
from turnfsm.runtime.arguments import check_sinks
from turnfsm.runtime.journal import JsonlSink, Sink

if TYPE_CHECKING:
    from .hub import Feed  # it draws flows: imported when a session is shown
    from .server import Server

__all__ = ["VARIABLE", "LiveView", "sinks_of", "view_of"]

T = TypeVar("T")

logger = logging.getLogger("turnfsm")

VARIABLE = "TURNFSM_VIEW"
"""The environment variable that shows every session: 1, a port, or host:port."""

_BEAT = 1.0
"""Seconds after which a viewer gets the current time even if nothing has happened."""

_LIST_EVERY = 1.0
"""Seconds between two lists of sessions: their figures change all the time."""

_MORE_PORTS = 20
"""The number of ports to try after a busy one. A worker runs each job in a process of its own."""


class LiveView:
    """A page in the browser that shows sessions while they run. Several sessions may share one.

    Args:
        host: The address on which it listens. If it is not loopback, the page needs the token.
        port: The port; 0 is any free one.
        token: The token; by default one is made if it is needed.
        more_ports: How many ports are tried after a busy one.

    Attributes:
        url: What to open in a browser.

    Raises:
        TurnfsmError: The address cannot be used.

    Example:
        >>> from turnfsm.livekit import LiveView, TurnSession
        >>> view = LiveView(port=0)
        >>> session = TurnSession(view=view)
        >>> view.url.startswith("http://127.0.0.1:")
        True
        >>> view.close()
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 8765,
        token: str | None = None,
        more_ports: int = 0,
    ) -> None:
        from .hub import Hub
        from .server import Server  # aiohttp

        self.hub = Hub()
        page = {"mode": "live", "title": "turnfsm: live"}
        self._server = Server(lambda: page, self._messages, host, port, token, more_ports)
        self.url = self._server.url
        self.hub.changed = self._server.ring
        self.hub.bind(self._server.loop.call_soon_threadsafe)

    def feed(self, flow: Flow, sinks: Iterable[Sink] = ()) -> Feed:
        """A sink that shows a session on this page.

        The text of the conversation is left out unless the session has a `JsonlSink` that stores
        it.
        """
        from .hub import Feed

        keeps = any(isinstance(sink, JsonlSink) and sink.redact is None for sink in sinks)
        return Feed(self.hub, flow, None if keeps else "leave_out")

    def in_server(self, job: Callable[[], T]) -> T:
        """Run a function in the server's thread, which owns the hub."""

        async def run() -> T:
            return job()

        result: T = self._server.call(run()).result()
        return result

    def close(self) -> None:
        """Stop the server. Sessions are not affected."""
        self.hub.bind(None)
        self._server.close()

    async def _messages(
        self, server: Server, key: str | None
    ) -> AsyncGenerator[dict[str, Any] | str]:
        """The messages to one viewer: the list of sessions, why others cannot be shown, one
        session, its rows, the time."""
        listed: list[dict[str, Any]] | None = None
        unread: list[str] = []
        list_at = 0.0
        shown, at, over = None, 0, False
        while True:
            news = server.news
            if (now := monotonic()) >= list_at:
                list_at = now + _LIST_EVERY
                if (sessions := list(self.hub.listed())) != listed:
                    listed = sessions
                    yield {"sessions": listed}
                if (troubles := list(self.hub.unread)) != unread:
                    unread = troubles
                    yield {"unread": unread}
            if shown is None:
                shown = self.hub.conversations.get(key) if key else self.hub.newest()
                if shown is not None:
                    yield {"open": shown.opened()}
            if shown is not None:
                at, rows = shown.rows(at)
                ended = "true" if shown.ended else "false"
                if rows or not over:
                    how = json.dumps(shown.how)
                    status = f'"now":{shown.now:.3f},"ended":{ended},"how":{how}'
                    yield f'{{"rows":[{",".join(rows)}],{status}}}'
                if at < len(shown):
                    continue
                over = shown.ended
            try:
                async with asyncio.timeout(_BEAT):
                    await news.wait()
                await asyncio.sleep(0.03)  # simultaneous changes are sent together
            except TimeoutError:
                continue


_views: dict[tuple[str, int], LiveView] = {}
_lock = threading.Lock()


def view_of(view: LiveView | bool | str | None) -> LiveView | None:
    """The page that an argument or the environment variable requests; one for each address.

    Args:
        view: True is the default address. Text is a port or ``host:port``. None uses the variable.
            False is no page.

    Raises:
        TurnfsmError: It is none of these.
    """
    if isinstance(view, LiveView):
        return view
    asked = os.environ.get(VARIABLE, "") if view is None else view
    if asked is False or (isinstance(asked, str) and asked.strip().lower() in _OFF):
        return None
    address = _address(asked, f"{VARIABLE}={asked}" if view is None else f"view={view!r}")
    with _lock:
        if address not in _views:
            try:
                _views[address] = LiveView(*address, more_ports=_MORE_PORTS)
            except TurnfsmError as error:  # a session must not end because it cannot be shown
                logger.warning("the session is not shown: %s", error)
                return None
            logger.warning("turnfsm shows the sessions of this process at %s", _views[address].url)
        return _views[address]


def sinks_of(
    flow: Flow, sinks: Iterable[Sink], view: LiveView | bool | str | None
) -> tuple[Sink, ...]:
    """The sinks of a session, and one for the page that shows it, as `view_of`.

    Raises:
        TurnfsmError: One of them is not a sink, or `view` is not a valid value.
    """
    checked = check_sinks(sinks)
    shown = view_of(view)
    return checked if shown is None else (*checked, shown.feed(flow, checked))


_OFF = ("", "0", "false", "no", "off")
_ON = ("1", "true", "yes", "on")


def _address(asked: Any, said: str) -> tuple[str, int]:
    if asked is True or (isinstance(asked, str) and asked.strip().lower() in _ON):
        return "127.0.0.1", 8765
    if isinstance(asked, str):
        host, _, port = asked.strip().rpartition(":")
        if port.isascii() and port.isdigit() and int(port) < 65536:
            return host.strip("[]") or "127.0.0.1", int(port)
    raise TurnfsmError(f"{said}; give True or 1, a port, or host:port, such as '127.0.0.1:8765'")
