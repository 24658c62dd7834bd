"""`interruptible: false` of an action that says a text."""

from __future__ import annotations

from functools import partial

import pytest
from flow_text import parsed

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

TEXT = "This call is recorded for the quality of our service."
FLOW = """
flow: recorded
extends: EXTENDS
timers: {opening: 0.1}
actions: {say_it: {say: TEXT, interruptible: FREE}}
facts: {session: {disclaimed: {set_by: opening}}}
states: {listening: {after: {opening: {unless: disclaimed, actions: say_it}}}}
"""


def heard(free: str, more: str = "", extends: str = "turn") -> list[str]:
    text = FLOW.replace("TEXT", TEXT).replace("FREE", free).replace("EXTENDS", extends) + more
    flow = parsed(text)
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=ScriptedUser().says("what is that", at=1.0),
        llm=ScriptedLLM(otherwise="As you like."),
        tts=ScriptedTTS(durations={TEXT: 5.0}),
    )
    outcome = stage.run(15.0)
    assert outcome.errors == []
    return [one.text for one in outcome.heard]


def test_as_a_rule_the_user_may_interrupt_a_text() -> None:
    first, *others = heard("true")
    assert first != TEXT
    assert others == ["As you like."]


@pytest.mark.parametrize("extends", ["turn", "overlap"])
def test_a_text_that_is_not_interruptible_is_said_to_its_end(extends: str) -> None:
    assert heard("false", extends=extends) == [TEXT]


def test_what_the_user_says_meanwhile_is_answered_if_they_are_heard() -> None:
    assert heard("false", "discard_audio_if_uninterruptible: false\n") == [TEXT, "As you like."]
