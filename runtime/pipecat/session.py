"""The session of a pipeline: its flow, its conductor, its agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from turnfsm.fsm import Flow
from turnfsm.fsm.journal import Closed
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.custom import CustomHost
from turnfsm.runtime.conversation.orphaned_calls import read_calls
from turnfsm.runtime.conversation.ports import Settings
from turnfsm.runtime.conversation.restoring import restore_calls, restore_turns
from turnfsm.runtime.conversation.session_turn import SessionTurn
from turnfsm.runtime.conversation.stored_conversation import StoredConversation
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.observe.observers import Observers, telemetry_of
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.store.past import Past
from turnfsm.runtime.store.protocol import SessionTaken, Store

from .agent import PipecatAgent, Reports
from .backchannels import PipecatBackchannels
from .functions import parameters_of
from .hearing import Hearing
from .output import Tap
from .own_turns import OwnTurns
from .sources import Parts
from .stored_messages import StoredMessages, restore_messages, turn_of

__all__ = ["PipecatSession"]


class PipecatSession(PipecatBackchannels):
    """The conversation of a pipeline: its flow, its agent, and its stored state.

    Args:
        unproved: As for `Conductor.govern`.

    The other arguments are those of `TurnGovernor`.

    Attributes:
        tap: The audio output.
        parts: The governed parts of the pipeline.
        left_over: The actions and host facts of the flow that nothing implements.
    """

    def __init__(
        self,
        flow: Flow,
        timers: Mapping[str, float],
        unproved: Sequence[str],
        *,
        actions: object | None,
        sinks: Iterable[Sink],
        on_report: Reports | None,
        telemetry: object,
        audit: bool,
        store: Store | str | Path | None,
        session_id: str | None,
    ) -> None:
        super().__init__()
        self.load_backchannels(flow)
        self.has_backchannels = any(action.backchannel for action in flow.actions.values())
        self.ledger, self.tap, self.parts = Ledger(), Tap(), Parts(flow)
        self._timers = {**flow.timers, **timers}
        report = on_report or (lambda broken: None)
        self._observers = Observers(telemetry_of(telemetry), audit, report)
        self.keeping = Keeping(store, session_id, self.taken) if store is not None else None
        self.agent = PipecatAgent(Settings(self._timers), self.tap, on_report)
        self.conductor = self.agent.conductor = Conductor(self.agent, self.ledger, self.keeping)
        self.hearing = self.agent.hearing = Hearing(self.conductor)
        if flow.turn_detection is not None:
            self.agent.own_turns = OwnTurns(self.agent)
        host = CustomHost(flow, self.conductor.host, self, actions, lambda: None)
        self.left_over = host.left_to_agent
        self.turn = SessionTurn(
            flow,
            host,
            self.conductor.expecting,
            lambda tool: parameters_of(self.agent.context, tool),
            timers=timers,
            sinks=sinks,
        )
        self.conductor.govern(self.turn, unproved)

    async def restore(self) -> Past | None:
        """Take over the conversation from the previous worker.

        Raises:
            StoreError: The store cannot be used, or the conversation cannot be continued.
        """
        if self.keeping is None:
            return None
        return await self.keeping.acquire(self.turn.flow, read_calls)

    async def take_up(self) -> None:
        """The pipeline is about to start: continue where the previous worker stopped.

        Raises:
            StoreError: As `restore`.
        """
        agent, keeping = self.agent, self.keeping
        agent.functions.begin(agent.context)
        if keeping is None:
            agent.begin(0)
            return
        given = list(agent.context.messages)
        past = await self.restore()
        if past is not None:
            await self._restore(past, keeping)
        agent.begin(keeping.epoch)
        messages = StoredMessages(agent, self.hearing, given)
        StoredConversation(messages, self.conductor, keeping, past)

    async def _restore(self, past: Past, keeping: Keeping) -> None:
        agent, tools = self.agent, self.agent.calls.tools
        named = {name: tool for name, tool in tools.items() if name is not None}
        past = await restore_calls(past, self.conductor, named, keeping)
        messages = restore_messages(past, self.ledger, agent.names)
        users = [agent.names.of(m) for m in messages if m["role"] == "user"]
        agent.context.add_messages(messages)
        restore_turns(past, self.conductor, users, turn_of)

    def taken(self, error: SessionTaken) -> None:
        """Another worker has taken over the conversation: say nothing more, and end the
        pipeline."""
        self.conductor.record(Closed("taken_over"))
        self.turn.close()
        self.agent.hang_up()

    def start(self) -> None:
        self.tap.govern(self.conductor)
        self._observers.watch(self.turn, self._timers)
        self.agent.start()

    async def aclose(self) -> None:
        """The pipeline has ended."""
        await self.agent.aclose()
        self._observers.end()
        if self.keeping is not None:
            await self.keeping.aclose()
