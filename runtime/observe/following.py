"""A flow that follows a conversation, and does not govern it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnfsm.fsm import Flow, TurnfsmError, Verdict
from turnfsm.fsm.agenda.turns import TurnEnd
from turnfsm.fsm.audit.events import Recorded
from turnfsm.fsm.audit.triggers import TurnTriggers
from turnfsm.fsm.journal import Closed
from turnfsm.fsm.places import decided_at
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.ledger_call import End
from turnfsm.runtime.turn import TurnRuntime

__all__ = ["FollowedTurn", "Following"]

_ENDS: Mapping[str, End] = {"done": "result", "error": "error"}


class FollowedTurn(TurnRuntime):
    """The runtime of a flow that follows a conversation and carries out no action."""

    __slots__ = ()

    def expect(self, *args: Any, **options: Any) -> None:
        """Does nothing: the framework decides when the user's turn ends."""

    expect_parameter = expect


class Following:
    """The host of a flow that only follows: it posts events, and carries out no action.

    `timers` are seconds that override those of the flow. `turn` is the runtime, whose journal the
    sinks get; `ledger` has the tool calls.

    Raises:
        TurnfsmError: A client of the conversation needs what the flow does.
    """

    def __init__(self, flow: Flow, timers: Mapping[str, float], sinks: Iterable[Sink]) -> None:
        _require_observable(flow)
        self._flow = flow
        tools = flow.tools
        self._triggers = TurnTriggers(
            lambda trigger, of: self.turn.post(trigger, of),
            self._otherwise,
            lambda tool: tools.by_name.get(tool, tools.interrupted) != "cancel",
            self._turn_ended,
        )
        self.turn = FollowedTurn(flow, self, timers=timers, sinks=sinks)
        self.turn.note("rollout", group="observed")
        self.ledger = Ledger()
        self.ledger.note = self.turn.note

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in self._flow.host_facts:
            return lambda: self._triggers.host_facts().get(name, False)
        if name in self._flow.actions:
            return lambda event: None  # it is not carried out
        raise AttributeError(name)

    @property
    def user_turns(self) -> Mapping[str, int]:
        """The number of committed user turns by outcome, and of those that wait for a reply."""
        turns = self._triggers.ends.turns
        asked = sum(bool(turn.speech) for turn in turns.open)
        return {**turns.outcomes, "asked": asked, "queued": 0}

    def take(self, t: float, name: str, fields: Mapping[str, Any]) -> None:
        """Follow one event, as in `Recorded`, `t` seconds after the beginning."""
        if self.turn.closed:
            return
        event = Recorded(t, name, fields)
        if name == "tool_execution_updated":
            self._follow_call(event)
        elif name == "speech_done" and fields.get("interrupted"):
            for call in self.ledger.running:  # its turn does not wait for it any more
                self.ledger.post(call, "turn_over")
        self._triggers.process(event)
        if name == "close":
            self.turn.note(Closed.KIND, **fields)
            self.turn.close()

    def _follow_call(self, event: Recorded) -> None:
        call, known = event.text("call"), self.ledger.find(event.text("call"))
        if event.text("update") == "started" and (known is None or known.over):
            self.ledger.start(call, event.text("name"), "", call)
        elif event.text("update") == "ended":
            self.ledger.end(call, _ENDS.get(event.text("status"), "cancelled"))
            self.ledger.close_turn(call)

    def _turn_ended(self, end: TurnEnd) -> None:
        why = {"why": end.why} if end.why else {}
        self.turn.note("turn", number=end.turn.number, outcome=end.outcome, deferred=False, **why)

    def _otherwise(self, verdict: Verdict, did: str, failure: str, property: str) -> None:
        place = decided_at(self._flow, verdict)
        fields = {"did": did, "decided": str(verdict), "trigger": verdict.trigger}
        if failure:
            fields["failure"] = failure
        if property:
            fields["property"] = property
        self.turn.note("otherwise", **fields, state=verdict.state, at=str(place or "flow:0:0"))


def _require_observable(flow: Flow) -> None:
    called = [name for name, trigger in flow.triggers.items() if trigger.rpc is not None]
    if called:
        raise TurnfsmError(
            f"flow {flow.name!r} cannot be observed: a client calls {called[0]!r} by RPC, and only "
            "a governed session carries that out; observe with a flow without it, such as "
            "flow='turn'"
        )
