"""`interruptible: false` of an action that says a text."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from flow_text import parsed

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

TEXT = "This call is recorded for the quality of our service."
HEARS = "discard_audio_if_uninterruptible: false\n"
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
    assert heard("false", HEARS) == [TEXT, "As you like."]


SAYS = {"true": "discard_audio_if_uninterruptible: true\n", "false": HEARS, "not said": ""}


@pytest.mark.parametrize("said", SAYS)
@pytest.mark.parametrize("free", ["true", "false"])
async def test_a_session_warns_if_it_is_not_said_what_becomes_of_what_the_user_says_over_it(
    free: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    flow = parsed(FLOW.replace("FREE", free).replace("EXTENDS", "turn") + SAYS[said])
    TurnSession(flow=flow, proof="off")
    warned = [one.getMessage() for one in caplog.records if "is discarded" in one.getMessage()]
    assert len(warned) == (free == "false" and said == "not said")
    if warned:
        assert "write 'discard_audio_if_uninterruptible: false' in the flow recorded" in warned[0]


async def test_it_warns_of_settings_that_make_the_agent_uninterruptible(
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = "{flow: x, extends: turn, overlays: {clerk: {interruptible: false}}}"
    TurnSession(flow=parsed(text), proof="off")
    assert "is discarded while the agent 'clerk' makes the agent's speech" in caplog.text


@pytest.mark.parametrize("discards", [True, False])
async def test_what_the_application_says_counts_without_a_warning(
    discards: bool, caplog: pytest.LogCaptureFixture
) -> None:
    flow = parsed(FLOW.replace("FREE", "false").replace("EXTENDS", "turn"))
    interruption = {"discard_audio_if_uninterruptible": discards}
    session = TurnSession(flow=flow, proof="off", turn_handling={"interruption": interruption})
    assert session.options.interruption["discard_audio_if_uninterruptible"] is discards
    assert "is discarded" not in caplog.text


def test_a_text_that_the_application_makes_due_is_said_until_it_was_heard() -> None:
    """The flow of docs/flows.md: the user interrupts the text, is answered, and hears it again."""
    page = (Path(__file__).parents[2] / "docs" / "flows.md").read_text("utf-8")
    found = re.search(r"^flow: reads_out\n.*?(?=```)", page, re.MULTILINE | re.DOTALL)
    assert found
    stage = Stage(
        partial(TurnSession, flow=parsed(found[0]), proof="off"),
        user=ScriptedUser().says("what is that", at=3.4),
        llm=ScriptedLLM(otherwise="As you like."),
    )
    stage.at(3.0, lambda stage: stage.session.turn.post("terms_due") and None)
    cut, answer, again = [one.text for one in stage.run(15.0).heard]
    assert "This call is recorded.".startswith(cut)
    assert (answer, again) == ("As you like.", "This call is recorded.")
