"""A pytest plugin: asynchronous tests in virtual time.

Load it with `pytest_plugins = ["turnfsm.testing.plugin"]` in the top conftest.py; it needs
pytest-asyncio 1.3 or newer. A test that asks for the fixture `virtual_time` runs on a
`VirtualLoop`, with the `time` module patched, and gets the `VirtualClock`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from .clock import VirtualClock, VirtualLoop

__all__ = ["virtual_time"]

Factories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


@pytest.hookimpl(wrapper=True)
def pytest_asyncio_loop_factories(item: Any) -> Generator[None, Factories | None, Factories]:
    """Give tests that use `virtual_time` a virtual loop. Other tests keep their loop."""
    theirs = yield
    if "virtual_time" in item.fixturenames:
        return {"virtual": VirtualLoop}
    return theirs or {"asyncio": asyncio.new_event_loop}


@pytest_asyncio.fixture
async def virtual_time() -> AsyncIterator[VirtualClock]:
    """The clock of the virtual loop on which the test runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    with loop.clock.patched() as clock:
        yield clock
