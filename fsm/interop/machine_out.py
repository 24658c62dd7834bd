"""A flow as a machine of `transitions`.

Triggers, states, facts and actions may share a name in a flow, while all of them become attributes
of one model here. So a fact's condition is ``fact_NAME``, an action ``do_NAME``, and the fence of a
trigger the condition ``current_SCOPE``. Timers are triggers that you fire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import transitions

from turnfsm.fsm.flow import Flow, Row
from turnfsm.fsm.program import Program, compile_flow

from .updates import update_of

__all__ = ["FlowModel", "to_transitions", "transitions_config"]

FACT, ACTION, FENCE, NOTE = "fact_", "do_", "current_", "note"


class FlowModel:
    """The model behind a flow's machine: it keeps the facts and the scopes that are current.

    Attributes:
        facts: The facts that are true. Add and remove host facts to set their values.
        tokens: Scope to the ``of`` that began it, for events that carry one.
        done: Every action that was chosen, in order.
    """

    state: str

    def __init__(self, flow: Flow) -> None:
        self.facts: set[str] = set()
        self.tokens: dict[str, Any] = {}
        self.done: list[str] = []
        self._program = compile_flow(flow)

    def note(self, event: Any) -> None:
        """Update the facts and scopes; runs once the guard holds, before the state changes."""
        update = update_of(self._program, event.event.name)
        self.facts = (self.facts - {*update.clears}) | {*update.sets}
        self.tokens |= dict.fromkeys(update.begins, event.kwargs.get("of"))
        for scope in update.ends:
            self.tokens.pop(scope, None)

    def __getattr__(self, name: str) -> Callable[[Any], object]:
        for prefix, method in ((FACT, self._fact), (ACTION, self._do), (FENCE, self._current)):
            if name.startswith(prefix):
                return method(name.removeprefix(prefix))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name)

    def _fact(self, fact: str) -> Callable[[Any], bool]:
        return lambda _event: fact in self.facts

    def _current(self, scope: str) -> Callable[[Any], bool]:
        def current(event: Any) -> bool:
            of = event.kwargs.get("of")
            return of is None or self.tokens.get(scope) == of

        return current

    def _do(self, action: str) -> Callable[[Any], object]:
        return lambda _event: self.done.append(action)


def transitions_config(flow: Flow) -> dict[str, Any]:
    """The arguments of ``transitions.Machine`` as plain data: ``Machine(model, **config)``."""
    return {
        "name": flow.name,
        "initial": flow.initial,
        "states": [
            {"name": name, "final": True} if state.final else name
            for name, state in flow.states.items()
        ],
        "transitions": list(_transitions(flow)),
        "send_event": True,
        "auto_transitions": False,
        "ignore_invalid_triggers": True,
        "before_state_change": NOTE,
    }


def to_transitions(flow: Flow) -> transitions.Machine:
    """A machine that takes and refuses what the flow does; its model is a `FlowModel`.

    Post with ``machine.model.trigger(NAME, of=...)``: True if taken, False if refused.
    """
    return transitions.Machine(FlowModel(flow), **transitions_config(flow))


def _transitions(flow: Flow) -> Iterator[dict[str, Any]]:
    program = compile_flow(flow)
    for state in flow.states:
        for row in flow.rows(state):
            yield _row(program, row)
        for trigger in program.facts_only(state):
            yield _entry(program, trigger, state, None)


def _row(program: Program, row: Row) -> dict[str, Any]:
    body = row.transition
    entry = _entry(program, row.trigger, row.source, body.dest)
    conditions = entry.pop("conditions", []) + [FACT + fact for fact in body.conditions]
    unless = [FACT + fact for fact in body.unless]
    after = [ACTION + action for action in body.actions]
    named = {"conditions": conditions, "unless": unless, "after": after}
    return entry | {key: names for key, names in named.items() if names}


def _entry(program: Program, trigger: str, source: str, dest: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"trigger": trigger, "source": source, "dest": dest}
    scope = program.compared.get(trigger)
    return entry | ({"conditions": [FENCE + scope]} if scope else {})
