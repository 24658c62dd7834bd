"""Playwright in a thread of its own: the loop of the tests stays free."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any


class Outside:
    """An object of Playwright's async API, called from outside of its loop as if it were sync."""

    def __init__(self, thing: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._thing = thing
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if not callable(found):
            return self._outside(found)

        def call(*args: Any, **options: Any) -> Any:
            async def inside() -> Any:
                value = found(*args, **options)
                return await value if inspect.isawaitable(value) else value

            done = asyncio.run_coroutine_threadsafe(inside(), self._loop)
            return self._outside(done.result(120))

        return call

    def _outside(self, value: Any) -> Any:
        ours = type(value).__module__.startswith("playwright.async_api")
        return Outside(value, self._loop) if ours else value


class Browser:
    """Chromium under Playwright, from `open` to `close`."""

    def __init__(self, executable: str, flags: list[str]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._play: Any = None
        self.chromium = Outside(self._run(self._launch(executable, flags)), self._loop)

    def _run(self, job: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(job, self._loop).result(120)

    async def _launch(self, executable: str, flags: list[str]) -> Any:
        from playwright.async_api import async_playwright

        self._play = await async_playwright().start()
        return await self._play.chromium.launch(executable_path=executable, args=flags)

    def close(self) -> None:
        """End the browser and the thread."""
        self.chromium.close()
        self._run(self._play.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
