"""The user's last utterance: what may still come of it, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import attrs
import pytest

from turnfsm.fsm.expect import Extent
from turnfsm.runtime.conversation.utterance import Utterance
from turnfsm.runtime.event import Event

pytestmark = pytest.mark.usefixtures("virtual_time")


@attrs.define(eq=False)
class Heard:
    """The rest of the conversation; `reports` says what it was told, and when."""

    turns_end: bool = True
    stt_ends: bool = False
    min_duration: float = 0.5
    timers: Mapping[str, float] = {"transcript_wait": 0.3, "false_interruption": 2.0}
    extent: Extent = "unknown"
    reports: list[tuple[float, str]] = attrs.field(factory=list)

    def note(self, what: str) -> None:
        """Note something with its time."""
        self.reports.append((round(asyncio.get_running_loop().time(), 2), what))

    def may_interrupt(self) -> bool:
        """Every transcript may."""
        return True

    def uninterruptible(self) -> bool:
        """Nothing that the agent says is."""
        return False

    def ends_turns(self) -> bool:
        """Whether the end of an utterance ends the turn."""
        return self.turns_end

    def stt_ends_turns(self) -> bool:
        """Whether the STT detects the ends of turns."""
        return self.stt_ends

    def value_whole(self) -> bool:
        """Whether the whole expected value was said."""
        return self.extent == "whole"

    def value_partial(self) -> bool:
        """Whether only a part of it was said."""
        return self.extent == "partial"

    def begin_voice(self, event: Event) -> None:
        """Note it."""
        self.note("speaks")

    def end_voice(self, event: Event) -> None:
        """Note it."""
        self.note("recognised")

    def end_untranscribed_voice(self, event: Event) -> None:
        """Note it."""
        self.note("empty_transcript")

    def report_noise(self, event: Event) -> None:
        """Nothing is noted: this is for the agenda."""

    def utterance_ended(self) -> None:
        """Nothing is noted: this is for questions to the user."""

    def utterance_over(self) -> None:
        """Note it."""
        self.note("over")

    def utterance_moved(self, *, settled: bool) -> None:
        """Note that nothing is waited for any more."""
        if settled:
            self.note("settled")


@pytest.fixture
async def heard() -> Heard:
    """A conversation at the time 0."""
    return Heard()


@pytest.fixture
async def utterance(heard: Heard) -> AsyncIterator[Utterance]:
    """Its utterance."""
    made = Utterance(heard)
    yield made
    await made.aclose()


async def sounds(utterance: Utterance, seconds: float) -> None:
    """A voice begins, and ends after these seconds."""
    utterance.voice_started()
    await asyncio.sleep(seconds)
    utterance.voice_heard(seconds)
    utterance.voice_ended()


@pytest.mark.parametrize(("lasts", "until"), [(0.2, 0.3), (0.8, 2.0)])
async def test_a_transcript_may_end_the_turn_for_a_time_that_the_voice_decides(
    utterance: Utterance, heard: Heard, lasts: float, until: float
) -> None:
    await sounds(utterance, lasts)
    assert utterance.ask("end_open")
    await asyncio.sleep(5.0)
    assert heard.reports[0] == (pytest.approx(lasts + until), "settled")
    assert not utterance.ask("end_open")


async def test_the_turn_stays_open_until_the_stt_reports_its_end(
    utterance: Utterance, heard: Heard
) -> None:
    heard.stt_ends = True
    await sounds(utterance, 0.8)
    utterance.post("final_transcript")
    await asyncio.sleep(1.0)
    assert utterance.ask("end_open")
    assert utterance.ask("end_near")
    assert utterance.ask("answer_open")
    assert not utterance.due  # the transcript has come
    utterance.post("stt_ended")
    assert not utterance.ask("end_open")


async def test_an_end_that_the_stt_never_reports_is_waited_for_only_so_long(
    utterance: Utterance, heard: Heard
) -> None:
    heard.stt_ends = True
    await sounds(utterance, 0.8)
    utterance.post("final_transcript")
    assert utterance.ask("end_open")
    await asyncio.sleep(5.0)
    assert heard.reports == [(pytest.approx(2.8), "settled")]


async def test_no_transcript_is_awaited_of_audio_that_the_stt_did_not_get(
    utterance: Utterance, heard: Heard
) -> None:
    utterance.voice_started()
    await asyncio.sleep(0.8)
    utterance.voice_ended(unheard=True)
    assert not utterance.due
    assert not utterance.ask("end_open")
    assert not utterance.ask("commit_waits")


async def test_an_earlier_transcript_is_awaited_after_a_voice_that_the_stt_did_not_get(
    utterance: Utterance, heard: Heard
) -> None:
    await sounds(utterance, 0.8)
    utterance.voice_started()
    utterance.voice_ended(unheard=True)
    assert utterance.ask("end_open")
    utterance.post("final_transcript")
    assert not utterance.due


async def test_an_stt_that_has_shown_no_word_of_a_voice_gives_none(
    utterance: Utterance, heard: Heard
) -> None:
    """It has given interim transcripts of the voice before."""
    utterance.voice_started()
    utterance.post("interim_transcript")
    utterance.post("final_transcript")
    utterance.voice_ended()
    await sounds(utterance, 0.8)
    await asyncio.sleep(0.31)
    assert not utterance.ask("end_open")
    assert utterance.due  # but a commit would still wait for it
    assert utterance.ask("transcript_pending")


async def test_an_interim_transcript_keeps_the_turn_open(utterance: Utterance) -> None:
    utterance.voice_started()
    utterance.post("interim_transcript")
    utterance.voice_heard(0.8)
    utterance.voice_ended()
    await asyncio.sleep(1.9)
    assert utterance.ask("end_open")
    utterance.post("final_transcript")
    assert not utterance.ask("end_open")
    assert not utterance.due


async def test_short_sounds_prolong_no_wait(utterance: Utterance) -> None:
    """Each begins while a transcript of the one before could come."""
    closed = []
    for _ in range(10):
        await sounds(utterance, 0.1)
        await asyncio.sleep(0.15)
        closed.append(not utterance.ask("end_open"))
    assert all(any(closed[n : n + 3]) for n in range(8)), closed


async def test_a_long_voice_is_waited_for_although_sounds_follow_it(utterance: Utterance) -> None:
    await sounds(utterance, 0.8)
    await asyncio.sleep(0.5)
    await sounds(utterance, 0.1)
    assert utterance.ask("end_open")
    await asyncio.sleep(1.45)  # two seconds after the long one
    assert not utterance.ask("end_open")


async def test_the_transcript_of_the_voice_before_is_not_that_of_this_one(
    utterance: Utterance,
) -> None:
    await sounds(utterance, 0.8)
    await asyncio.sleep(0.5)
    utterance.voice_started()
    utterance.post("final_transcript")
    utterance.voice_heard(0.8)
    utterance.voice_ended()
    assert utterance.ask("end_open")


async def test_a_handoff_splits_a_voice_into_two_that_are_one(utterance: Utterance) -> None:
    """Together they are long enough to interrupt; the transcript is that of both."""
    utterance.voice_started()
    utterance.voice_heard(0.4)
    utterance.post("passed_on")
    utterance.voice_ended()
    await asyncio.sleep(0.1)
    await sounds(utterance, 0.3)
    await asyncio.sleep(0.5)
    assert utterance.ask("end_open")
    utterance.post("final_transcript")
    assert not utterance.due


@pytest.mark.parametrize("final", [True, False])
async def test_a_voice_that_only_transcripts_show_ends(
    utterance: Utterance, heard: Heard, final: bool
) -> None:
    for _ in range(3):
        utterance.post("voice_shown")
        await asyncio.sleep(0.5)
    if final:
        utterance.post("final_transcript")
    await asyncio.sleep(5.0)
    ends = (1.5, "recognised") if final else (3.0, "empty_transcript")
    assert [r for r in heard.reports if r[1] not in ("settled", "over")] == [(0.0, "speaks"), ends]


async def test_nothing_is_waited_for_in_a_turn_that_only_the_application_ends(
    utterance: Utterance, heard: Heard
) -> None:
    heard.turns_end = False
    await sounds(utterance, 0.8)
    assert not utterance.ask("end_open")
    assert not utterance.ask("answer_open")
    assert utterance.ask("commit_waits")


async def test_a_part_of_a_value_is_waited_for_only_so_long(
    utterance: Utterance, heard: Heard
) -> None:
    utterance.voice_started()
    heard.extent = "partial"
    utterance.post("final_transcript")
    utterance.voice_ended()
    assert utterance.ask("value_due")
    assert not utterance.ask("ends_now")
    await asyncio.sleep(3.9)
    assert utterance.ask("value_due")
    await asyncio.sleep(0.2)
    assert not utterance.ask("value_due")


async def test_a_whole_value_ends_the_turn_once_the_user_is_silent(
    utterance: Utterance, heard: Heard
) -> None:
    utterance.voice_started()
    heard.extent = "whole"
    utterance.post("final_transcript")
    assert not utterance.ask("ends_now")
    utterance.voice_ended()
    assert utterance.ask("ends_now")
    utterance.voice_started()
    assert not utterance.ask("ends_now")


@pytest.mark.parametrize("sound", [0.2, 0.8])
async def test_a_sound_does_not_end_the_wait_for_a_value(
    utterance: Utterance, heard: Heard, sound: float
) -> None:
    """Nor does its transcript that never comes; after that the value is waited for again."""
    utterance.voice_started()
    heard.extent = "partial"
    utterance.post("final_transcript")
    utterance.voice_ended()
    await asyncio.sleep(1.0)
    await sounds(utterance, sound)
    for _ in range(8):
        assert utterance.ask("value_due")
        await asyncio.sleep(0.3)


async def test_a_value_is_not_waited_for_where_the_application_ends_turns(
    utterance: Utterance, heard: Heard
) -> None:
    heard.turns_end = False
    heard.extent = "partial"
    await sounds(utterance, 0.8)
    utterance.post("final_transcript")
    assert not utterance.ask("value_due")
    heard.extent = "whole"
    assert not utterance.ask("ends_now")


@pytest.mark.parametrize("end", ["cleared", "turn_decided", "stt_replaced"])
async def test_a_value_is_waited_for_in_one_turn_only(
    utterance: Utterance, heard: Heard, end: str
) -> None:
    heard.extent = "partial"
    await sounds(utterance, 0.8)
    utterance.post("final_transcript")
    assert utterance.ask("value_due")
    utterance.post(end)
    assert not utterance.ask("value_due")
