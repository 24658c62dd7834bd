"""A page in headless Chromium."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, async_playwright

__all__ = ["browsing", "chromium"]

_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"),
    "--autoplay-policy=no-user-gesture-required",
)


def chromium() -> str | None:
    """The path of Chromium, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


@asynccontextmanager
async def browsing(*flags: str) -> AsyncIterator[Page]:
    """An empty page that may use the microphone and play audio, with more flags of Chromium."""
    async with (
        async_playwright() as play,
        await play.chromium.launch(executable_path=chromium(), args=[*_FLAGS, *flags]) as browser,
    ):
        yield await browser.new_page(viewport={"width": 760, "height": 760})
