"""The state that a conversation's reports share."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from turnfsm.fsm import Verdict
from turnfsm.fsm.flow import NEVER, Owners, Tuning
from turnfsm.fsm.journal import SessionEvent
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import Log
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.turn import TurnRuntime

from .expecting import Expecting
from .floor import Floor
from .ports import Agent, Session
from .progress import Progress
from .speeches import Speeches
from .tool_calls import ToolCalls
from .user_turns import UserTurns

__all__ = ["Core"]


class Core(ABC):
    """The `Conductor` as its parts see it: the state of the conversation, its flow, and the work
    that waits until the flow accepts it.

    Attributes:
        keeping: Writes to the store, if the session has one.
        turn: Runs the flow.
        tuned: The settings that are in force; `tuned_by`: what they belong to.
    """

    session: Session
    ledger: Ledger
    log: Log
    floor: Floor
    speeches: Speeches
    progress: Progress
    tools: ToolCalls
    turns: UserTurns
    expecting: Expecting
    keeping: Keeping | None
    turn: TurnRuntime

    def __init__(self) -> None:
        self.tuned, self.tuned_by = Tuning(), Owners()
        self._waiting: list[asyncio.Event] = []
        self._offers_soon = False

    # -- pending work

    @abstractmethod
    def _work_waits(self) -> bool:
        """Work is pending."""

    @abstractmethod
    def _offer_pending_work(self) -> None:
        """Offer it to the flow."""

    def moved(self) -> None:
        """Something has changed: retry pending work."""
        for waiter in self._waiting:
            waiter.set()
        self.offer_soon()

    async def until(self, holds: Callable[[], bool], within: float = NEVER) -> bool:
        """Wait until a condition holds, at most for these seconds. It is checked after every
        change.

        Returns:
            Whether it holds.
        """
        moved = asyncio.Event()
        self._waiting.append(moved)
        try:
            async with asyncio.timeout(None if within == NEVER else within):
                while not holds():
                    moved.clear()
                    await moved.wait()
            return True
        except TimeoutError:
            return False
        finally:
            self._waiting.remove(moved)

    def offer_soon(self) -> None:
        """Offer the work in the next iteration of the event loop: the floor may be about to be
        returned."""
        if not self._offers_soon and self._work_waits():
            self._offers_soon = True
            asyncio.get_running_loop().call_soon(self._offer_now)

    def _offer_now(self) -> None:
        # set until the end: a trigger posted here must not schedule another attempt
        try:
            self._offer_pending_work()
        finally:
            self._offers_soon = False

    # -- the session and the flow

    @property
    def agent(self) -> Agent | None:
        """The active agent."""
        return self.session.activity

    @property
    def closing(self) -> bool:
        """The session closes."""
        return self.session.closing

    @property
    def governs(self) -> bool:
        """The flow still decides: the session has not closed."""
        return not self.turn.closed

    @property
    def tuning(self) -> Tuning:
        """The settings of the current state, with those of the agent, of the tools that the turn
        waits for, and of the agent's question."""
        return self.turn.flow.tuning_in(self.turn.state, self.owners)

    @property
    def owners(self) -> Owners:
        """What has settings of its own now, besides the state."""
        flow, agent = self.turn.flow, self.agent
        named = agent.setup.name if flow.overlays and agent is not None else None
        said = self.floor.last_sentence if flow.questions else ""
        return Owners(
            named if named in flow.overlays else None,
            tuple(tool for tool in flow.tools.tuning if self.tools.blocks((tool,))),
            next((name for name, one in flow.questions.items() if one.is_in(said)), None),
        )

    def record(self, event: SessionEvent) -> None:
        """Add a note to the journal."""
        if self.governs:
            self.turn.note(event.KIND, **event.fields())

    def offer(self, trigger: str, of: str | None = None, /, **data: object) -> Verdict | None:
        """Post a trigger that only some flows have.

        A request that the flow would refuse is not posted: nobody has asked for it, so the journal
        shows no refusal.

        Returns:
            The verdict; None if nothing was posted, also if the session has closed.
        """
        triggers = self.turn.flow.triggers
        if trigger not in triggers or not self.governs:
            return None
        if triggers[trigger].kind == "request" and not self.turn.ask(trigger, of):
            return None
        return self.turn.post(trigger, of, **data)
