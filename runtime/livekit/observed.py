"""A session that a flow follows without governing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from livekit.agents import Agent, ToolExecutionUpdatedEvent
from livekit.agents.llm import ToolContext
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm import Flow
from turnfsm.runtime.conversation.vocabulary import flow_for
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.observe.following import Followed, Following
from turnfsm.runtime.view.live import LiveView, sinks_of

from .checks import require_turn_detection
from .event_recorder import SessionEvents
from .overrides.tool_context import TurnContext
from .overrides.tools import running_call
from .seconds import Seconds

__all__ = ["ObservedSession", "observed_session"]

_TO_GOVERN = {
    "actions", "audit", "proof", "publish_state", "session_id", "store", "strict", "telemetry",
}  # fmt: skip
"""The arguments that only a governed session needs."""


class ObservedSession(Followed, AgentSession[Userdata_T]):
    """The result of `TurnSession(observe=True)`: an `AgentSession` that decides as it always does.

    It has the members of a `TurnSession`, and gives its tools a `TurnContext`, so that an
    application needs no other code.
    """

    backchannel_output: object = None

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
        self._following = Following(flow, self._timers, sinks_of(flow, sinks, view))
        SessionEvents(self, self._following.take)
        self.on("tool_execution_updated", self._tool_moves)

    @property
    def user_turns(self) -> Mapping[str, int]:
        """As `TurnSession.user_turns`."""
        return self._following.user_turns

    @property
    def missing_features(self) -> Mapping[str, str]:
        """None is missing, as none is needed."""
        return {}

    @property
    def timers(self) -> Mapping[str, float]:
        """The seconds of the timers."""
        return {**self.turn.flow.timers, **self._timers}

    async def start(self, agent: Agent, **options: Any) -> Any:
        """As `AgentSession.start`.

        Raises:
            TurnfsmError: The flow needs a different turn detection.
        """
        require_turn_detection(self.turn.flow, self, agent)
        self.turn.start()
        return await super().start(agent, **options)

    def _tool_moves(self, event: ToolExecutionUpdatedEvent) -> None:
        if event.update.type == "tool_call_started":  # the tool has not begun to run
            call = event.update.function_call
            running_call(self, call.call_id, TurnContext)
            tools = ToolContext([*self.tools, *self.current_agent.tools])
            self._following.marked[call.name] = tools.get_function_tool(call.name)


def observed_session(**options: Any) -> ObservedSession[Any]:
    """Make one from the arguments of a `TurnSession`."""
    return ObservedSession(**{n: value for n, value in options.items() if n not in _TO_GOVERN})
