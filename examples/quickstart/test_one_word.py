from functools import partial
from pathlib import Path

from agent import Clerk, make_llm

from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedUser, Stage


def test_one_word_does_not_stop_the_clerk():
    clerk = Clerk()
    caller = ScriptedUser().says("please transfer fifty", at=1.0).says("really", at=3.0)
    session = partial(TurnSession, flow=Path(__file__).with_name("clerk.yaml"))
    outcome = Stage(session, user=caller, llm=make_llm(), agent=lambda: clerk).run(12.0)

    assert clerk.transfers == [50], outcome.timeline()
