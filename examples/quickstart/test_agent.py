from agent import Clerk, make_llm

from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedUser, Stage


def test_a_caller_who_objects_keeps_the_money():
    clerk = Clerk()
    caller = ScriptedUser().says("please transfer fifty", at=1.0).says("stop", at=3.6)
    stage = Stage(TurnSession, user=caller, llm=make_llm(), agent=lambda: clerk)
    outcome = stage.run(12.0)

    assert clerk.transfers == [], outcome.timeline()
    assert outcome.heard_saying("I have transferred nothing")


def test_a_caller_who_coughs_gets_the_transfer():
    clerk = Clerk()
    caller = ScriptedUser().says("please transfer fifty", at=1.0).makes_noise(at=3.6, duration=0.3)
    stage = Stage(TurnSession, user=caller, llm=make_llm(), agent=lambda: clerk)
    outcome = stage.run(12.0)

    assert clerk.transfers == [50], outcome.timeline()
    assert outcome.heard_saying("on their way")
