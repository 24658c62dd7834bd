"""What a step says, and whether it is asking."""

from __future__ import annotations

import asyncio
import time
from array import array

import pytest

from turnfsm.runtime.conversation.pauses import Pauses, Sound
from turnfsm.runtime.conversation.saying import Saying

pytestmark = pytest.mark.usefixtures("virtual_time")


def saying(text: str, seconds: float = 4.0) -> Saying:
    one = Saying()
    one.text_received(text)
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


RATE = 1000


def sound(*parts: tuple[float, int]) -> Sound:
    """Seconds of samples, each with its peak."""
    samples = array("h")
    for seconds, peak in parts:
        samples.extend([peak, -peak] * round(seconds * RATE / 2))
    return Sound(samples.tobytes(), RATE)


async def test_a_pause_is_found_though_it_comes_in_pieces() -> None:
    pauses = Pauses()
    for part in ((0.5, 9000), (0.1, 0), (0.1, 20), (0.4, 8000), (0.04, 0), (0.4, 8000)):
        pauses.came(sound(part))
    assert [(one.start, one.end) for one in pauses] == [(0.5, 0.7)]


async def test_a_voice_that_is_never_loud_has_no_pauses() -> None:
    """Quiet is a share of the loudest, whatever the level."""
    pauses = Pauses()
    pauses.came(sound((2.0, 3)))
    assert list(pauses) == []


async def _ends(one: Saying, seconds: float) -> list[float]:
    """When the end of a sentence begins to be heard, looked at every 0.05 s."""
    found, was = [], False
    for step in range(round(seconds / 0.05)):
        if (now := one.between_sentences) and not was:
            found.append(round(step * 0.05, 2))
        was = now
        await asyncio.sleep(0.05)
    return found


async def test_a_sentence_ends_where_the_voice_pauses_near_its_share_of_the_letters() -> None:
    one = Saying()
    one.text_received("We have a table, at eight. Shall I book it?")
    one.audio_came(4.0, sound((1.2, 9000), (0.2, 0), (1.4, 9000), (0.3, 0), (0.9, 9000)))
    one.begin()
    assert await _ends(one, 3.9) == [pytest.approx(2.85, abs=0.06)]


async def test_a_full_stop_at_which_the_voice_goes_on_is_no_end() -> None:
    """As after an abbreviation."""
    one = Saying()
    one.text_received("It is with Dr. Who. Shall I book it? He is in the next room but one today.")
    one.audio_came(8.0, sound((3.9, 9000), (0.3, 0), (3.8, 9000)))
    one.begin()
    assert await _ends(one, 7.9) == [pytest.approx(3.95, abs=0.06)]


async def test_without_the_samples_the_letters_alone_say_where_a_sentence_ends() -> None:
    text = "We have one table. Shall I book it?"
    found = await _ends(saying(text), 3.9)
    assert found == [pytest.approx(4.0 * len("We have one table.") / len(text), abs=0.05)]


@pytest.mark.parametrize("text", ["It costs 3.50 today", "No end at all"])
async def test_a_text_without_the_end_of_a_sentence_has_none(text: str) -> None:
    assert await _ends(saying(text), 3.9) == []


@pytest.mark.parametrize(
    ("text", "heard", "sentence"),
    [
        ("We have one table. Shall I book it?", 1.0, "We have one table."),
        ("We have one table. Shall I book it?", 3.0, "Shall I book it?"),
        ("We have one table. Shall I book it", 5.0, "Shall I book it"),
        ("一つあります。予約しますか\uff1f", 4.0, "予約しますか\uff1f"),
        ("That is 3.5 euros", 4.0, "That is 3.5 euros"),
        ("Shall I?", 0.0, ""),
        ("", 4.0, ""),
    ],
)
async def test_its_last_sentence_is_one_whose_beginning_was_heard(
    text: str, heard: float, sentence: str
) -> None:
    one = saying(text)
    await asyncio.sleep(heard)
    assert one.last_sentence == sentence
