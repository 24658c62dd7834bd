"""One call of a ledger: its machine, its arguments and its result."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Literal

import attrs

from turnfsm.fsm import Machine, Program, Verdict, compile_flow
from turnfsm.fsm.flow import Policy
from turnfsm.fsm.load import load_shipped

__all__ = ["End", "LedgerCall", "canonical"]

End = Literal["result", "error", "cancelled", "released", "unknown"]
"""How a call ends for its turn. A released call continues; its result is on the agenda.
``unknown``: its worker died."""


@cache
def _program() -> Program:
    return compile_flow(load_shipped("tool_call"))


@attrs.define(eq=False)
class LedgerCall:
    """One tool call.

    Attributes:
        id: The call's id, as the model gave it.
        name: The tool's name.
        arguments: As JSON with sorted keys, so that equal calls are equal text.
        turn: The id of its speech.
        policy: What an interruption does to it: ``cancel``, ``detach``, ``finish`` or ``hold``.
        gave: How the tool ended; None while it runs.
        output: What the tool returned, as text.
        handoff: The tool returned an agent. A restart cannot restore the agent.
        result_id: The id of its result in the conversation, if that differs from the call's.
        by: The call whose result answered this one; None if its own tool ran.
        replaced_by: The newer call that corrects this one.
        machine: Its state and facts. Changed by `Ledger.post`.
    """

    id: str
    name: str
    arguments: str
    turn: str
    policy: Policy = "detach"
    gave: End | None = None
    output: str | None = None
    handoff: bool = False
    result_id: str | None = None
    by: str | None = None
    replaced_by: str | None = None
    machine: Machine = attrs.field(factory=lambda: Machine(_program()), init=False, repr=False)

    @property
    def state(self) -> str:
        """Its state in `specs/tool_call.yaml`."""
        return self.machine.state

    @property
    def end(self) -> End | None:
        """How it ended for its turn; None while the turn may still wait for it."""
        if self.machine.holds("turn_over") and self.policy != "cancel":
            return "released"
        return self.gave

    @property
    def over(self) -> bool:
        """Its tool has ended."""
        return self.gave is not None or self.state in ("lost", "not_run")

    @property
    def committed(self) -> bool:
        """Its result is in the conversation."""
        return self.machine.holds("in_conversation")

    @property
    def interrupts(self) -> bool:
        """Its tool has interrupted its own turn."""
        return self.machine.holds("interrupts")

    def as_note(self) -> dict[str, Any]:
        """The data that the journal needs to restore the call."""
        excluded = ("id", "machine")
        fields = attrs.asdict(self, filter=lambda field, _: field.name not in excluded)
        facts = self.machine.program.names(self.machine.facts)
        return {"call": self.id, **fields, "state": self.state, "facts": list(facts)}

    def apply(self, trigger: str, facts: Collection[str], data: Mapping[str, Any]) -> Verdict:
        """One step of the call's machine, live or from a note.

        Args:
            trigger: A trigger of `specs/tool_call.yaml`.
            facts: The host facts that are true.
            data: The data of the note; see `Ledger.post`.
        """
        if trigger == "ended" and self.gave is None:
            self.gave, self.output = data["how"], data.get("output")
            self.handoff = data.get("handoff", self.handoff)
            self.result_id = data.get("id")
        if needed := self.machine.asks(trigger):
            self.machine.set_host_facts({fact: fact in facts for fact in needed})
        verdict = self.machine.step(trigger)
        if verdict and trigger == "correction":
            self.replaced_by = data["by"]
        return verdict


def canonical(arguments: str) -> str:
    """JSON with sorted keys. Text that is not JSON is returned unchanged."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return arguments
