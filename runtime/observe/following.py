"""A flow that follows a conversation, and does not govern it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnfsm.fsm import Flow, TurnfsmError, Verdict
from turnfsm.fsm.agenda.turns import TurnEnd
from turnfsm.fsm.audit.events import Recorded
from turnfsm.fsm.audit.triggers import TurnTriggers
from turnfsm.fsm.flow import Policy
from turnfsm.fsm.journal import Closed
from turnfsm.fsm.places import decided_at
from turnfsm.fsm.source import Location
from turnfsm.runtime.conversation.backchannels import Backchannels
from turnfsm.runtime.conversation.confirming import Confirming
from turnfsm.runtime.conversation.host import TurnHost
from turnfsm.runtime.conversation.policies import policy_of
from turnfsm.runtime.event import Event
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.ledger_call import End
from turnfsm.runtime.turn import TurnRuntime

__all__ = ["Followed", "FollowedTurn", "Following"]

_OF_TURNS = (TurnHost, Confirming, Backchannels)
"""What these carry out follows from the decisions about turns, which have notes of their own."""

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
    sinks get; `ledger` has the tool calls. `marked` has the tools by name, for what the code says
    about them.

    Raises:
        TurnfsmError: A client of the conversation needs what the flow does.
    """

    def __init__(self, flow: Flow, timers: Mapping[str, float], sinks: Iterable[Sink]) -> None:
        _require_observable(flow)
        self._flow = flow
        self.marked: dict[str, object] = {}
        self._triggers = TurnTriggers(
            lambda trigger, of: self.turn.post(trigger, of),
            self._otherwise,
            lambda tool: self._policy(tool) != "cancel",
            self._turn_ended,
        )
        self.turn = FollowedTurn(flow, self, timers=timers, sinks=sinks)
        self.turn.note("rollout", group="observed")
        self.ledger = Ledger()
        self.ledger.note = self.turn.note

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in self._flow.host_facts:
            return lambda: self._holds(name)
        if name in self._flow.actions:
            return lambda event: self._not_carried_out(name, event)
        raise AttributeError(name)

    def _holds(self, fact: str) -> bool:
        running = {call.name for call in self.ledger if not call.over}
        if fact == "tools_held":
            return any(self._policy(tool) in ("finish", "hold") for tool in running)
        if tools := self._flow.facts[fact].tools:
            return not running.isdisjoint(tools)
        return self._triggers.host_facts().get(fact, False)

    def _policy(self, tool: str) -> Policy:
        return policy_of(tool, self.marked.get(tool), self._flow.tools)

    def _not_carried_out(self, name: str, event: Event) -> None:
        action = self._flow.actions[name]
        texts = " or ".join(f'"{text}"' for text in action.say) or action.audio
        if texts:
            self._otherwise(event.verdict, f"the agent did not say {texts}", "", "")
        elif name == "hang_up" or not any(hasattr(part, name) for part in _OF_TURNS):
            self._otherwise(event.verdict, f"{name} was not carried out", "", "")

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
            self._without_question(event.text("name"))
        elif event.text("update") == "ended":
            self.ledger.end(call, _ENDS.get(event.text("status"), "cancelled"))
            self.ledger.close_turn(call)

    def _turn_ended(self, end: TurnEnd) -> None:
        why = {"why": end.why} if end.why else {}
        self.turn.note("turn", number=end.turn.number, outcome=end.outcome, deferred=False, **why)

    def _without_question(self, tool: str) -> None:
        if (confirm := self._flow.tools.confirm.get(tool)) is None:
            return
        when = f", if {' and '.join(confirm.when)} meet its conditions" if confirm.when else ""
        source = self._flow.source
        place = None if source is None else source.key(("tools", "confirm", tool))
        decided = f"tools: confirm: {tool} runs after the user's yes{when}"
        self._note_otherwise(f"{tool} ran without a question", decided, place)

    def _otherwise(self, verdict: Verdict, did: str, failure: str, property: str) -> None:
        kind = {"failure": failure, "property": property}
        fields = {"trigger": verdict.trigger, "state": verdict.state}
        fields |= {key: value for key, value in kind.items() if value}
        self._note_otherwise(did, str(verdict), decided_at(self._flow, verdict), **fields)

    def _note_otherwise(
        self, did: str, decided: str, place: Location | None, **fields: str
    ) -> None:
        at = str(place or "flow:0:0")
        self.turn.note("otherwise", did=did, decided=decided, at=at, **fields)


class Followed:
    """The members that an observed session and an observed pipeline have in common."""

    epoch = 0
    _following: Following

    @property
    def turn(self) -> FollowedTurn:
        """The runtime that follows: `state`, `facts` and `journal`."""
        return self._following.turn

    @property
    def ledger(self) -> Ledger:
        """The tool calls, without their arguments and results."""
        return self._following.ledger

    async def restore(self) -> None:
        """Do nothing: what is observed is not stored."""


def _require_observable(flow: Flow) -> None:
    called = [name for name, trigger in flow.triggers.items() if trigger.rpc is not None]
    if called:
        raise TurnfsmError(
            f"flow {flow.name!r} cannot be observed: a client calls {called[0]!r} by RPC, and only "
            "a governed session carries that out; observe with a flow without it, such as "
            "flow='turn'"
        )
