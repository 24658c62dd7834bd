"""Without a VAD, and with an STT that does not report the start of speech, transcripts are the
only sign of a voice."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from livekit.agents.stt import SpeechEvent, SpeechEventType

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

QUESTION = "what are your opening hours"
OPEN = "We are open all day."
LONG = "and while you look that up I would like to know where I can park my rather large old car"
PARK = "You can park behind the house."
STORY = "Once upon a time there was a king who had three daughters and no sons."
AUDITED = partial(TurnSession, audit=True)
"""It warns of a property that is broken."""


def _interims(text: str, duration: float, every: float) -> tuple[tuple[float, str], ...]:
    """An interim transcript every so many seconds, with the words that have been said."""
    words = text.split()
    count = int(duration / every)
    heard = [(i * every, round(len(words) * i * every / duration)) for i in range(1, count + 1)]
    return tuple((at, " ".join(words[:upto])) for at, upto in heard if upto)


def _by_stt_alone(
    session_class: Any, user: ScriptedUser, model: ScriptedLLM, **parts: Any
) -> Stage:
    handling = {"turn_detection": None}
    stage = Stage(session_class, user=user, llm=model, turn_handling=handling, **parts)
    stage.vad = None  # type: ignore[assignment]
    return stage


def _asks_on(session_class: Any, at: float) -> Outcome:
    """The model thinks for 3 s about a question; meanwhile the user speaks for 6 s."""
    user = ScriptedUser().says(QUESTION, at=1.0, duration=1.0, stt_delay=0.2)
    user.says(LONG, at=at, duration=6.0, interims=_interims(LONG, 6.0, 0.5))
    model = ScriptedLLM({"park": PARK, "hours": Reply(OPEN, ttft=3.0)})
    return _by_stt_alone(session_class, user, model).run(25.0)


def _begins_over(outcome: Outcome, start: float, end: float) -> list[float]:
    return [heard.start for heard in outcome.heard if start < heard.start < end]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("at", [2.2 + 0.2 * step for step in range(30)])
def test_a_held_reply_is_not_released_while_interim_transcripts_come(at: float) -> None:
    """From the first transcript to the end of the sentence nothing begins, and nothing is resumed.
    Then both questions are answered: the first one is heard, or the model is asked about both."""
    outcome = _asks_on(AUDITED, at)
    assert _begins_over(outcome, at + 0.51, at + 6.0) == [], outcome.timeline()
    assert outcome.warnings == []
    said = [line.text for line in outcome.requests[-1].shown]
    assert said[-1].endswith(LONG), outcome.timeline()
    assert outcome.heard_saying(OPEN) or any(text.startswith(QUESTION) for text in said)
    assert outcome.heard[-1].text == PARK


def test_a_reply_goes_on_when_a_transcript_is_followed_by_nothing() -> None:
    """Two interim transcripts over the story, and no final one: it goes on
    `false_interruption_timeout` after the second. On AgentSession it never does."""
    user = ScriptedUser().says("tell me a story", at=1.0, stt_delay=0.2)
    user.says("uh uh", at=4.0, duration=1.2, stt_delay=None, interims=((0.5, "uh"), (1.0, "uh uh")))
    model = ScriptedLLM({"story": STORY})
    tts = ScriptedTTS(durations={STORY: 8.0})
    outcome = _by_stt_alone(TurnSession, user, model, tts=tts).run(25.0)
    assert [h.start for h in outcome.heard] == pytest.approx([3.0, 7.0], abs=0.1)
    assert [round(at, 1) for at, _ in outcome.false_interruptions] == [7.0]


def test_a_voice_that_only_transcripts_show_begins_and_ends_once() -> None:
    """The first transcript begins it; the final one ends it."""
    user = ScriptedUser().says(LONG, at=1.0, duration=6.0, interims=_interims(LONG, 6.0, 0.5))
    stage = _by_stt_alone(TurnSession, user, ScriptedLLM())
    stage.run(12.0)
    journal = stage.session.turn.journal  # type: ignore[attr-defined]
    voice = ("user_started_speaking", "user_stopped_speaking")
    posted = [entry.trigger for entry in journal if entry.trigger in voice]
    assert posted == list(voice)


class EndsOnly(ScriptedSTT):
    """An STT that detects turns, and reports their end only."""

    def stream(self, **how: Any) -> Any:
        stream = super().stream(**how)
        send = stream._send  # type: ignore[attr-defined]

        def only_ends(event: SpeechEvent) -> None:
            if event.type != SpeechEventType.START_OF_SPEECH:
                send(event)

        stream._send = only_ends  # type: ignore[attr-defined]
        return stream


@pytest.mark.parametrize("at", [2.8, 4.0, 5.2, 6.4])
def test_an_stt_that_reports_only_the_end_of_speech_is_no_exception(at: float) -> None:
    """`turn_detection="stt"`. Nothing begins over the sentence, and its words are answered."""
    user = ScriptedUser().says(QUESTION, at=1.0, duration=1.0, stt_delay=0.2)
    user.says(LONG, at=at, duration=6.0, interims=_interims(LONG, 6.0, 0.5))
    model = ScriptedLLM({"park": PARK, "hours": Reply(OPEN, ttft=3.0)})
    handling = {"turn_detection": "stt"}
    stage = Stage(
        AUDITED, user=user, llm=model, stt=EndsOnly(user, ends_turns=True), turn_handling=handling
    )
    stage.vad = None  # type: ignore[assignment]
    outcome = stage.run(25.0)
    assert _begins_over(outcome, at + 0.51, at + 6.0) == [], outcome.timeline()
    assert outcome.heard[-1].text == PARK
    assert outcome.warnings == []
