"""What the journal says of a tool call, and in which order."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import attrs
import pytest
from livekit.agents import Agent, RunContext, function_tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

BOOKED, MOMENT = "It is booked.", "One moment please."
MOVES = ("started", "turn_over", "ended", "committed", "late_result")


@attrs.frozen
class Play:
    """A conversation in which a guest asks for a table.

    Attributes:
        life: The notes about the call, and what the agent said, in this order.
        gives: What the tool returns.
        works: Seconds that the tool takes.
        preamble: What the model says while it makes the call.
        says: What the tool says.
        updates: The tool sends an update before it works.
        then: What the guest says afterwards, and when, in seconds.
    """

    life: list[str]
    gives: str | None = "booked"
    works: float = 0.0
    preamble: str = ""
    says: str = ""
    updates: bool = False
    then: tuple[str, float] | None = None


DELIVERED = ["committed", BOOKED, "heard"]
PLAYS = {
    "plain": Play(["started", "ended", *DELIVERED]),
    "preamble": Play(["started", "ended", MOMENT, *DELIVERED], preamble=MOMENT),
    "the tool speaks": Play(
        ["started", "ended", "committed", MOMENT, BOOKED, "heard"], says=MOMENT
    ),
    "no result": Play(["started", "ended", *DELIVERED], gives=None, then=("thanks a lot", 12.0)),
    "interrupted": Play(
        ["started", "turn_over", BOOKED, "heard", "ended", *DELIVERED],
        works=6.0,
        then=("are you there", 5.0),
    ),
    "updated": Play(
        ["started", BOOKED, "late_result", "ended", BOOKED, "heard"], works=6.0, updates=True
    ),
}


@pytest.mark.parametrize("case", PLAYS)
def test_the_journal_says_what_was_committed_and_heard(case: str) -> None:
    """A result is delivered by the reply that was made with it, by nothing else that is said."""
    play = PLAYS[case]

    @function_tool
    async def book(context: RunContext[None]) -> Any:
        """Book a table."""
        if play.updates:
            await context.update("The kitchen is asked.")
        if play.says:
            context.session.say(play.says)
        await asyncio.sleep(play.works)
        return play.gives

    model = ScriptedLLM(
        {"book": Reply(play.preamble, calls=Call("book"))}, {"book": BOOKED}, otherwise=BOOKED
    )
    user = ScriptedUser().says("book a table", at=1.0)
    if play.then is not None:
        user.says(play.then[0], at=play.then[1])
    agent = partial(Agent, instructions="Help.", tools=[book])
    stage = Stage(TurnSession, user=user, llm=model, agent=agent)
    stage.run(30.0)
    kinds = {f"tool_{trigger}" for trigger in MOVES} | {"reply_heard"}
    life = [
        note.kind.rpartition("tool_")[2].removeprefix("reply_")
        if note.kind in kinds
        else note.data["text"]
        for note in stage.session.turn.journal.notes()  # type: ignore[attr-defined]
        if note.kind in kinds or note.data.get("role") == "assistant"
    ]
    assert life == play.life
    (call,) = stage.session.ledger  # type: ignore[attr-defined]
    assert (call.gave, call.committed) == ("result", True)
    assert not stage.session.ledger.delivers(call.id)  # type: ignore[attr-defined]
