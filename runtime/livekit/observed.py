"""A session that a flow follows without governing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from livekit.agents import Agent
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm import Flow
from turnfsm.runtime.conversation.vocabulary import flow_for
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.observe.following import FollowedTurn, Following
from turnfsm.runtime.view.live import LiveView, sinks_of

from .event_recorder import SessionEvents
from .seconds import Seconds

__all__ = ["ObservedSession", "observed_session"]

_TO_GOVERN = {
    "actions", "audit", "proof", "publish_state", "session_id", "store", "strict", "telemetry",
}  # fmt: skip
"""The arguments that only a governed session needs."""


class ObservedSession(AgentSession[Userdata_T]):
    """The result of `TurnSession(observe=True)`: an unchanged `AgentSession`."""

    def __init__(
        self,
        *,
        flow: Flow | str | Path = "turn",
        timers: Mapping[str, float] | None = None,
        limits: str | None = None,
        sinks: Iterable[Sink] = (),
        view: LiveView | bool | str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        flow = flow_for(flow, "a TurnSession")
        seconds = Seconds.of(flow, limits, timers)
        resumes_after = self.options.interruption["false_interruption_timeout"]
        self._timers = seconds.turn(options, resumes_after)
        following = Following(flow, self._timers, sinks_of(flow, sinks, view))
        self._turn = following.turn
        SessionEvents(self, following.take)

    @property
    def turn(self) -> FollowedTurn:
        """The runtime that follows: `state`, `facts` and `journal`."""
        return self._turn

    @property
    def timers(self) -> Mapping[str, float]:
        """The seconds of the timers."""
        return {**self._turn.flow.timers, **self._timers}

    async def start(self, agent: Agent, **options: Any) -> Any:
        """As `AgentSession.start`."""
        self._turn.start()
        return await super().start(agent, **options)


def observed_session(**options: Any) -> ObservedSession[Any]:
    """Make one from the arguments of a `TurnSession`."""
    return ObservedSession(**{n: value for n, value in options.items() if n not in _TO_GOVERN})
