"""Headless Chromium with a recorded microphone, driven over its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from attrs import define

__all__ = ["Browser", "browsing", "chromium"]

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"),
    *("--autoplay-policy=no-user-gesture-required", "--window-size=760,760"),
    "--remote-debugging-port=0",
)
_START = 30.0  # seconds


def chromium() -> str | None:
    """The path of Chromium, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


@define
class Browser:
    """One page."""

    _socket: aiohttp.ClientWebSocketResponse
    _number: int = 0

    async def run(self, script: str) -> Any:
        """Evaluate a JavaScript expression. A promise is awaited."""
        options = {"expression": script, "awaitPromise": True, "returnByValue": True}
        done = await self._ask("Runtime.evaluate", **options)
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"].get("exception", done)))
        return done["result"].get("value")

    async def until(self, script: str, seconds: float = 30.0) -> None:
        """Wait until an expression is true. Raises TimeoutError with the content of the page."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not await self.run(script):
            if loop.time() > end:
                shown = await self.run("document.body.innerText")
                raise TimeoutError(f"not in {seconds:g} s: {script}\nthe page shows:\n{shown}")
            await asyncio.sleep(0.1)

    async def screenshot(self) -> bytes:
        """The page as a PNG."""
        done = await self._ask("Page.captureScreenshot", format="png")
        return base64.b64decode(done["data"])

    async def _ask(self, method: str, **given: Any) -> Any:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": given})
        while True:
            answer = await self._socket.receive_json()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]


@asynccontextmanager
async def browsing(url: str, microphone: Path) -> AsyncIterator[Browser]:
    """A browser on a page. Its microphone plays a WAV file once, from the time at which it is
    opened."""
    program = chromium()
    assert program is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            program,
            *_FLAGS,
            f"--user-data-dir={profile}",
            f"--use-file-for-fake-audio-capture={microphone}%noloop",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            port = await _port(Path(profile, "DevToolsActivePort"))
            async with aiohttp.ClientSession() as http:
                where = f"http://127.0.0.1:{port}/json/new?{url}"
                async with http.put(where) as answer:
                    target = (await answer.json(content_type=None))["webSocketDebuggerUrl"]
                async with http.ws_connect(target, max_msg_size=0) as socket:
                    browser = Browser(socket)
                    await browser.until(
                        "location.href !== 'about:blank' && document.readyState === 'complete'"
                    )
                    yield browser
        finally:
            process.terminate()
            await process.wait()


async def _port(file: Path) -> int:
    for _ in range(round(_START / 0.1)):
        if told := await asyncio.to_thread(_read, file):
            return int(told.split()[0])
        await asyncio.sleep(0.1)
    raise TimeoutError(f"Chromium did not start in {_START:g} s")


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""
