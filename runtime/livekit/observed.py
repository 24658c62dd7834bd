"""A session that a flow follows, and does not govern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from livekit.agents import Agent
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm import Flow, Verdict, load_flow
from turnfsm.fsm.audit.events import Recorded
from turnfsm.fsm.audit.follow import TurnTriggers
from turnfsm.fsm.journal import Closed
from turnfsm.fsm.places import decided_at
from turnfsm.runtime.arguments import check_sinks
from turnfsm.runtime.conversation.vocabulary import check_vocabulary
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.turn import TurnRuntime
from turnfsm.runtime.view.live import LiveView, view_of

from .event_recorder import SessionEvents
from .seconds import Seconds

__all__ = ["FollowedTurn", "ObservedSession", "observed_session"]

_TO_GOVERN = {
    "actions", "audit", "proof", "publish_state", "session_id", "store", "strict", "telemetry",
}  # fmt: skip
"""The arguments that only a session needs which the flow governs."""


class FollowedTurn(TurnRuntime):
    """The runtime of a flow that follows a session: it carries nothing out."""

    __slots__ = ()

    def expect(self, *args: Any, **options: Any) -> None:
        """Does nothing: the session decides when the user's turn ends."""

    expect_parameter = expect


class ObservedSession(AgentSession[Userdata_T]):
    """What `TurnSession(observe=True)` makes: an `AgentSession` in which nothing is changed."""

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
        flow = flow if isinstance(flow, Flow) else load_flow(flow)
        check_vocabulary(flow, "a TurnSession")
        seconds = Seconds.of(flow, limits, timers)
        resumes_after = self.options.interruption["false_interruption_timeout"]
        self._timers = seconds.turn(options, resumes_after)
        sinks = check_sinks(sinks)
        if shown := view_of(view):
            sinks += (shown.feed(flow, sinks),)
        follower = _Follower(self, flow)
        self._turn = FollowedTurn(flow, follower, timers=self._timers, sinks=sinks)
        follower.turn = self._turn
        self._turn.note("rollout", group="observed")

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
    """Make one of the arguments of a `TurnSession`."""
    return ObservedSession(**{n: value for n, value in options.items() if n not in _TO_GOVERN})


class _Follower(SessionEvents):
    """Posts what happens, as the host of a flow whose actions it does not carry out."""

    turn: FollowedTurn

    def __init__(self, session: AgentSession[Any], flow: Flow) -> None:
        self._flow = flow
        self._triggers = TurnTriggers(self._post, self._otherwise)
        super().__init__(session)

    def __getattr__(self, name: str) -> Any:
        if name in self._flow.host_facts:
            return partial(self._holds, name)
        if name in self._flow.actions:
            return _nothing
        raise AttributeError(name)

    def take(self, t: float, name: str, fields: Mapping[str, Any]) -> None:
        """Follow one event."""
        if self.turn.closed:
            return
        self._triggers.hear(Recorded(t, name, fields))
        if name == "close":
            self.turn.note(Closed.KIND, **fields)
            self.turn.close()

    def _post(self, trigger: str, of: Any) -> Verdict:
        return self.turn.post(trigger, of)

    def _holds(self, fact: str) -> bool:
        return self._triggers.host_facts().get(fact, False)

    def _otherwise(self, verdict: Verdict, did: str) -> None:
        place = decided_at(self._flow, verdict)
        told = {"did": did, "decided": str(verdict), "trigger": verdict.trigger}
        self.turn.note("otherwise", **told, state=verdict.state, at=str(place or "flow:0:0"))


def _nothing(event: Any) -> None:
    """Nothing is carried out."""
