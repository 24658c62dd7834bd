"""Writes a flow as a machine of `transitions`.

Triggers, states, facts and actions may share a name in a flow, while all of them become attributes
of one model here. So a fact's condition is ``fact_NAME``, an action ``do_NAME``, and the fence of a
trigger the condition ``current_SCOPE``. ``note`` updates facts and scopes: it is called when the
guard holds, before the state changes. Timers are triggers that you fire.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnfsm.fsm.flow import Flow, Row

from .updates import facts_only, fence

__all__ = ["ACTION", "FACT", "FENCE", "NOTE", "transitions_config"]

FACT, ACTION, FENCE, NOTE = "fact_", "do_", "current_", "note"


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


def _transitions(flow: Flow) -> Iterator[dict[str, Any]]:
    for state in flow.states:
        for row in flow.rows(state):
            yield _row(flow, row)
        for trigger in facts_only(flow, state):
            yield _entry(flow, trigger, state, None)


def _row(flow: Flow, row: Row) -> dict[str, Any]:
    body = row.transition
    entry = _entry(flow, row.trigger, row.source, body.dest)
    conditions = entry.pop("conditions", []) + [FACT + fact for fact in body.conditions]
    unless = [FACT + fact for fact in body.unless]
    after = [ACTION + action for action in body.actions]
    named = {"conditions": conditions, "unless": unless, "after": after}
    return entry | {key: names for key, names in named.items() if names}


def _entry(flow: Flow, trigger: str, source: str, dest: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"trigger": trigger, "source": source, "dest": dest}
    scope = fence(flow, trigger)
    return entry | ({"conditions": [FENCE + scope]} if scope else {})
