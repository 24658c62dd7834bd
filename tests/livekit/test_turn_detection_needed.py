"""A flow that needs a certain turn detection does not govern a session without it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, function_tool

from turnfsm.fsm import TurnfsmError, load_flow, parse_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage
from turnfsm.testing import ScriptedRealtime, ScriptedTTS

MANUAL: Any = {"turn_detection": "manual"}


def stage(flow: object, **parts: Any) -> Stage:
    session: Any = partial(TurnSession, flow=flow)
    return Stage(session, **parts)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"turn_handling": {}},
        {"turn_handling": {"interruption": {"min_words": 2}}},
        {"min_interruption_words": 2},
    ],
)
async def test_push_to_talk_has_manual_turns_if_no_others_are_named(
    options: Any,
) -> None:
    session: Any = TurnSession(flow="push_to_talk", vad=None, **options)
    assert session.turn_detection == "manual"
    assert session.options.interruption["min_words"] == (2 if "2" in str(options) else 0)
    assert TurnSession(vad=None, turn_handling={"turn_detection": "stt"}).turn_detection == "stt"


@pytest.mark.parametrize("handling", [{"turn_detection": None}, {"turn_detection": "stt"}])
def test_push_to_talk_without_manual_turns_does_not_start(handling: Any) -> None:
    """The VAD would commit turns that no button has ended."""
    said = (
        "the flow 'push_to_talk' needs turn_detection='manual', which the session does not have "
        "with the agent 'default_agent'; give turn_handling={'turn_detection': 'manual'}"
    )
    with pytest.raises(TurnfsmError, match=re.escape(said)):
        stage("push_to_talk", turn_handling=handling).run(1.0)


def test_push_to_talk_starts_with_manual_turns_of_the_session_or_of_the_agent() -> None:
    """What the agent sets comes first."""
    assert stage("push_to_talk", turn_handling=MANUAL).run(1.0).errors == []
    mine = Agent(instructions="Help.", turn_handling=MANUAL)
    assert stage("push_to_talk", agent=mine).run(1.0).errors == []
    theirs = Agent(instructions="Help.", turn_handling={"turn_detection": "vad"})
    with pytest.raises(TurnfsmError, match="turn_detection='manual'"):
        stage("push_to_talk", agent=theirs, turn_handling=MANUAL).run(1.0)


def test_a_flow_that_extends_push_to_talk_needs_the_same(tmp_path: Path) -> None:
    """Unless it says otherwise."""
    mine = tmp_path / "mine.yaml"
    mine.write_text("flow: mine\nextends: push_to_talk\n")
    with pytest.raises(TurnfsmError, match="the flow 'mine' needs turn_detection='manual'"):
        stage(mine, turn_handling={"turn_detection": "vad"}).run(1.0)
    mine.write_text("flow: mine\nextends: push_to_talk\nturn_detection: null\n")
    assert stage(mine).run(1.0).errors == []


def test_speech_to_speech_needs_a_realtime_model_that_detects_turns() -> None:
    """With any other model the user could not interrupt."""
    with pytest.raises(TurnfsmError, match="needs turn_detection='realtime_llm'"):
        stage("speech_to_speech").run(1.0)


@pytest.mark.parametrize("detects", [True, False])
def test_a_realtime_model_without_turn_detection_is_not_enough(detects: bool) -> None:
    """The VAD would end the turns."""
    user, voice = ScriptedUser(), ScriptedTTS()
    model = ScriptedRealtime(user, ScriptedLLM(), voice, turn_detection=detects)
    played = stage("speech_to_speech", user=user, llm=model, tts=voice)
    if detects:
        assert played.run(1.0).errors == []
    else:
        with pytest.raises(TurnfsmError, match="a realtime model that detects turns"):
            played.run(1.0)


def test_a_later_agent_with_another_turn_detection_is_a_warning() -> None:
    """The call goes on."""

    class Clerk(Agent):
        def __init__(self) -> None:
            super().__init__(instructions="Help.", turn_handling={"turn_detection": "vad"})

    @function_tool
    async def hand_over() -> Agent:
        """Hand over."""
        return Clerk()

    user = ScriptedUser().says("a clerk please", at=0.5)
    model = ScriptedLLM({"clerk": Reply(calls=Call("hand_over"))})
    played = stage("push_to_talk", turn_handling=MANUAL, user=user, llm=model, tools=[hand_over])
    played.at(2.5, lambda s: s.session.commit_user_turn() and None)
    outcome = played.run(8.0)
    (said,) = [text for _, text in outcome.warnings if "turn_detection" in text]
    assert said.startswith("the flow 'push_to_talk' needs turn_detection='manual'")
    assert "'clerk'" in said
    assert isinstance(played.session, TurnSession)
    assert played.session.current_agent.id == "clerk"


def test_the_key_is_checked() -> None:
    """It has two values, and only a flow of turns has it."""
    assert load_flow("turn").turn_detection is None
    _, (finding,) = parse_flow("flow: a\nextends: turn\nturn_detection: manul\n")
    assert (finding.line, finding.remedy) == (3, "did you mean 'manual'?")
    text = "flow: a\ninitial: b\nturn_detection: manual\nstates: {b: {}}\n"
    _, (finding,) = parse_flow(text)
    assert finding.remedy == "add 'kind: turn', or remove it"
