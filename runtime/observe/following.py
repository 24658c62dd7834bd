"""A flow that follows a conversation, and does not govern it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnfsm.fsm import Flow, Verdict
from turnfsm.fsm.audit.events import Recorded
from turnfsm.fsm.audit.triggers import TurnTriggers
from turnfsm.fsm.journal import Closed
from turnfsm.fsm.places import decided_at
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.turn import TurnRuntime

__all__ = ["FollowedTurn", "Following"]


class FollowedTurn(TurnRuntime):
    """The runtime of a flow that follows a conversation and carries out no action."""

    __slots__ = ()

    def expect(self, *args: Any, **options: Any) -> None:
        """Does nothing: the framework decides when the user's turn ends."""

    expect_parameter = expect


class Following:
    """The host of a flow that only follows: it posts events, and carries out no action.

    `timers` are seconds that override those of the flow. `turn` is the runtime, whose journal the
    sinks get.
    """

    def __init__(self, flow: Flow, timers: Mapping[str, float], sinks: Iterable[Sink]) -> None:
        self._flow = flow
        tools = flow.tools
        self._triggers = TurnTriggers(
            lambda trigger, of: self.turn.post(trigger, of),
            self._otherwise,
            lambda tool: tools.by_name.get(tool, tools.interrupted) != "cancel",
        )
        self.turn = FollowedTurn(flow, self, timers=timers, sinks=sinks)
        self.turn.note("rollout", group="observed")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in self._flow.host_facts:
            return lambda: self._triggers.host_facts().get(name, False)
        if name in self._flow.actions:
            return lambda event: None  # it is not carried out
        raise AttributeError(name)

    def take(self, t: float, name: str, fields: Mapping[str, Any]) -> None:
        """Follow one event, as in `Recorded`, `t` seconds after the beginning."""
        if self.turn.closed:
            return
        self._triggers.process(Recorded(t, name, fields))
        if name == "close":
            self.turn.note(Closed.KIND, **fields)
            self.turn.close()

    def _otherwise(self, verdict: Verdict, did: str) -> None:
        place = decided_at(self._flow, verdict)
        fields = {"did": did, "decided": str(verdict), "trigger": verdict.trigger}
        self.turn.note("otherwise", **fields, state=verdict.state, at=str(place or "flow:0:0"))
