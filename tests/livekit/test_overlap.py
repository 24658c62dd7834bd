"""The flow `overlap`: what the user says over the agent decides whether it stops."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import attrs
import pytest
from flow_text import parsed
from livekit.agents import AgentSession

from turnfsm.fsm.journal import replay
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Outcome,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

STORY = "Once upon a time there was a king who had three daughters and no sons and lived far away."
OVERLAP = partial(TurnSession, flow="overlap")
AT = 4.0
"""When the user speaks over the story."""

Interims = tuple[tuple[float, str], ...]


@attrs.frozen
class Overlapped:
    """What came of a sound over the story.

    Attributes:
        paused: Seconds from its begin until the story was silent; infinite if it never was.
        silent: Seconds from its end until the story went on; infinite if it never did.
        answered: The user's words that are in the conversation.
    """

    outcome: Outcome
    paused: float
    silent: float
    answered: list[str]


def over_the_story(
    words: str,
    lasts: float = 0.4,
    interims: Interims = (),
    session: Any = OVERLAP,
    silence: float | None = 0.55,
    **options: Any,
) -> Overlapped:
    user = ScriptedUser().says("a story", at=1.0, interims=((0.3, "a"),))
    if words:
        user.says(words, at=AT, duration=lasts, interims=interims)
    else:
        user.makes_noise(at=AT, duration=lasts)
    stage = Stage(
        session,
        user=user,
        llm=ScriptedLLM({"a story": STORY}, otherwise="Yes?"),
        tts=ScriptedTTS(durations={STORY: 8.0}),
        vad=None if silence is None else ScriptedVAD(min_silence=silence),
        **options,
    )
    outcome = stage.run(16.0)
    assert outcome.errors == [], outcome.timeline()
    if isinstance(stage.session, TurnSession):
        assert replay(stage.session.turn.journal.read(), stage.session.turn.flow) is None
    story = [one for one in outcome.heard if one.text != "Yes?"]
    cut = next((one for one in story if AT < one.end < AT + 8.0 - (AT - 2.3)), None)
    again = next((one for one in story if cut is not None and one.start > cut.end), None)
    said = [line for line in outcome.context if line.startswith("user: ")]
    return Overlapped(
        outcome,
        inf if cut is None else cut.end - AT,
        inf if again is None else again.start - AT - lasts,
        [line.removeprefix("user: ") for line in said[1:]],
    )


def shown(words: str, lasts: float, first: float = 0.3) -> Interims:
    """One interim transcript a word; the first one comes so many seconds after the voice."""
    each = words.split()
    step = (lasts - first + 0.1) / len(each)
    return tuple((first + n * step, " ".join(each[: n + 1])) for n in range(len(each)))


@pytest.mark.parametrize(
    "words", ["mhm", "Oh, I see.", "yeah yeah okay", "Mmmm", "genau", "sí, claro"]
)
@pytest.mark.parametrize("silence", [0.25, 0.55])
def test_the_agent_talks_on_after_a_backchannel(words: str, silence: float) -> None:
    """It is silent for 0.3 s at most, however late the VAD reports the end of the voice, and the
    backchannel is no turn."""
    lasts = 0.35 * len(words.split())
    overlapped = over_the_story(words, lasts, shown(words, lasts), silence=silence)
    assert overlapped.silent <= 0.3, overlapped.outcome.timeline()
    assert overlapped.answered == []


@pytest.mark.parametrize("session", [AgentSession, TurnSession], ids=["AgentSession", "turn"])
def test_without_the_flow_a_backchannel_ends_the_story(session: Any) -> None:
    overlapped = over_the_story("mhm", interims=((0.3, "mhm"),), session=session)
    assert overlapped.silent == inf
    assert overlapped.answered == ["mhm"]


def test_a_voice_of_two_tenths_of_a_second_pauses_the_agent() -> None:
    overlapped = over_the_story("mhm", interims=((0.3, "mhm"),))
    assert overlapped.paused <= 0.25


@pytest.mark.parametrize("can_pause", [True, False])
@pytest.mark.parametrize(
    "words",
    [
        "what about sunday",
        "yeah but wait",
        "I see but when",
        "okay stop",
        "right and for two people",
    ],
)
def test_the_first_word_that_is_no_backchannel_stops_the_agent(words: str, can_pause: bool) -> None:
    """Also where it revises what the words before it were taken for."""
    lasts = 0.3 * len(words.split())
    interims = shown(words, lasts)
    overlapped = over_the_story(words, lasts, interims, can_pause=can_pause)
    assert overlapped.silent == inf, overlapped.outcome.timeline()
    assert overlapped.answered == [words]
    assert overlapped.outcome.heard[-1].text == "Yes?"


@pytest.mark.parametrize("words", ["stop", "wait", "warte mal", "ちょっと待って"])
def test_a_stop_word_stops_an_output_that_cannot_pause_before_the_voice_ends(words: str) -> None:
    interims = ((0.4, words),)
    overlapped = over_the_story(words, 1.2, interims, can_pause=False)
    assert overlapped.paused <= 0.45
    assert overlapped.answered == [words]


@pytest.mark.parametrize(("words", "lasts"), [("", 0.8), ("mhm", 0.4), ("", 0.3)])
def test_an_output_that_cannot_pause_plays_on_until_a_word_decides(
    words: str, lasts: float
) -> None:
    """On AgentSession a cough ends the reply there."""
    interims = ((0.3, words),) if words else ()
    overlapped = over_the_story(words, lasts, interims, can_pause=False)
    assert overlapped.paused == inf, overlapped.outcome.timeline()
    assert overlapped.answered == []


def test_a_backchannel_is_known_from_its_final_transcript_if_there_are_no_others() -> None:
    overlapped = over_the_story("mhm")
    assert overlapped.silent <= 0.4
    assert overlapped.answered == []


def test_a_short_backchannel_whose_words_come_late_is_not_answered() -> None:
    overlapped = over_the_story("mhm", 0.15, silence=0.25)
    assert overlapped.silent <= 0.4
    assert overlapped.answered == []


def test_a_turn_that_is_ignored_stands_in_the_journal() -> None:
    user = ScriptedUser().says("a story", at=1.0).says("mhm", at=AT, interims=((0.2, "mhm"),))
    model, tts = ScriptedLLM({"a story": STORY}), ScriptedTTS(durations={STORY: 8.0})
    stage = Stage(OVERLAP, user=user, llm=model, tts=tts)
    stage.run(14.0)
    turn = stage.session.turn  # type: ignore[attr-defined]
    ignored = [entry for entry in turn.journal if entry.trigger == "ignore_turn" and entry.verdict]
    assert [entry.data["text"] for entry in ignored] == ["mhm"]
    assert [entry.verdict.actions[0] for entry in ignored] == ["discard_turn"]


def test_a_turn_after_a_backchannel_does_not_begin_with_it() -> None:
    user = ScriptedUser().says("a story", at=1.0).says("mhm", at=AT, interims=((0.2, "mhm"),))
    user.says("what about sunday", at=6.0, interims=((0.4, "what"),))
    model, tts = ScriptedLLM({"a story": STORY}), ScriptedTTS(durations={STORY: 8.0})
    outcome = Stage(OVERLAP, user=user, llm=model, tts=tts).run(14.0)
    said = [line for line in outcome.context if line.startswith("user: ")]
    assert said == ["user: a story", "user: what about sunday"]


def test_a_backchannel_with_which_a_silent_agent_is_spoken_to_is_answered() -> None:
    user = ScriptedUser().says("yes", at=1.0, interims=((0.2, "yes"),))
    outcome = Stage(OVERLAP, user=user, llm=ScriptedLLM({"yes": "Fine."})).run(6.0)
    assert [heard.text for heard in outcome.heard] == ["Fine."]


def test_a_yes_over_the_last_word_of_a_question_is_its_answer() -> None:
    """Its turn is complete when the agent has finished."""
    question = "We have a table at eight. Shall I book it?"
    user = ScriptedUser().says("a table", at=1.0).says("yes", at=4.9, interims=((0.3, "yes"),))
    model = ScriptedLLM({"a table": question, "yes": "It is booked."})
    tts = ScriptedTTS(durations={"Shall I book it?": 1.2, "We have a table at eight.": 1.8})
    outcome = Stage(OVERLAP, user=user, llm=model, tts=tts).run(12.0)
    assert outcome.heard[-1].text == "It is booked.", outcome.timeline()


QUESTION = "We have a table at eight. Shall I book it for you?"


def asked(
    words: str,
    at: float,
    *,
    said: bool = False,
    question: str = QUESTION,
    session: Any = OVERLAP,
) -> Outcome:
    """The user says this so many seconds after the agent has begun to say the question: for 2 s a
    sentence, and then for 2 s the question itself."""
    user = ScriptedUser().says("a table", at=1.0, interims=((0.2, "a"),))
    user.says(words, at=2.3 + at, duration=0.4, interims=((0.3, words),))
    model = ScriptedLLM({"a table": question, words: "Fine."})
    first, second = question.split(". ")
    tts = ScriptedTTS(durations={f"{first}.": 2.0, second: 2.0, question: 4.0})
    stage = Stage(session, user=user, llm=model, tts=tts)
    if said:
        stage.llm = ScriptedLLM({"a table": "", words: "Fine."})
        stage.at(2.2, lambda stage: stage.session.say(QUESTION))
    return stage.run(14.0)


@pytest.mark.parametrize("words", ["yes", "okay", "sure"])
@pytest.mark.parametrize("at", [2.3, 2.8])
def test_a_yes_over_a_question_of_the_agent_is_its_answer(words: str, at: float) -> None:
    outcome = asked(words, at)
    assert outcome.heard[-1].text == "Fine.", outcome.timeline()
    assert outcome.heard[-1].start < 2.3 + at + 2.0


def test_a_yes_over_the_sentence_before_the_question_is_a_backchannel() -> None:
    outcome = asked("yes", 0.8)
    assert outcome.heard[-1].text.endswith("for you?"), outcome.timeline()


@pytest.mark.parametrize("at", [0.8, 2.8])
def test_a_declared_question_needs_no_question_mark(at: float) -> None:
    """A "yes" over the sentence before it is a backchannel, as before any other question."""
    flow = parsed(
        "flow: desk\nextends: overlap\nquestions: {sure: {asked: say yes or no, kind: yes_no}}"
    )
    question = "We have a table at eight. Please say yes or no."
    outcome = asked("yes", at, question=question, session=partial(TurnSession, flow=flow))
    assert bool(outcome.heard_saying("Fine.")) is (at > 2.0), outcome.timeline()


def test_a_yes_over_a_question_that_the_application_says_is_its_answer() -> None:
    assert asked("yes", 2.8, said=True).heard[-1].text == "Fine."


@pytest.mark.parametrize(
    "options",
    [
        {"turn_handling": {"turn_detection": "stt"}},
        {"turn_handling": {"interruption": {"min_words": 3}}},
        {
            "session": partial(OVERLAP, vad=None),
            "turn_handling": {"turn_detection": "stt"},
            "silence": None,
        },
    ],
    ids=["the STT ends turns", "min_words", "no VAD"],
)
def test_words_decide_however_a_session_hears_the_user(options: dict[str, Any]) -> None:
    heard = over_the_story("mhm", interims=((0.3, "mhm"),), **options)
    assert heard.silent <= 0.6, heard.outcome.timeline()
    assert heard.answered == []
    words = "yeah but wait"
    stopped = over_the_story(words, 0.9, shown(words, 0.9), **options)
    assert (stopped.silent, stopped.answered) == (inf, [words]), stopped.outcome.timeline()


def test_a_backchannel_that_the_application_commits_is_answered() -> None:
    """With a button the user says that it is a turn."""
    user = ScriptedUser().says("a story", at=1.0).says("okay", at=AT)
    stage = Stage(
        OVERLAP,
        user=user,
        llm=ScriptedLLM({"a story": STORY, "okay": "Yes?"}),
        tts=ScriptedTTS(durations={STORY: 8.0}),
        turn_handling={"turn_detection": "manual"},
    )
    for at in (2.2, 5.0):
        stage.at(at, lambda stage: stage.session.commit_user_turn())
    outcome = stage.run(9.0)
    assert outcome.heard[-1].text == "Yes?", outcome.timeline()


def test_a_flow_adds_its_own_backchannels(tmp_path: Any) -> None:
    flow = tmp_path / "mine.yaml"
    flow.write_text(
        "flow: mine\nextends: overlap\nphrases: {backchannel: {also: roger that, without: sure}}\n",
        encoding="utf-8",
    )
    mine = partial(TurnSession, flow=flow)
    roger = over_the_story("roger that", 0.6, shown("roger that", 0.6), session=mine)
    assert roger.answered == []
    sure = over_the_story("sure", 0.4, shown("sure", 0.4), session=mine)
    assert sure.answered == ["sure"]
