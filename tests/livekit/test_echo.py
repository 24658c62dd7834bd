"""What is heard while the agent cannot be interrupted: its own echo, and what the user says."""

from __future__ import annotations

from typing import Any

import pytest
from both import hearing_session
from livekit.agents import Agent, AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Outcome,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

GREETING = "Welcome to the bank. This call is recorded for quality and for training purposes."
ANSWER = "I can help you with that, if you tell me a little more about it."
QUIET: dict[str, Any] = {"interruption": {"enabled": False}}
"""What an application sets whose line echoes: nothing that is said can be interrupted."""


class Teller(Agent):
    """An agent whose greeting cannot be interrupted."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_enter(self) -> None:
        self.session.say(GREETING, allow_interruptions=False)


def _greeted(
    session_class: type[AgentSession[Any]],
    *,
    user: ScriptedUser | None = None,
    echo: bool = True,
    handling: dict[str, Any] | None = None,
) -> Outcome:
    stage = Stage(
        session_class,
        user=user,
        llm=ScriptedLLM(otherwise=ANSWER),
        tts=ScriptedTTS(durations={GREETING: 6.0, ANSWER: 4.0}),
        agent=Teller,
        echo=echo,
        turn_handling=handling,
    )
    return stage.run(60.0)


@pytest.mark.parametrize("session_class", [AgentSession, TurnSession])
@pytest.mark.parametrize("handling", [{}, QUIET], ids=["the greeting", "all that is said"])
def test_an_agent_does_not_answer_the_echo_of_what_cannot_be_interrupted(
    session_class: type[AgentSession[Any]], handling: dict[str, Any]
) -> None:
    """In a minute on a line that echoes: no request and no answer."""
    outcome = _greeted(session_class, handling=handling)
    assert [heard.text for heard in outcome.heard] == [GREETING], outcome.timeline()
    assert outcome.requests == []


@pytest.mark.parametrize("session_class", [AgentSession, TurnSession])
def test_what_acknowledges_a_greeting_that_cannot_be_interrupted_gets_no_reply_of_its_own(
    session_class: type[AgentSession[Any]],
) -> None:
    """Without echo. The question that follows is answered."""
    user = ScriptedUser().says("mhm", at=1.0).says("mhm", at=2.5)
    user.says("what are your opening hours", at=6.0)
    outcome = _greeted(session_class, user=user, echo=False)
    assert [heard.text for heard in outcome.heard] == [GREETING, ANSWER], outcome.timeline()
    assert [request.prompt for request in outcome.requests] == ["user: what are your opening hours"]


def test_a_line_of_the_flow_lets_the_user_be_heard_and_the_echo_with_them() -> None:
    """What the line needs: no echo. On a line that echoes the agent answers itself."""
    user = ScriptedUser().says("what are your opening hours", at=1.0)
    outcome = _greeted(hearing_session, user=user, echo=False)
    assert [heard.text for heard in outcome.heard] == [GREETING, ANSWER], outcome.timeline()
    assert len(_greeted(hearing_session).requests) > 1
