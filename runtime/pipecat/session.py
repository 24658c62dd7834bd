"""The session of a pipeline: its flow, its conductor, its agent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from turnfsm.fsm import Flow
from turnfsm.fsm.flow import Tuning
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.custom import CustomHost
from turnfsm.runtime.conversation.deferred import DeferredQueue
from turnfsm.runtime.conversation.ports import Report, Settings, Speech
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.turn import TurnRuntime

from .agent import PipecatAgent
from .hearing import Hearing, Turn
from .output import Tap

__all__ = ["PipecatSession"]

logger = logging.getLogger("turnfsm")


class PipecatSession:
    """A `Session` of the conversation.

    Args:
        flow: The flow that governs it.
        timers: Seconds that replace those of the flow.
        tap: What the agent is heard on.
        take: Commits a deferred turn.
        actions: Has methods for the application's own actions and host facts.
        sinks: Each gets every record of the journal.
        tell: Called with what the application is told.
    """

    def __init__(
        self,
        flow: Flow,
        timers: Mapping[str, float],
        tap: Tap,
        take: Callable[[Turn], Coroutine[Any, Any, None]],
        *,
        actions: object | None,
        sinks: Iterable[Sink],
        tell: Callable[[Report], None] | None,
    ) -> None:
        # Words interrupt where a start strategy has proposed that.
        self.settings = Settings({**flow.timers, **timers}, min_words=1)
        self.closing = False
        self.agent_state = "listening"
        self.ledger = Ledger()
        self._tap, self._tell = tap, tell
        self.conductor = Conductor(self, self.ledger, DeferredQueue())
        self.hearing = Hearing(self.conductor)
        self.activity = PipecatAgent(self.conductor, self.hearing, tap, take)
        host = CustomHost(flow, self.conductor.host, self, actions, lambda: None)
        self.left_over = host.left_to_agent
        self.turn = TurnRuntime(flow, host, timers=timers, sinks=sinks)
        self.conductor.govern(self.turn)

    def start(self) -> None:
        """The pipeline has started."""
        self._tap.govern(self.conductor)
        self.conductor.start()
        self.conductor.resumed()

    def close(self) -> None:
        """The pipeline begins to end: what was held or paused is let go, and nobody answers."""
        if not self.closing:
            self.closing = True
            self.conductor.close_begun()
            self._tap.release()

    async def aclose(self) -> None:
        """It has ended."""
        self.close()
        await self.activity.aclose()
        await self.conductor.aclose()

    def playout(self, begins: bool) -> None:
        """The output begins to be heard, or falls silent."""
        if begins:
            self.activity.heard()
            self.conductor.playout_started(time.time())
        else:
            self.conductor.playout_finished()

    # -- the port

    def tune(self, tuning: Tuning) -> None:
        """Such flows are refused: Pipecat has no settings that can change while it runs."""

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        """Publish the agent's state."""
        self.agent_state = state

    def report(self, report: Report) -> None:
        """Tell the application."""
        if self._tell is not None:
            self._tell(report)

    def hang_up(self) -> None:
        """End the pipeline, once everything that waits for the floor has been said."""
        self.activity.hang_up()
