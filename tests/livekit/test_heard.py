"""What a caller hears is no worse than on stock: played on both sessions, and compared."""

from __future__ import annotations

from typing import Any

import pytest
from both import Session
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

FIRST = "The weather is fine and it stays so all day long."
SECOND = "Tomorrow it rains."
STORY = "Once upon a time there was a king who had three daughters and no sons."

BOTH = pytest.mark.parametrize("session_class", [AgentSession, TurnSession])


def _asks_again(session_class: Session, **second: Any) -> Outcome:
    """The model thinks about a question from 2.1 to 3.1 s; the user makes a sound meanwhile."""
    user = ScriptedUser().says("weather please", at=1.0)
    if second.get("text"):
        user.says(**second)
    else:
        user.makes_noise(**second)
    model = ScriptedLLM({"weather": Reply(FIRST, ttft=1.0), "tomorrow": SECOND})
    return Stage(session_class, user=user, llm=model).run(12.0)


def _heard_and_cut(outcome: Outcome) -> float:
    """Seconds of the first answer that were heard before it was cut."""
    return sum(h.end - h.start for h in outcome.heard if h.text != FIRST and h.text in FIRST)


@pytest.mark.parametrize("stt_delay", [0.0, 0.3, 0.6, 1.5])
@pytest.mark.parametrize(("at", "duration"), [(2.5, 0.2), (2.3, 0.3), (2.8, 0.6)])
def test_an_answer_that_is_out_of_date_is_not_begun(
    at: float, duration: float, stt_delay: float
) -> None:
    """The user goes on while the model thinks. Their words come after the end of their voice, and
    the answer to the first question is heard no longer than on stock before it is cut."""
    second: Any = {"text": "tomorrow", "at": at, "duration": duration, "stt_delay": stt_delay}
    stock, ours = (_asks_again(kind, **second) for kind in (AgentSession, TurnSession))
    assert _heard_and_cut(ours) <= _heard_and_cut(stock) + 1e-6
    assert ours.heard_saying(SECOND) is not None
    if stt_delay <= 0.5:
        assert _heard_and_cut(ours) == 0


@pytest.mark.parametrize("duration", [0.1, 0.2, 0.6, 1.2])
def test_after_a_noise_an_answer_begins_hardly_later_than_on_stock(duration: float) -> None:
    stock, ours = (_asks_again(k, at=2.8, duration=duration) for k in (AgentSession, TurnSession))
    late = ours.heard[0].start - stock.heard[0].start
    assert ours.heard[0].text == FIRST
    assert late <= 0.3 + 1e-6


@BOTH
def test_a_vad_that_does_not_say_whether_a_frame_is_speech_does_not_resume_over_the_user(
    session_class: Session,
) -> None:
    """The user speaks for six seconds over a story: it is cut once."""
    user = ScriptedUser().says("tell me a story", at=1.0)
    user.says("no not that one please i know it by heart", at=4.0, duration=6.0)
    model = ScriptedLLM({"story": STORY, "not that one": "Another one then."})
    vad = ScriptedVAD(says_speaking=False)
    tts = ScriptedTTS(durations={STORY: 10.0})
    outcome = Stage(session_class, user=user, llm=model, tts=tts, vad=vad).run(16.0)
    assert outcome.false_interruptions == []
    assert [h.text for h in outcome.heard[1:]] == ["Another one then."]


@BOTH
def test_speech_begins_in_a_silence_of_the_user(session_class: Session) -> None:
    """This VAD waits for a second of silence before it says that the user has ended; LiveKit lets
    a speech begin after a quarter of a second."""
    user = ScriptedUser().makes_noise(at=1.0, duration=0.6)
    vad, long = ScriptedVAD(min_silence=1.0), {"interruption": {"min_duration": 3.0}}
    stage = Stage(session_class, user=user, vad=vad, turn_handling=long)
    stage.at(1.7, lambda s: s.session.say("Are you there?") and None)
    assert 1.85 <= stage.run(6.0).heard[0].start <= 2.1
