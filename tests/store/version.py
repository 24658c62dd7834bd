"""Versions of a program that books a table, and whose flow is edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
from flow_text import parsed
from livekit.agents import Agent

from turnfsm import Flow, load_flow
from turnfsm.livekit import OrphanedCall, recover_with
from turnfsm.runtime.testing.livekit import Call, Reply, Request, ScriptedLLM, ScriptedUser, Stage

from .play import Guest, Waiter, silent

HOTEL = "flow: hotel\nextends: turn\n"
BOOKED, PERHAPS = "It is booked.", "It is perhaps booked."
RENAMED = f"{HOTEL}migrates: {{tools: {{book: book_table}}}}\n"
INN = "flow: inn\nextends: turn\nmigrates: {flow: hotel, tools: {book: book_table}}\n"


def flow_of(text: str) -> Flow:
    """The flow of a text, of none the flow turn; not proved, for only the store is under test."""
    if not text:
        return load_flow("turn")
    return parsed(text, "hotel.yaml")


class Clerk(Waiter):
    """Greets, and has the tool of its version."""

    def __init__(self, version: Version) -> None:
        tools = [self._tool(version, version.tool)] if version.tool else []
        Agent.__init__(self, instructions="Serve.", tools=tools)


@attrs.frozen
class Version(Guest):
    """A version of the program.

    Attributes:
        flow: Its flow.
        tool: The name of its tool; empty if it has none.
        repeats: The model makes the call a second time.
        interrupts: The second in which the application interrupts the agent; 0: never.
    """

    flow: str = HOTEL
    tool: str = "book"
    repeats: bool = False
    interrupts: float = 0.0

    def stage(self, user: ScriptedUser, **options: Any) -> Stage:
        stage = super().stage(user, flow=flow_of(self.flow), proof="off", **options)
        stage.llm = ScriptedLLM(otherwise=self.answer)
        return stage.at(self.interrupts, _interrupt) if self.interrupts else stage

    def agent(self) -> Agent:
        return Clerk(self)

    def answer(self, request: Request) -> Reply:
        """The model makes the call until it has a result, and tells what it has got."""
        shown = request.shown
        calls = [entry.name for entry in shown if entry.kind == "call"]
        results = [entry.text for entry in shown if entry.kind == "result"]
        asked = any(entry.kind == "user" and "book" in entry.text for entry in shown)
        if self.tool and asked and len(calls) < 1 + self.repeats:
            return Reply(calls=Call(self.tool))
        if results:
            return Reply(PERHAPS if "not known" in results[-1] else BOOKED)
        return Reply("How can I help?")

    def booked(self) -> int:
        """How often a table was booked, whatever the tool was called."""
        return self.effects("book") + self.effects("book_table")

    def heard(self) -> list[str]:
        """What the user hears of it as the next worker."""
        outcome = self.gone_on(silent(), 12.0)
        assert outcome.orphans == ()
        return [one.text for one in outcome.heard]


def _interrupt(stage: Stage) -> None:
    stage.session.interrupt()


def asks() -> ScriptedUser:
    return ScriptedUser().says("please book a table", at=2.0)


def found(call: OrphanedCall) -> str:
    """What became of a call whose worker has died."""
    return f"done by {call.name}"


def versions(folder: Path, works: float = 1.0) -> tuple[Version, Version]:
    """The old and the new one: the flow and its tool are renamed."""
    old = Version(folder, works, mark=recover_with(found))
    return old, attrs.evolve(old, flow=INN, tool="book_table")
