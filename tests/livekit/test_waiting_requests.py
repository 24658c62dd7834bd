"""A reply waits until its request may be sent, and is interrupted before that."""

from __future__ import annotations

from typing import Any

from livekit.agents import Agent, function_tool
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage


class Billing(Agent):
    """The agent that a tool hands over to."""

    def __init__(self) -> None:
        super().__init__(instructions="Bill.")


@function_tool
async def transfer() -> Any:
    """Transfer the user to billing."""
    return Billing(), "put through"


look_up = tool("look_up", "found", seconds=4.0)


PREAMBLE = "I will put you through to billing in a moment, please stay on the line."
ANSWERS = {
    "how long": "An hour.",
    "billing": Reply(PREAMBLE, calls=(Call("transfer"), Call("look_up"))),
}


def _play() -> Outcome:
    # What the user says may be an objection to the handoff, until their turn ends. The wait for
    # more words is over before that, and look_up's result is due.
    user = ScriptedUser().says("to billing please", at=0.5).says("and how long", at=6.5)
    model = ScriptedLLM(ANSWERS, {"look_up": "It is found.", "transfer": "You stay with me."})
    handling: Any = {"endpointing": {"min_delay": 3.0}, "preemptive_generation": {"enabled": False}}
    tools: Any = [transfer, look_up]
    return Stage(TurnSession, user=user, llm=model, tools=tools, turn_handling=handling).run(30.0)


def test_a_reply_that_is_interrupted_before_its_request_asks_no_model() -> None:
    """LiveKit would send the request, and cancel it at once."""
    outcome = _play()
    assert [r.outcome for r in outcome.requests] == ["complete"] * 2, outcome.timeline()
    assert outcome.heard_saying("An hour.") is not None
