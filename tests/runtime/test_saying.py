"""What a step says, and whether it is asking."""

from __future__ import annotations

import asyncio
import time

import pytest

from turnfsm.runtime.conversation.saying import Saying

pytestmark = pytest.mark.usefixtures("virtual_time")


def saying(text: str, seconds: float = 4.0) -> Saying:
    one = Saying()
    one.text_came(text)
    one.audio_came(seconds)
    one.begin()
    return one


@pytest.mark.parametrize(
    "text",
    ["We have one table. Shall I book it?", "一つあります。予約しますか\uff1f", "एक मेज़ है। बुक करूँ?"],
)
async def test_it_asks_once_its_question_has_begun(text: str) -> None:
    one = saying(text)
    await asyncio.sleep(1.0)
    assert not one.asks
    await asyncio.sleep(2.0)
    assert one.asks


async def test_it_does_not_ask_if_a_sentence_follows_its_question() -> None:
    one = saying("Shall I book it? You can cancel later.")
    await asyncio.sleep(4.0)
    assert not one.asks


async def test_the_time_in_which_it_is_paused_does_not_count() -> None:
    one = saying("We have one table. Shall I book it?")
    await asyncio.sleep(1.0)
    one.pause()
    await asyncio.sleep(10.0)
    assert not one.asks
    one.begin()
    await asyncio.sleep(1.5)
    assert one.asks


async def test_it_does_not_ask_before_it_has_audio() -> None:
    assert not saying("Shall I?", 0.0).asks


async def test_a_wall_clock_that_is_set_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by NTP, in the middle of a sentence."""
    one = saying("We have one table. Shall I book it?")
    set_at = time.time() + 3600.0
    monkeypatch.setattr(time, "time", lambda: set_at)
    await asyncio.sleep(1.0)
    assert not one.asks
