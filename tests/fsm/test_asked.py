"""Whether a yes began after the whole question was heard: a pure fold of log entries."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfsm.fsm.agenda.asked import Asked
from turnfsm.fsm.agenda.entries import (
    Entry,
    NoiseEnded,
    PlayoutStarted,
    QuestionAsked,
    SpeechFailed,
    SpeechInterrupted,
    StepFinished,
    Transcribed,
    TurnDecided,
    UtteranceEnded,
    VoiceStarted,
)

ASKED, PLAYS, HEARD = QuestionAsked("q"), PlayoutStarted("q"), StepFinished("q")
VOICE, TEXT, SILENT, DECIDED = VoiceStarted(), Transcribed(), UtteranceEnded(), TurnDecided()
NOISE, OTHER = NoiseEnded(), PlayoutStarted("reply")


def after(*entries: Entry) -> Asked:
    asked = Asked()
    for entry in entries:
        asked = asked.after(entry)
    return asked


def counts(*entries: Entry) -> bool:
    """Whether a yes counts now."""
    asked = after(*entries)
    return not (asked.early or asked.stale)


@pytest.mark.parametrize(
    "entries",
    [
        (ASKED, PLAYS, HEARD, VOICE, TEXT),
        (VOICE, TEXT, SILENT, DECIDED, ASKED, PLAYS, HEARD, VOICE, TEXT),
        (ASKED, PLAYS, VOICE, SILENT, NOISE, HEARD, VOICE, TEXT),
        (ASKED, PLAYS, VOICE, SILENT, HEARD, VOICE, TEXT),  # only interim transcripts
        (ASKED, PLAYS, VOICE, TEXT, SILENT, TurnDecided("mhm"), HEARD, VOICE, TEXT),
        (ASKED, PLAYS, HEARD, TEXT),  # no voice was detected
        (ASKED, PLAYS, HEARD),  # it is typed
    ],
)
def test_a_yes_that_began_after_the_question_counts(entries: tuple[Entry, ...]) -> None:
    assert counts(*entries)


@pytest.mark.parametrize(
    "entries",
    [
        (VOICE, TEXT, ASKED, PLAYS, HEARD),  # its turn is decided after the question
        (ASKED, VOICE, PLAYS, TEXT, HEARD),
        (ASKED, PLAYS, VOICE, HEARD, TEXT),
        (ASKED, PLAYS, VOICE, HEARD, VOICE, TEXT),  # that of the first voice
        (ASKED, PLAYS, VOICE, SILENT, HEARD, TEXT),  # it comes late
        (ASKED, PLAYS, VOICE, TEXT, HEARD, VOICE, SILENT, NOISE),
        (ASKED, PLAYS, VOICE, HEARD),  # a commit takes the interim transcript
        (ASKED, PLAYS, VOICE, TEXT),
        (ASKED, PLAYS, SpeechInterrupted("q", "user"), HEARD, VOICE, TEXT),
        (ASKED, PLAYS, SpeechFailed("q", "the TTS has failed"), HEARD, VOICE, TEXT),
        (ASKED, VOICE, TEXT),  # it was not played
        (ASKED, PLAYS, HEARD, QuestionAsked("q2"), VOICE, TEXT),
    ],
)
def test_a_yes_that_began_before_the_end_of_the_question_does_not_count(
    entries: tuple[Entry, ...],
) -> None:
    assert after(*entries).early


def test_a_yes_to_something_else_does_not_count() -> None:
    assert after(ASKED, PLAYS, HEARD, OTHER, VOICE, TEXT).stale
    assert after(ASKED, PLAYS, HEARD, VOICE, OTHER, TEXT).stale
    assert not after(ASKED, OTHER, PLAYS, HEARD, VOICE, TEXT).stale


ENTRIES = st.sampled_from([ASKED, PLAYS, HEARD, VOICE, TEXT, SILENT, DECIDED, NOISE, OTHER])


@given(st.lists(ENTRIES, max_size=12))
def test_a_voice_during_the_question_whose_transcript_comes_next_is_never_a_yes(
    before: Iterable[Entry],
) -> None:
    assert not counts(*before, ASKED, PLAYS, VOICE, HEARD, TEXT)
    assert not counts(*before, ASKED, PLAYS, VOICE, TEXT, HEARD)


@given(st.lists(ENTRIES, max_size=12))
def test_after_a_decided_turn_a_new_utterance_is_a_yes(before: Iterable[Entry]) -> None:
    assert counts(*before, ASKED, PLAYS, HEARD, SILENT, DECIDED, VOICE, TEXT)
