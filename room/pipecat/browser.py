"""A caller in headless Chromium, which speaks and hears over its own WebRTC."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from playwright.async_api import Page

from room.browser import browsing
from room.person import AGENT_STATE, Change, Person, Text
from turnfsm.runtime.demo.speech import PCM, RATE

__all__ = ["BrowserCaller", "calling"]

_FRAME = RATE // 100  # 10 ms


class BrowserCaller(Person):
    """A caller on the page of this package."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._said: list[tuple[float, PCM]] = []

    async def enter(self, url: str) -> None:
        """Open the page, and call the agent."""
        self.wall = time.time() - self.pace.now()
        await self._page.expose_function("heard", self._heard)
        await self._page.expose_function("read", self._read)
        await self._page.goto(url)
        await self._page.evaluate("call()")

    async def agent_comes(self, seconds: float = 60.0) -> None:
        await self.until(lambda: self.state == "listening", seconds, "no agent listened")

    async def say(self, pcm: PCM) -> float:
        self._said.append((self.pace.now(), pcm))
        await self._page.evaluate("pcm => say(pcm)", base64.b64encode(pcm.tobytes()).decode())
        return self.pace.now()

    async def hang_up(self) -> None:
        """Leave the call."""
        await self._page.evaluate("hangUp()")

    def spoken(self) -> PCM:
        end = max((at + len(pcm) / RATE for at, pcm in self._said), default=0.0)
        track = np.zeros(round(end * RATE) + 1, np.int16)
        for at, pcm in self._said:
            track[round(at * RATE) :][: len(pcm)] = pcm
        return track

    def _heard(self, audio: str) -> None:
        pcm = np.frombuffer(base64.b64decode(audio), np.int16)
        for begin in range(0, len(pcm), _FRAME):
            self.ear.take(pcm[begin : begin + _FRAME])

    def _read(self, message: Mapping[str, Any]) -> None:
        now, data = self.pace.now(), message.get("data") or {}
        match message["type"]:
            case "server-message":
                self.changes.append(Change(now, AGENT_STATE, data["agent_state"]))
            case "user-transcription" if data["final"]:
                self.texts.append(Text(self.identity, str(now), True, [(now, data["text"])]))
            case "bot-started-speaking":
                self.texts.append(Text("agent", str(now), False))
            case "bot-tts-text":
                self.agent_texts[-1].pieces.append((now, data["text"] + " "))
            case "bot-stopped-speaking":
                self.agent_texts[-1].final = True


@asynccontextmanager
async def calling(url: str) -> AsyncIterator[BrowserCaller]:
    """A caller on the page at this address."""
    async with browsing() as page:
        caller = BrowserCaller(page)
        await caller.enter(url)
        yield caller
