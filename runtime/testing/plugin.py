"""A pytest plugin: asynchronous tests in virtual time.

Load it with `pytest_plugins = ["turnfsm.testing.plugin"]` in the top conftest.py; it needs
pytest-asyncio 1.4 or newer. An asynchronous test that asks for the fixture `virtual_time` runs on a
`VirtualLoop`, with the `time` module patched, and gets the `VirtualClock`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from typing import Any

import pytest

from .clock import VirtualClock, VirtualLoop

try:
    import pytest_asyncio
    from pytest_asyncio.plugin import PytestAsyncioSpecs

    PytestAsyncioSpecs.pytest_asyncio_loop_factories  # noqa: B018
except (ImportError, AttributeError):
    remedy = "pip install 'pytest-asyncio>=1.4'"
    raise pytest.UsageError(f"turnfsm.testing.plugin needs pytest-asyncio 1.4: {remedy}") from None

__all__ = ["pytest_asyncio_loop_factories", "pytest_pycollect_makeitem", "virtual_time"]

Factories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(obj: Any) -> None:
    """Mark a coroutine that asks for `virtual_time`, as the strict mode of pytest-asyncio wants."""
    if inspect.iscoroutinefunction(obj) and "virtual_time" in inspect.signature(obj).parameters:
        pytest.mark.asyncio(obj)


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
    if not isinstance(loop, VirtualLoop):
        pytest.fail("the test has no virtual loop: virtual_time is for tests with `async def`")
    with loop.clock.patched() as clock:
        yield clock
