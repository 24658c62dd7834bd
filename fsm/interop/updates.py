"""The effect of a trigger on the facts, by name, for exporters."""

from __future__ import annotations

import attrs

from turnfsm.fsm.flow import Flow, Names

__all__ = ["Update", "facts_only", "fence", "update_of"]


@attrs.frozen
class Update:
    """The facts that a trigger clears and sets when it is taken, and the scopes it changes."""

    clears: Names
    sets: Names
    begins: Names
    ends: Names

    def __bool__(self) -> bool:
        return bool(self.clears or self.sets)


def update_of(flow: Flow, trigger: str) -> Update:
    """The update of a trigger: facts of ended scopes are cleared, then facts are cleared and set; a
    scope begins, then ends."""
    begins = tuple(name for name, scope in flow.scopes.items() if trigger in scope.begins)
    ends = tuple(name for name, scope in flow.scopes.items() if trigger in scope.ends)
    sets = tuple(name for name, fact in flow.facts.items() if trigger in fact.set_by)
    clears = tuple(
        name
        for name, fact in flow.facts.items()
        if name not in sets and (trigger in fact.cleared_by or fact.scope in (*begins, *ends))
    )
    return Update(clears, sets, begins, ends)


def fence(flow: Flow, trigger: str) -> str | None:
    """The scope that must be current. A trigger that begins that scope is never stale."""
    body = flow.triggers.get(trigger)
    begins = update_of(flow, trigger).begins
    return body.of if body and body.of not in begins else None


def facts_only(flow: Flow, state: str) -> Names:
    """The events that change facts in a state where none of its transitions is taken."""
    body = flow.states[state]
    if body.final:
        return ()
    return tuple(
        name
        for name, trigger in flow.triggers.items()
        if trigger.kind == "event"
        and name not in body.ignores
        and all(row.conditions or row.unless for row in body.on.get(name, ()))
    )
