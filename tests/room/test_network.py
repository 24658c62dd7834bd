"""What only a network shows: subscription, mute, leaving, several people, text, keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from conftest import Call, said_by

from room.caller import Caller
from room.judge import transcribed
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.words import words

pytestmark = pytest.mark.room
Calls = Callable[[], Call]
Clips = Mapping[str, PCM]


async def heard(caller: Caller) -> str:
    """What a listener understands of all that came to the caller."""
    parts = await transcribed(caller.ear.track(), caller.ear.sounds())
    return " ".join(words(" ".join(parts)))


async def answered(caller: Caller, text: str) -> None:
    """Wait until the agent has said this."""
    await caller.text_seen(text)
    await caller.silence(0.6)


async def test_what_is_said_before_the_caller_subscribes_is_heard_after(
    call: Calls, clips: Clips
) -> None:
    """The agent is not speaking, and nothing is lost, until somebody can hear it."""
    it = call()
    async with it.caller(subscribe=False) as caller:
        await caller.agent_comes()
        await caller.say(clips["command"])
        await caller.until(lambda: caller.state == "thinking")
        await caller.rest(3.0)
        assert "speaking" not in caller.states
        caller.subscribe()
        await answered(caller, "I have reached the place.")
        understood = await heard(caller)
    assert "ten meters" in understood
    assert "reached the place" in understood
    await it.over()


async def test_words_said_while_muted_are_not_heard_and_the_next_ones_are(
    call: Calls, clips: Clips
) -> None:
    it = call()
    async with it.caller() as caller:
        await caller.agent_comes()
        caller.mute(True)
        await caller.say(clips["errand"])
        await caller.rest(1.0)
        caller.mute(False)
        await caller.rest(0.5)
        await caller.say(clips["command"])
        await answered(caller, "I have reached the place.")
    records = await it.over()
    assert [words(text) for text in said_by("user", records)] == [words("Go forward ten meters.")]


async def test_a_caller_who_mutes_in_mid_sentence_is_answered_when_heard_again(
    call: Calls, clips: Clips
) -> None:
    it = call()
    async with it.caller() as caller:
        await caller.agent_comes()
        saying = caller.mic.say(clips["command"])
        await caller.rest(0.6)
        caller.mute(True)
        await saying
        await caller.rest(3.0)
        caller.mute(False)
        await caller.rest(2.0)
        await caller.silence(0.6)
        await caller.say(clips["command"])
        await answered(caller, "I have reached the place.")
    records = await it.over()
    assert words(said_by("user", records)[-1]) == words("Go forward ten meters.")


async def test_a_caller_who_leaves_in_mid_sentence_and_comes_back_is_answered(
    call: Calls, clips: Clips
) -> None:
    it = call()
    async with it.caller() as caller:
        await caller.agent_comes()
        leaving = caller.mic.say(clips["question"])
        await caller.rest(0.7)
    leaving.cancel()
    async with it.caller() as caller:
        await caller.agent_comes()
        await caller.rest(1.5)
        await caller.silence(0.6)
        await caller.say(clips["command"])
        await answered(caller, "I have reached the place.")
        understood = await heard(caller)
    assert "reached the place" in understood
    records = await it.over()
    assert words(said_by("user", records)[-1]) == words("Go forward ten meters.")


async def test_the_agent_listens_to_one_of_two_people_and_both_hear_it(
    call: Calls, clips: Clips
) -> None:
    it = call()
    async with it.caller() as caller:
        await caller.agent_comes()
        async with it.caller("guest") as guest:
            await guest.agent_comes()
            await guest.say(clips["errand"])
            await guest.rest(2.0)
            assert caller.state == "listening"
            await caller.say(clips["command"])
            await answered(caller, "I have reached the place.")
            assert "reached the place" in await heard(guest)
    records = await it.over()
    assert [words(text) for text in said_by("user", records)] == [words("Go forward ten meters.")]


async def test_a_typed_line_interrupts_the_agent_and_is_answered_aloud(
    call: Calls, clips: Clips
) -> None:
    it = call()
    async with it.caller() as caller:
        await caller.agent_comes()
        await caller.chat("Go somewhere and do something.")
        await caller.until(lambda: caller.ear.sounding, why="no answer was heard")
        await caller.rest(1.5)
        typed = caller.pace.now()
        await caller.chat("Stop, please stop now.")
        await answered(caller, "Okay, I will stop talking.")
        understood = await heard(caller)
    first = next(s for s in caller.ear.sounds() if s.start < typed)
    assert first.end - typed < 4.0  # of 12 s
    assert "battery" not in understood
    assert "stop talking" in understood
    records = await it.over()
    assert len(said_by("user", records)) == 2


async def test_keys_of_a_telephone_are_a_turn(call: Calls) -> None:
    it = call()
    async with it.caller() as caller:
        await caller.agent_comes()
        for key in "29340#":
            await caller.press(key)
        await answered(caller, "There it is: on the top shelf, and it is very light.")
    records = await it.over()
    assert said_by("user", records) == ["29340"]


async def test_the_voice_has_no_gap(call: Calls, clips: Clips) -> None:
    """A long answer is one sound, as long as it is, from the first word to the last."""
    it = call()
    async with it.caller() as caller:
        await caller.agent_comes()
        await caller.say(clips["question"])
        await answered(caller, "charge my battery")
        sounds = caller.ear.sounds(breath=0.9)
        await it.over()
    assert len(sounds) == 1
    assert sounds[0].end - sounds[0].start > 10.0
    assert len(caller.ear.track()) / RATE > sounds[0].end
