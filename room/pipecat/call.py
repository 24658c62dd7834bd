"""Calls to a governed pipeline: by a browser that plays the demo's conversation, or by you."""

from __future__ import annotations

import asyncio
from pathlib import Path

from room.browser import chromium
from room.hold import Held, hold, lines
from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.pipecat.hold import PipelineStack, logged

from .bot import serving
from .browser import BrowserCaller, calling

__all__ = ["call", "talk"]


def call(journals: Path) -> tuple[BrowserCaller, Held, list[str]]:
    """Play the conversation. The pipeline writes its journal to the folder.

    Returns:
        The caller, the conversation as the caller recorded it, and what Pipecat has logged.

    Raises:
        TurnfsmError: There is no Chromium.
    """
    if chromium() is None:
        raise TurnfsmError("error: there is no Chromium\n  = help: apt-get install chromium")
    log: list[str] = []
    with logged(log):
        caller, held = asyncio.run(_call(journals))
    return caller, held, log


async def _call(journals: Path) -> tuple[BrowserCaller, Held]:
    script = await asyncio.to_thread(lines)
    stack = await PipelineStack.load(Pace())
    try:
        async with serving(stack, journals) as site:
            async with calling(site.url) as caller:
                held = await hold(caller, script)
                await caller.hang_up()
            await site.calls_over()
            return caller, held
    finally:
        await stack.aclose()


def talk(port: int) -> None:
    """Serve the page until Ctrl-C is pressed."""
    asyncio.run(_talk(port))


async def _talk(port: int) -> None:
    stack = await PipelineStack.load(Pace())
    try:
        async with serving(stack, port=port) as site:
            print(f"open {site.url} and talk; Ctrl-C ends it", flush=True)
            await asyncio.Event().wait()
    finally:
        await stack.aclose()
