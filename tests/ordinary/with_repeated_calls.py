"""Conversations in which the model makes the same call again in one turn."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

from conversations import Answer, note, ordinary
from livekit.agents import Agent, function_tool
from livekit.agents.beta.tools import send_dtmf_events

ROUNDS = {"max_tool_steps": 6}


class DriveThru(Agent):
    """As the drive-thru of LiveKit's examples: one call for each item."""

    def __init__(self) -> None:
        super().__init__(instructions="Take the order.")
        self.order: list[str] = []

    @function_tool
    async def order_regular_item(self, item_id: str) -> str:
        """Order one item."""
        await asyncio.sleep(0.2)
        self.order.append(item_id)
        note(f"ordered {self.order}")
        return f"The item was added: {item_id}, O_{len(self.order)}"


MAYONNAISE = ("order_regular_item", '{"item_id": "mayonnaise"}')

ordinary(
    "two of the same, one after the other",
    DriveThru,
    says={1.0: "two mayonnaise"},
    answers={
        "two mayonnaise": Answer("", (MAYONNAISE,)),
        "The item was added: mayonnaise, O_1": Answer("", (MAYONNAISE,)),
        "The item was added: mayonnaise, O_2": "Two mayonnaise. Anything else?",
    },
)
ordinary(
    "two of the same at once",
    DriveThru,
    says={1.0: "two mayonnaise"},
    answers={
        "two mayonnaise": Answer("", (MAYONNAISE, MAYONNAISE)),
        "The item was added: mayonnaise, O_2": "Two mayonnaise. Anything else?",
    },
)


class Job(Agent):
    """Its tools give something else each time, or the same text."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")
        self.asked = 0

    @function_tool
    async def get_status(self) -> str:
        """Say whether the job is ready."""
        await asyncio.sleep(0.1)
        self.asked += 1
        note(f"asked {self.asked}")
        return "ready" if self.asked == 4 else "pending"

    @function_tool
    async def next_question(self) -> str:
        """The next question of the survey."""
        self.asked += 1
        return f"question {self.asked}"

    @function_tool
    async def pay(self) -> str:
        """Pay."""
        self.asked += 1
        return "error: the bank does not answer" if self.asked == 1 else "paid"


STATUS, QUESTION, PAY = (("get_status", "{}"),), (("next_question", "{}"),), (("pay", "{}"),)

ordinary(
    "a status that is asked for until it is ready",
    Job,
    says={1.0: "is it ready"},
    answers={
        "is it ready": Answer("", STATUS),
        "pending": Answer("", STATUS),
        "ready": "It is ready.",
    },
    options=ROUNDS,
)
ordinary(
    "three questions in one turn",
    Job,
    says={1.0: "what are the questions"},
    answers={
        "what are the questions": Answer("", QUESTION),
        "question 1": Answer("", QUESTION),
        "question 2": Answer("", QUESTION),
        "question 3": "There are three questions.",
    },
    options=ROUNDS,
)
ordinary(
    "a call that is made again after an error that it returned as text",
    Job,
    says={1.0: "please pay"},
    answers={
        "please pay": Answer("", PAY),
        "error: the bank does not answer": Answer("", PAY),
        "paid": "It is paid.",
    },
)


class _Line:
    """Stands for the participant of a room that there is not: the digits are noted."""

    async def publish_dtmf(self, *, code: int, digit: str) -> None:
        note(f"digit {digit} ({code})")


def telephone() -> Agent:
    """Has LiveKit's own tool."""
    job: Any = SimpleNamespace(room=SimpleNamespace(local_participant=_Line()))
    sys.modules[send_dtmf_events.__module__].get_job_context = lambda: job  # type: ignore[attr-defined]
    return Agent(instructions="Find your way through the menu.", tools=[send_dtmf_events])


ONE = (("send_dtmf_events", '{"events": ["1"]}'),)

ordinary(
    "the same digit twice",
    telephone,
    says={1.0: "press one twice"},
    answers={
        "press one twice": Answer("", ONE),
        "Successfully sent DTMF events: 1": (Answer("", ONE), "I have pressed it twice."),
    },
)
