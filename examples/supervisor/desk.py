"""An agent that asks a human supervisor: a state, two actions and a host fact of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from livekit.agents import Agent, function_tool

from turnfsm import Event, Taken, Verdict
from turnfsm.livekit import TurnSession, host_fact, turn_action

FLOW = Path(__file__).with_name("supervisor.yaml")


class Supervisor:
    """A person who answers questions; here the application's side of a chat window."""

    def __init__(self, online: bool = True) -> None:
        self.online = online
        self.questions: list[str] = []
        self.answers: asyncio.Queue[str] = asyncio.Queue()


class Desk(Agent):
    """Asks the supervisor about decisions that it must not make itself."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(instructions="Ask the supervisor before you give a discount.")
        self.supervisor = supervisor
        self.question = ""
        self.advice = ""

    @function_tool
    async def ask_supervisor(self, question: str) -> str:
        """Ask the supervisor.

        Args:
            question: what to ask
        """
        self.question = question
        return "the supervisor will be asked in a moment; tell the caller to wait"

    @host_fact
    def supervisor_online(self) -> bool:
        return self.supervisor.online

    @turn_action
    async def ring_supervisor(self, event: Event) -> None:
        # The state owns this task: it is cancelled when the caller speaks, or after consult_limit.
        self.supervisor.questions.append(self.question)
        self.question = ""
        self.advice = await self.supervisor.answers.get()

    @turn_action
    def say_advice(self, event: Event) -> None:
        self.session.say(f"My supervisor says: {self.advice}")


def make_session(desk: Desk, **options: object) -> TurnSession:
    """A session that posts `consult` as soon as the agent has asked the caller to wait."""
    session: TurnSession = TurnSession(flow=FLOW, **options)  # type: ignore[arg-type]

    def consult(verdict: Verdict) -> None:
        if isinstance(verdict, Taken) and verdict.dest == "listening" and desk.question:
            session.turn.post("consult")

    session.on("turn_verdict", consult)
    return session
