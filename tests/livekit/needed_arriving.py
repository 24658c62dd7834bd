"""Conversations in which an agent takes over while a call of the one before still runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from both import conversation
from livekit.agents import Agent, RunContext, function_tool

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

__all__ = ["ARRIVING", "Desk", "Porter", "a_kept_turn", "desk_stage"]


class Desk(Agent):
    """Books, hands over, and greets if it takes over."""

    def __init__(self, booked: list[str], given: dict[str, Any] | None = None) -> None:
        super().__init__(instructions="Help.", **(given or {}))
        self._booked, self._greets = booked, given is not None

    async def on_enter(self) -> None:
        if self._greets:
            self.session.say("Welcome to the desk.")

    @function_tool
    async def book(self, context: RunContext) -> str:
        """Book."""
        await asyncio.sleep(6.0)
        self._booked.append("booked")
        return "booked"

    @function_tool
    async def transfer(self, context: RunContext) -> tuple[Agent, str]:
        """Hand over."""
        await asyncio.sleep(1.0)
        return Desk(self._booked, conversation(context.session)), "transferred"


class Porter(Agent):
    """Takes the conversation over, and has no tools."""

    def __init__(self, booked: list[str], given: dict[str, Any]) -> None:
        super().__init__(instructions="Help.", **given)


def desk_stage(user: ScriptedUser, booked: list[str], *, by_tool: bool = False) -> Stage:
    """A conversation at the desk; `by_tool` hands over with the booking."""
    calls = [Call("book"), Call("transfer")] if by_tool else [Call("book")]
    model = ScriptedLLM(
        {"book a table": Reply("One moment.", calls=calls), "how long": "An hour."},
        {"book": "It is booked.", "transfer": "It is booked."},
    )
    return Stage(TurnSession, user=user, llm=model, agent=lambda: Desk(booked))


def a_kept_turn(
    booked: list[str],
    *,
    by_tool: bool = False,
    make: Callable[[list[str], dict[str, Any]], Agent] = Desk,
) -> Outcome:
    """The user speaks while the handoff waits for a call, or for what is said about it."""
    speaks = 9.2 if by_tool else 4.5
    user = ScriptedUser().says("book a table", at=1.0).says("how long", at=speaks, stt_delay=0.05)
    stage = desk_stage(user, booked, by_tool=by_tool)
    if not by_tool:
        stage.at(
            3.8,
            lambda s: s.session.update_agent(make(booked, conversation(s.session))),
        )
    return stage.run(35.0)


def a_call_is_not_made_again() -> list[str]:
    """The next agent is asked a kept turn with the call that ended meanwhile."""
    booked: list[str] = []
    a_kept_turn(booked)
    return [] if booked == ["booked"] else [f"the table is booked {len(booked)} times"]


def the_next_agent_is_heard_first() -> list[str]:
    """What it says as it enters is not cut by words that are older."""
    heard = a_kept_turn([]).heard_saying("Welcome to the desk.")
    return [] if heard is not None else ["the next agent does not greet"]


def the_next_agent_gets_what_a_model_has_heard() -> list[str]:
    """The model was about to answer by itself when another agent took over, which has no model."""
    booked: list[str] = []
    user = ScriptedUser().says("book a table", at=0.5).says("how long", at=4.0)
    answers = ScriptedLLM({"book": Reply(calls=Call("book")), "how long": "An hour."})
    model: Any = ScriptedRealtime(user, answers, ScriptedTTS())
    stage = Stage(
        *(TurnSession,),
        **{"user": user, "llm": model, "turn_handling": {"turn_detection": "realtime_llm"}},
        agent=lambda: Desk(booked),
    )
    following = Agent(instructions="Go on.", llm=answers)
    stage.at(3.0, lambda s: s.session.update_agent(following))
    answer = stage.run(20.0).heard_saying("An hour.")
    return [] if answer is not None else ["the next agent does not know what the user has said"]


def the_next_agent_carries_out_a_commit() -> list[str]:
    """The application commits words that come after the handoff."""
    user = ScriptedUser().says("hello", at=1.0, duration=0.8, stt_delay=1.9)
    stage = Stage(TurnSession, user=user, turn_handling={"turn_detection": "manual"})
    stage.at(2.2, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    stage.at(2.3, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    asked = [request.prompt for request in stage.run(8.0).requests]
    return [] if asked == ["user: hello"] else [f"asked: {asked}"]


ARRIVING: dict[str, Callable[[], list[str]]] = {
    "ArrivingActivity._schedule_speech": the_next_agent_is_heard_first,
    "ArrivingActivity._start_session": lambda: [
        *a_call_is_not_made_again(),
        *the_next_agent_gets_what_a_model_has_heard(),
    ],
    "PassingActivity._start_session": the_next_agent_carries_out_a_commit,
}
