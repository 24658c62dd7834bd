"""Words that a commit has taken from an interim transcript, because no final one came in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from livekit.agents import Agent
from livekit.agents.stt import SpeechData, SpeechEvent, SpeechEventType

from turnfsm.livekit import TurnSession
from turnfsm.runtime.livekit.overrides.segment import Segment
from turnfsm.runtime.testing.livekit import Outcome, ScriptedLLM, ScriptedUser, Stage

FINAL, INTERIM = SpeechEventType.FINAL_TRANSCRIPT, SpeechEventType.INTERIM_TRANSCRIPT


class Clerk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Go on.")


def played(
    *then: tuple[float, Callable[[Stage], object]],
    final: str = "send it today please",
    stt_delay: float = 1.9,
    detection: str = "manual",
    **how: Any,
) -> Outcome:
    """The user speaks from 1 to 2.2 s. The interim transcript comes at 1.9 s. The application
    commits at 2.3 s, and waits for a second; the final transcript comes at 4.1 s."""
    user = ScriptedUser()
    user.says(final, at=1.0, duration=1.2, stt_delay=stt_delay, interims=((0.9, "send it today"),))
    handling = {"turn_detection": detection}
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM(), turn_handling=handling)

    def commit(stage: Stage) -> None:
        stage.session.commit_user_turn(transcript_timeout=1.0, **how)

    for at, act in ((2.3, commit), *then):
        stage.at(at, lambda s, act=act: act(s) and None)  # type: ignore[misc]
    return stage.run(12.0)


def said(outcome: Outcome) -> list[str]:
    """What the user has said, as it is in the history."""
    items = outcome.history.items
    texts = [i.text_content or "" for i in items if i.type == "message" and i.role == "user"]
    return [text for text in texts if text]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("detection", ["manual", "vad"])
@pytest.mark.parametrize(
    ("final", "rest"),
    [
        ("send it today", []),
        ("Send it, today.", []),
        ("Send it today, please.", ["please."]),
        ("bend it today", ["bend it today"]),
        ("Send it on Monday.", ["on Monday."]),
        ("Send it", []),
    ],
    ids=[
        "the same",
        "punctuation",
        "more words",
        "corrected",
        "last word corrected",
        "fewer words",
    ],
)
def test_words_that_a_commit_has_taken_do_not_come_again(
    detection: str, final: str, rest: list[str]
) -> None:
    """What follows them is the user's next turn; if the STT corrects a word, from there on."""
    later = [(6.0, lambda s: s.session.commit_user_turn())] if detection == "manual" else []
    outcome = played(*later, final=final, detection=detection)
    assert said(outcome) == ["send it today", *rest]


@pytest.mark.parametrize("detection", ["manual", "vad", "stt"])
@pytest.mark.parametrize("handoff", [2.5, 3.2], ids=["soon", "just before the timeout"])
def test_the_next_agent_gets_the_final_transcript_of_an_open_commit(
    detection: str, handoff: float
) -> None:
    """The handoff does not wait for the commit's timeout, which would take the interim one."""
    outcome = played((handoff, lambda s: s.session.update_agent(Clerk())), detection=detection)
    assert said(outcome) == ["send it today please"]
    assert [request.prompt for request in outcome.requests] == ["user: send it today please"]


@pytest.mark.parametrize("detection", ["manual", "vad"])
def test_the_next_agent_does_not_get_words_that_the_agent_before_has_committed(
    detection: str,
) -> None:
    """It goes on with the STT stream, and so with the transcript."""
    handoff = (3.6, lambda s: s.session.update_agent(Clerk()))
    later = (8.0, lambda s: s.session.commit_user_turn())
    outcome = played(handoff, later, stt_delay=3.9, detection=detection)
    assert said(outcome) == ["send it today", "please"]


def test_a_commit_without_a_reply_takes_its_words_once_too() -> None:
    assert said(played(final="send it today", skip_reply=True)) == ["send it today"]


def test_a_turn_that_is_cleared_begins_another_transcript() -> None:
    """The user says the same again."""
    segment = Segment()
    segment.without_taken(_event(INTERIM, "send it"))
    segment.commit("send it")
    assert segment.without_taken(_event(INTERIM, "send it")).alternatives[0].text == ""
    assert Segment().without_taken(_event(INTERIM, "send it")).alternatives[0].text == "send it"


def test_a_final_transcript_ends_the_segment() -> None:
    segment = Segment()
    segment.without_taken(_event(INTERIM, "yes"))
    segment.commit("yes")
    finals = [segment.without_taken(_event(FINAL, "Yes.")) for _ in range(2)]
    assert [event.alternatives[0].text for event in finals] == ["", "Yes."]


def test_several_commits_take_the_words_of_a_segment_one_after_the_other() -> None:
    segment, texts = Segment(), []
    for text in ("one two", "one two three", "one two three four"):
        texts.append(segment.without_taken(_event(INTERIM, text)).alternatives[0].text)
        segment.commit(texts[-1])
    assert texts == ["one two", "three", "four"]


def test_words_are_taken_once_if_the_final_transcript_of_those_before_never_came() -> None:
    segment = Segment()
    for text in ("one two", "three four"):
        segment.without_taken(_event(INTERIM, text))
        segment.commit(text)
    last = segment.without_taken(_event(FINAL, "Three for you.")).alternatives[0].text
    assert last == "for you."


def test_a_corrected_interim_transcript_does_not_bring_the_taken_words_back() -> None:
    segment = Segment()
    segment.without_taken(_event(INTERIM, "one two tree"))
    segment.commit("one two tree")
    later = [(INTERIM, "one two"), (INTERIM, "one two three"), (FINAL, "One two three four.")]
    texts = [segment.without_taken(_event(*event)).alternatives[0].text for event in later]
    assert texts == ["", "three", "three four."]


def test_a_commit_of_a_final_transcript_takes_nothing_of_the_next_segment() -> None:
    segment = Segment()
    segment.without_taken(_event(FINAL, "one two"))
    segment.commit("one two")
    assert segment.without_taken(_event(INTERIM, "one two")).alternatives[0].text == "one two"


def test_an_event_without_a_transcript_stays_as_it_is() -> None:
    event = SpeechEvent(SpeechEventType.START_OF_SPEECH)
    assert Segment().without_taken(event) is event


def _event(kind: SpeechEventType, text: str) -> SpeechEvent:
    return SpeechEvent(kind, alternatives=[SpeechData(language="en", text=text)])  # type: ignore[arg-type]
