"""The session of a pipeline: its flow, its conductor, its agent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any

from turnfsm.fsm import Flow
from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.journal import Closed
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.custom import CustomHost
from turnfsm.runtime.conversation.deferred import DeferredQueue
from turnfsm.runtime.conversation.ports import Report, Settings, Speech
from turnfsm.runtime.conversation.restoring import restore_calls, restore_turns
from turnfsm.runtime.conversation.stored_conversation import StoredConversation
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.store.past import Past
from turnfsm.runtime.store.protocol import SessionTaken, Store
from turnfsm.runtime.turn import TurnRuntime

from .agent import PipecatAgent
from .hearing import OWNER, Hearing, Turn
from .output import Tap
from .stored_messages import StoredMessages, messages_of_calls, restore_messages, turn_of

__all__ = ["PipecatSession"]

logger = logging.getLogger("turnfsm")


class PipecatSession:
    """The `Session` port.

    Args:
        flow: The flow that governs it.
        timers: Seconds that override those of the flow.
        tap: The audio output.
        take: Commits a deferred turn.
        actions: Has methods for the application's own actions and host facts.
        sinks: Each gets every record of the journal.
        tell: Called with the events for the application.
        store, session_id: Where the conversation is saved, and under which name.
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
        store: Store | str | Path | None,
        session_id: str | None,
    ) -> None:
        # A transcript interrupts if a start strategy has proposed that.
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
        self.keeping = Keeping(store, session_id, self.taken) if store is not None else None
        self._past: Past | None = None

    async def restore(self) -> Past | None:
        """Take over the conversation from the previous worker.

        Raises:
            StoreError: The store cannot be used, or the conversation cannot be continued.
        """
        if self.keeping is not None and not self.keeping.acquired:
            self._past = await self.keeping.acquire(self.turn.flow)
        return self._past

    async def take_up(self) -> None:
        """The pipeline is about to start: continue where the previous worker stopped.

        Raises:
            StoreError: As `restore`.
        """
        agent, keeping = self.activity, self.keeping
        if keeping is None:
            agent.begin(0)
            return
        given = list(agent.context.messages)
        past = await self.restore()
        self.conductor.keeping = keeping
        if past is not None:
            await self._restore(past, keeping)
        agent.begin(keeping.epoch)
        kept = StoredConversation(
            StoredMessages(agent, self.hearing, given),
            self.conductor,
            begun=past is not None and past.begun,
            words=keeping.stores_text,
        )
        keeping.begin(self.turn.journal, kept.gather)

    async def _restore(self, past: Past, keeping: Keeping) -> None:
        agent, tools = self.activity, self.activity.calls.tools
        named = {name: tool for name, tool in tools.items() if name is not None}
        past = await restore_calls(past, self.ledger, self.conductor, named, keeping)
        messages = restore_messages(past, agent.names)
        users = [agent.names.of(m) for m in messages if m["role"] == "user"]
        messages_of_calls(self.ledger, messages)
        agent.context.add_messages(messages)
        restore_turns(past, self.ledger, self.conductor, users, OWNER, turn_of)

    def taken(self, error: SessionTaken) -> None:
        """Another worker has taken over the conversation: say nothing more, and end the
        pipeline."""
        self.conductor.record(Closed("taken_over"))
        self.turn.close()
        self.activity.hang_up()

    def start(self) -> None:
        """The pipeline has started."""
        self._tap.govern(self.conductor)
        self.conductor.start()
        self.conductor.resumed()

    def close(self) -> None:
        """The pipeline starts to end: release held and paused audio, and answer no more turns."""
        if not self.closing:
            self.closing = True
            self.conductor.close_started()
            self._tap.release()

    async def aclose(self) -> None:
        """The pipeline has ended."""
        self.close()
        await self.activity.aclose()
        await self.conductor.aclose()
        if self.keeping is not None:
            await self.keeping.aclose()

    def playout(self, begins: bool) -> None:
        """Playout has started or stopped."""
        if begins:
            self.activity.heard()
            self.conductor.playout_started(time.time())
        else:
            self.conductor.playout_finished()

    # -- the port

    def tune(self, tuning: Tuning) -> None:
        """Do nothing: flows with `tuning` are refused, as Pipecat cannot change settings while it
        runs."""

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        """Publish the agent's state."""
        self.agent_state = state

    def report(self, report: Report) -> None:
        """Notify the application."""
        if self._tell is not None:
            self._tell(report)

    def hang_up(self) -> None:
        """End the pipeline after all queued speech."""
        self.activity.hang_up()
