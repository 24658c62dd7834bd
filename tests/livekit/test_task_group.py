"""Tasks that the next agent awaits in `on_enter`, and a user who interrupts the handoff."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import Agent, AgentTask, function_tool
from livekit.agents.beta.workflows import TaskGroup

from turnfsm.fsm.audit.rules.outages import outages_in
from turnfsm.fsm.journal import AgentEntryFailed, session_event
from turnfsm.fsm.metrics.figures import measure
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage
from turnfsm.runtime.testing.livekit.scripted_llm import Request
from turnfsm.runtime.testing.livekit.tasks import complete


class AskName(AgentTask[str]):
    """Asks for a name."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the name.")

    async def on_enter(self) -> None:
        self.session.generate_reply(instructions="ask")

    @function_tool
    async def take_name(self, name: str) -> Any:
        """Take the name."""
        return complete(self, name)


class AskDay(AgentTask[str]):
    """Asks for a day."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the day.")

    async def on_enter(self) -> None:
        self.session.generate_reply(instructions="ask")

    @function_tool
    async def take_day(self, day: str) -> Any:
        """Take the day."""
        return complete(self, day)


class Booker(Agent):
    """Takes a booking when it enters."""

    def __init__(self, booked: list[Any], breaks: bool) -> None:
        super().__init__(instructions="Book.")
        self._booked, self._breaks = booked, breaks

    async def on_enter(self) -> None:
        if self._breaks:
            raise LookupError("no calendar")
        tasks = TaskGroup(summarize_chat_ctx=False)
        tasks.add(AskName, id="name", description="the name")
        tasks.add(AskDay, id="day", description="the day")
        self._booked.append((await tasks).task_results)
        self.session.say("Your table is booked.")


class Desk(Agent):
    """Hands over to the booker."""

    def __init__(self, breaks: bool = False) -> None:
        super().__init__(instructions="Help.")
        self.booked: list[Any] = []
        self._breaks = breaks

    @function_tool
    async def book(self) -> tuple[Agent, str]:
        """Book a table."""
        return Booker(self.booked, self._breaks), "one moment"


def _answer(request: Request) -> Reply:
    """Make the call that the user's sentence asks for; ask for it if nothing else."""
    if "table" in request.prompt:
        return Reply("I put you through to the booking desk.", Call("book"))
    if "ann" in request.prompt:
        return Reply("Thank you.", Call("take_name", {"name": "ann"}))
    if "tomorrow" in request.prompt:
        return Reply("Thank you.", Call("take_day", {"day": "tomorrow"}))
    return Reply("Who are you, and when do you come?")


def _stage(desk: Desk, moment: float | None) -> Stage:
    user = ScriptedUser().says("a table please", at=1.0)
    if moment is not None:
        user = user.says("wait a second", at=moment)
    # who has asked for the table again is asked for the name again
    for start in (14.0, 38.0):
        user = user.says("my name is ann", at=start).says("tomorrow please", at=start + 6.0)
        user = user.says("a table please", at=start + 14.0)
    return Stage(TurnSession, user=user, llm=ScriptedLLM(otherwise=_answer), agent=lambda: desk)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("moment", [round(2.6 + step * 0.4, 1) for step in range(24)])
def test_a_barge_in_at_any_moment_of_a_handoff_leaves_the_tasks_alive(moment: float) -> None:
    """The next agent's `on_enter` does not belong to the speech that was interrupted."""
    desk = Desk()
    _stage(desk, moment).run(70.0)
    assert desk.booked[0] == {"name": "ann", "day": "tomorrow"}


def test_an_entry_that_fails_is_in_the_journal_and_in_the_audit() -> None:
    """What the agent had to do is not done, and it is said so."""
    stage = _stage(Desk(breaks=True), None)
    stage.run(10.0)
    session: Any = stage.session
    journal = session.turn.journal.read()
    events = [session_event(note) for note in journal.notes]
    (failed,) = (event for event in events if isinstance(event, AgentEntryFailed))
    assert failed.error == "LookupError"
    (finding,) = outages_in(measure(journal))
    assert (
        finding.what
        == f"on_enter of {failed.agent} failed (LookupError), and the rest of it did not run"
    )
