"""Sounds without a transcript, such as those of a keyboard or a dog, do not silence the agent."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import AgentSession
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

ANSWER = "The weather is fine."
STORY = "Once upon a time there was a king who had three daughters and no sons."

READY = 3.6
"""When an answer that takes its model 1.5 s is ready to begin."""


def _noisy(
    *, lasts: float, every: float, first: float = 3.0, until: float = 9.0, said: str = "weather"
) -> ScriptedUser:
    """The user asks at 1 s; sounds begin after the turn is committed, and go on."""
    user = ScriptedUser().says(f"{said} please", at=1.0)
    for n in range(int((until - first) / every)):
        user.makes_noise(at=first + n * every, duration=lasts)
    return user


def _answer(interruption: dict[str, Any], *, silence: float, **sounds: Any) -> Outcome:
    model = ScriptedLLM({"weather": Reply(ANSWER, ttft=1.5)})
    return Stage(
        TurnSession,
        user=_noisy(**sounds),
        llm=model,
        vad=ScriptedVAD(min_silence=silence),
        can_pause=sounds.get("lasts", 0.0) > 0.1,
        turn_handling={"interruption": interruption},
    ).run(10.0)


SETTINGS = [
    (interruption, lasts, every, silence)
    for interruption, lasts, every, silence in product(
        ({}, {"min_words": 2}, {"min_duration": 1.0}, {"min_words": 2, "min_duration": 1.0}),
        (0.1, 0.2, 0.3),
        (0.7, 0.85, 1.0),
        (0.25, 0.4, 0.55),  # of silence end a voice for the VAD; 0.55 is Silero's default
    )
    if every - lasts > silence  # else it hears one voice that does not end
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("part", range(4))
def test_an_answer_is_heard_whatever_short_sounds_come(part: int) -> None:
    """It waits for the sound that is heard when it is ready, for the transcript of that sound, and
    for the end of one that is heard then. A VAD that counts the silence after a sound as voice lets
    it interrupt, if a word is not needed for that: then the sounds are noise after 5 s."""
    for interruption, lasts, every, silence in SETTINGS[part::4]:
        outcome = _answer(interruption, silence=silence, lasts=lasts, every=every)
        assert outcome.heard, outcome.timeline()
        wait = 0.3 if interruption else 5.0
        late = outcome.heard[0].start - READY
        assert late <= wait + 2 * (lasts + silence), outcome.timeline()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_burst_of_sounds_costs_no_more_than_one(count: int) -> None:
    """Five keys that are pressed in a row, as the model thinks."""
    starts = [
        _answer(
            {"min_words": 2}, silence=0.55, lasts=0.1, every=0.75, first=3.2, until=3.2 + 0.75 * n
        )
        .heard[0]
        .start
        for n in (1, count + 0.1)
    ]
    assert starts[1] - starts[0] <= 0.75


@pytest.mark.parametrize("lasts", [0.6, 0.9])
def test_an_answer_is_heard_though_a_dog_barks_on(lasts: float) -> None:
    """Each bark is long enough to interrupt. After `noise_limit`, 2.5 s, they are noise."""
    stage = Stage(
        TurnSession,
        user=_noisy(lasts=lasts, every=2.0, until=20.0),
        llm=ScriptedLLM({"weather": Reply(ANSWER, ttft=1.5)}),
    )
    outcome = stage.run(22.0)
    assert outcome.heard[0].start - READY <= 2.5 + 2.0, outcome.timeline()


@pytest.mark.parametrize("lasts", [0.6, 0.9])
def test_speech_that_was_paused_goes_on_though_a_dog_barks_on(lasts: float) -> None:
    """The dog barks into the answer: it goes on at the latest 2.5 s after the first bark, in the
    next silence. On AgentSession it stays silent as long as the dog goes on."""
    heard = []
    for session_class in (AgentSession, TurnSession):
        user = _noisy(lasts=lasts, every=2.0, first=4.5, until=30.0, said="story")
        tts = ScriptedTTS(durations={STORY: 4.0})
        model = ScriptedLLM({"story": STORY})
        outcome = Stage(session_class, user=user, llm=model, tts=tts).run(32.0)
        heard.append(outcome.heard[0].end)
    stock, ours = heard
    assert ours <= 4.5 + 3 * 4.5
    assert ours <= stock


@pytest.mark.parametrize("delay", [0.25, 0.6, 1.2])
def test_a_sound_before_words_does_not_shorten_the_wait_for_them(delay: float) -> None:
    """A cough, and 0.4 s later a sentence: its answer is the only one that is heard, if its words
    come as soon as those of a sentence without a cough."""
    user = ScriptedUser().says("weather please", at=1.0)
    user.makes_noise(at=2.6, duration=0.15)
    user.says("no wait tomorrow", at=3.1, duration=0.9, stt_delay=delay)
    model = ScriptedLLM({"weather": Reply(ANSWER, ttft=1.0), "tomorrow": "Tomorrow it rains."})
    outcome = Stage(TurnSession, user=user, llm=model).run(12.0)
    assert [one.text for one in outcome.heard] == ["Tomorrow it rains."], outcome.timeline()


@pytest.mark.parametrize("timers", [{"false_interruption": 60.0}, {"transcript_wait": 20.0}])
def test_a_timer_that_is_much_too_long_does_not_silence_the_agent(timers: dict[str, float]) -> None:
    """A cough into the answer, or before it: `noise_limit` ends the wait."""
    tts = ScriptedTTS(durations={STORY: 4.0})
    model = ScriptedLLM({"story": Reply(STORY, ttft=1.0)})
    for at in (2.7, 4.5):
        user = ScriptedUser().says("story please", at=1.0).makes_noise(at=at, duration=0.7)
        outcome = Stage(TurnSession, user=user, llm=model, tts=tts, timers=timers).run(20.0)
        assert outcome.heard[-1].end < 13.5, outcome.timeline()


@pytest.mark.parametrize("interims", [True, False], ids=["interim transcripts", "final ones only"])
def test_a_speech_that_a_noise_has_paused_goes_on_when_no_words_can_come(interims: bool) -> None:
    """An STT that gives interim transcripts would have shown words by then. Else they are waited
    for as on AgentSession, whose silence is the longer one by the time in which it pauses."""
    user = ScriptedUser().says("a story", at=1.0, interims=((0.3, "a"),) if interims else ())
    user.makes_noise(at=4.0, duration=0.8)
    ours, theirs = (
        _silence(Stage(kind, user=user, llm=ScriptedLLM({"story": STORY})).run(16.0))
        for kind in (TurnSession, AgentSession)
    )
    assert ours <= (theirs - 1.5 if interims else theirs + 0.1)


def _silence(outcome: Outcome) -> float:
    first, second = outcome.heard
    assert STORY.startswith(first.text.split()[0])
    return second.start - first.end


def test_a_late_result_is_delivered_though_a_dog_barks_on() -> None:
    """The user has gone on to something else while the tool ran. Words may come after each bark;
    2.5 s after the result they are expected no more before it is asked for, and the reply waits for
    the barks at most as long again."""
    book = tool("book", "booked", seconds=8.0, policy="detach")
    user = _noisy(lasts=0.9, every=2.0, first=8.0, until=60.0, said="book")
    user.says("weather please", at=4.0)
    model = ScriptedLLM(
        {"book": Reply(calls=Call("book")), "weather": ANSWER}, {"book": "It is booked."}
    )
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book]).run(60.0)
    answer, booked, *_ = outcome.heard  # a bark may pause it
    assert answer.text == ANSWER
    assert booked.text.startswith("It"), outcome.timeline()
    assert booked.start <= 10.5 + 2 * (2.5 + 2.0), outcome.timeline()


AGAIN = (
    "flow: again\nextends: turn\nagenda: {settle: {interrupted_by_user: {utterance: with_turn}}}\n"
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("text", "said"), [(AGAIN, 2), ("flow: plain\nextends: turn\n", 1)], ids=["again", "default"]
)
def test_an_answer_that_a_cough_has_ended_is_asked_for_again_if_the_flow_says_so(
    text: str, said: int
) -> None:
    """The output cannot pause. By default the agent is silent, as AgentSession."""
    flow = parsed(text, "mine.yaml")
    outcome = _coughs_into_the_story(flow=flow)
    assert len(outcome.heard) == said, outcome.timeline()
    if said == 2:
        cough_ends = 4.6
        assert outcome.heard[1].start <= cough_ends + 2.0 + 0.8, outcome.timeline()
        assert outcome.heard[1].text == STORY


def test_words_after_which_nothing_is_asked_for_again() -> None:
    """They are answered, and the story is not told a second time."""
    flow = parsed(AGAIN, "mine.yaml")
    user = ScriptedUser().says("a story please", at=1.0).says("what time is it", at=4.0)
    outcome = _coughs_into_the_story(user, flow=flow)
    assert [said.text for said in outcome.heard][1:] == ["Noon."], outcome.timeline()


def _coughs_into_the_story(user: ScriptedUser | None = None, **options: Any) -> Outcome:
    """The user asks for a story at 1 s, and coughs from 4 to 4.6 s, in the middle of it."""
    coughs = ScriptedUser().says("a story please", at=1.0).makes_noise(at=4.0, duration=0.6)
    model = ScriptedLLM({"story": Reply(STORY), "time": Reply("Noon.")})
    session: Any = partial(TurnSession, **({"proof": "off"} | options))
    return Stage(session, user=user or coughs, llm=model, can_pause=False).run(20.0)
