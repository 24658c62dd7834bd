"""A machine of `transitions` from the exported arguments, with a model that keeps the facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import transitions

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.interop.transitions_config import ACTION, FACT, FENCE, transitions_config
from turnfsm.fsm.interop.updates import update_of


class FlowModel:
    """The model behind a flow's machine: it keeps the facts and the scopes that are current.

    Attributes:
        facts: The facts that are true. Add and discard host facts as the host answers.
        tokens: Scope to the ``of`` that began it, for events that carry one.
        done: Every action that was chosen, in order.
    """

    state: str

    def __init__(self, flow: Flow) -> None:
        self.facts: set[str] = set()
        self.tokens: dict[str, Any] = {}
        self.done: list[str] = []
        self._updates = {t: update_of(flow, t) for t in (*flow.triggers, *flow.timers)}

    def note(self, event: Any) -> None:
        """Update the facts and scopes; runs once the guard holds, before the state changes."""
        update = self._updates[event.event.name]
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


def to_transitions(flow: Flow) -> transitions.Machine:
    """A machine that takes and refuses what the flow does.

    Post with ``machine.model.trigger(NAME, of=...)``: True if taken, False if refused.
    """
    return transitions.Machine(FlowModel(flow), **transitions_config(flow))
