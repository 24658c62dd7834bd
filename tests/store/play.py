"""A conversation that is killed at any of its records, and the worker that goes on with it.

The guest asks for a table, thanks, and asks for a taxi; each asks for a tool call whose effect is a
line in a file. The model answers by what its request shows, and by nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
from livekit.agents import Agent, function_tool

from turnfsm.livekit import TurnContext, TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)
from turnfsm.store import Batch, SessionTaken, SqliteStore

Record = Mapping[str, Any]

GREETING = "Welcome to the Lark."
SORRY = "Sorry for the interruption."
ROOM = "room-1"


class DeadlySink:
    """Kills its process at the record of a number: what was not written by then is lost."""

    def __init__(self, deadly: int) -> None:
        self._left = deadly

    def write(self, record: Record) -> None:
        """Count, and perhaps die."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def close(self) -> None:
        """Nothing to close."""


class DeadlyStore(SqliteStore):
    """Kills its process right after a record was written that `deadly` is true of."""

    def __init__(self, path: Path, deadly: Callable[[Record], bool]) -> None:
        super().__init__(path)
        self._deadly = deadly

    def append(self, batches: Sequence[Batch]) -> Sequence[SessionTaken | None]:
        """Write, and perhaps die."""
        refused = super().append(batches)
        records = (json.loads(line) for batch in batches for line in batch.records)
        for record in records:
            if self._deadly(record):
                os.kill(os.getpid(), signal.SIGKILL)
        return refused


@attrs.frozen
class Guest:
    """A guest's wishes.

    Attributes:
        folder: Where the restaurant's book and the store are.
        works: Seconds that a tool takes, half of them before its effect.
        gives: What a tool gives.
        mark: Decorates the tools.
    """

    folder: Path
    works: float = 1.0
    gives: Any = "done"
    mark: Callable[[Any], Any] = lambda tool: tool

    @property
    def path(self) -> Path:
        """Of the store."""
        return self.folder / "calls.db"

    def stage(self, user: ScriptedUser, **options: Any) -> Stage:
        """The session of one worker."""
        options = {"store": self.path, "session_id": ROOM} | options
        faults = options.pop("faults", ())
        session: Any = partial(TurnSession, **options)
        model = ScriptedLLM(otherwise=answer)
        return Stage(session, user=user, llm=model, agent=self.agent, faults=faults)

    def agent(self) -> Agent:
        """The waiter."""
        return Waiter(self)

    def killed(
        self, user: ScriptedUser, deadly: int | Callable[[Record], bool], **options: Any
    ) -> bool:
        """Play in a process that kills itself; False if it was never killed.

        Args:
            deadly: The number of the record at which it dies, or the record that is written last.
            options: Of the session, and `faults` of its output.
        """
        if (child := os.fork()) == 0:
            try:
                if isinstance(deadly, int):
                    self.stage(user, sinks=[DeadlySink(deadly)], **options).run(40.0)
                else:
                    self.stage(user, store=DeadlyStore(self.path, deadly), **options).run(40.0)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def gone_on(self, user: ScriptedUser, seconds: float = 30.0, **options: Any) -> Outcome:
        """Play on as the next worker."""
        return self.stage(user, **options).run(seconds)

    def effects(self, name: str) -> int:
        """How often a tool has had its effect."""
        book = self.folder / name
        return len(book.read_text().splitlines()) if book.exists() else 0


class Waiter(Agent):
    """Greets, and has two tools."""

    def __init__(self, guest: Guest) -> None:
        super().__init__(
            instructions="Serve.", tools=[self._tool(guest, "book"), self._tool(guest, "taxi")]
        )

    async def on_enter(self) -> None:
        await self.session.say(GREETING)

    @staticmethod
    def _tool(guest: Guest, name: str) -> Any:
        async def call(context: TurnContext[None]) -> Any:
            await asyncio.sleep(guest.works / 2)
            with (guest.folder / name).open("a") as book:
                book.write(f"{context.call_key}\n")
            await asyncio.sleep(guest.works / 2)
            return guest.gives

        return guest.mark(function_tool(call, name=name, description=f"{name} once"))


def talk() -> ScriptedUser:
    """What the guest says."""
    user = ScriptedUser().says("please book a table", at=2.0)
    return user.says("thank you very much", at=8.0).says("now call a taxi please", at=13.0)


def silent() -> ScriptedUser:
    """The guest waits."""
    return ScriptedUser()


def answer(request: Request) -> Reply:
    """What the model says: what its request shows has not been done is done, and told."""
    shown = request.shown
    orders = [
        entry.text for entry in shown if entry.kind == "system" and "connection" in entry.text
    ]
    sorry = f"{SORRY} " if orders and "Apologise" in orders[-1] else ""
    said = [entry.text for entry in shown if entry.kind == "assistant"]
    if any(SORRY in text for text in said[-1:]):
        sorry = ""  # once
    asked = max((n for n, entry in enumerate(shown) if entry.kind == "user"), default=-1)
    wish = shown[asked].text if asked >= 0 else ""
    results = {entry.id: entry.text for entry in shown if entry.kind == "result"}
    told = " ".join(e.text for e in shown if e.kind == "system" and "tell the" in e.text)
    for name in ("book", "taxi"):
        if f"{name} (" in told and name not in wish:
            sorry += f"The {name} is {'perhaps ' if 'not known' in told else ''}arranged. "
    for name in ("book", "taxi"):
        if name not in wish:
            continue
        calls = [e for e in shown if e.kind == "call" and e.name == name]
        if not calls:
            return Reply(f"{sorry}One moment.", calls=Call(name))
        known = "not known" not in results.get(calls[-1].id, "")
        return Reply(f"{sorry}The {name} is {'arranged' if known else 'perhaps arranged'}.")
    return Reply(f"{sorry}With pleasure." if "thank" in wish else f"{sorry}How can I help?")
