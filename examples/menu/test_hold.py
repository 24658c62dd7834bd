from functools import partial
from pathlib import Path

from livekit.agents import Agent

from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedLLM, ScriptedUser, Stage

HOLD = Path(__file__).with_name("hold.yaml")


def test_what_is_said_on_hold_is_answered_afterwards():
    stage = Stage(
        partial(TurnSession, flow=HOLD),
        user=ScriptedUser().says("are you there", at=3.0),
        llm=ScriptedLLM({"are you there": "Here I am."}),
        agent=lambda: Agent(instructions="Be brief."),
    )
    stage.at(1.0, lambda stage: stage.session.turn.post("hold"))
    stage.at(10.0, lambda stage: stage.session.turn.post("back"))
    outcome = stage.run(20.0)
    answer = outcome.heard_saying("Here I am")
    assert answer is not None, outcome.timeline()
    assert 10.0 < answer.start < 11.0, outcome.timeline()
