"""Reads a machine of `transitions` as a flow.

Each condition becomes a host fact: `transitions` does not say what changes it. The callbacks of a
transition become its actions, each once, in the order in which they are called. In a flow all of
them run after the state has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import transitions

from turnfsm.fsm.errors import FlowError
from turnfsm.fsm.flow import Action, Fact, Flow, Names, State, Transition, Trigger

from .machine_out import ACTION, FACT, NOTE, FlowModel

__all__ = ["from_transitions"]


def from_transitions(machine: transitions.Machine) -> Flow:
    """The flow that a flat machine declares; its automatic ``to_STATE`` triggers are left out.

    Raises:
        FlowError: The machine nests states, or has a callback that a flow cannot express.
    """
    return _Reader(machine).flow()


class _Reader:
    def __init__(self, machine: transitions.Machine) -> None:
        self.machine = machine
        self.ours = isinstance(machine.model, FlowModel)
        self._named: dict[str, Any] = {}

    def flow(self) -> Flow:
        self._check_machine()
        states = {_word(name): self._state(name) for name in self.machine.states}
        rows = [t for body in states.values() for ts in body.on.values() for t in ts]
        facts = dict.fromkeys(f for row in rows for f in (*row.conditions, *row.unless))
        actions = dict.fromkeys(a for row in rows for a in row.actions)
        name = (self.machine.name or "machine").removesuffix(": ")
        return Flow(
            name=name,
            initial=_word(self.machine.initial),
            states=states,
            triggers={t: Trigger(kind="request") for t in self._events()},
            facts={fact: Fact(host=True) for fact in facts},
            actions={action: Action() for action in actions},
        )

    def _check_machine(self) -> None:
        machine = self.machine
        if isinstance(machine.initial, list | tuple) or any(
            getattr(state, "states", None) for state in machine.states.values()
        ):
            raise FlowError("a flow has no nested or parallel states; flatten the machine first")
        if machine.initial is None:
            raise FlowError("the machine has no initial state; pass initial=STATE to it")
        for hook in ("prepare_event", "finalize_event", "on_exception"):
            if getattr(machine, hook):
                raise FlowError(f"a flow has no {hook}; take it out of the machine")
        for name, state in machine.states.items():
            if getattr(state, "timeout", 0):
                remedy = "make its end a trigger, or write a timer in the flow"
                raise FlowError(f"state {_word(name)!r} has a timeout callback; {remedy}")

    def _events(self) -> Iterator[str]:
        for name, event in self.machine.events.items():
            if not self._automatic(name, event):
                yield name

    def _automatic(self, name: str, event: Any) -> bool:
        dest = name.removeprefix("to_")
        if not self.machine.auto_transitions or dest == name:
            return False
        rows = [row for rows in event.transitions.values() for row in rows]
        return dest in map(_word, self.machine.states) and all(
            _word(row.dest) == dest and not row.conditions for row in rows
        )

    def _state(self, name: str) -> State:
        on: dict[str, tuple[Transition, ...]] = {}
        for trigger in self._events():
            rows = self.machine.events[trigger].transitions.get(name, ())
            if rows:
                on[trigger] = tuple(self._row(trigger, row) for row in rows)
        final = bool(getattr(self.machine.states[name], "final", False)) and not on
        return State(on=on, final=final)

    def _row(self, trigger: str, row: Any) -> Transition:
        where = f"transition {trigger!r} of state {_word(row.source)!r}"
        if row.prepare:
            raise FlowError(f"{where} has a prepare callback; guards of a flow have no side effect")
        held = self._facts((c.func for c in row.conditions if c.target), where)
        free = self._facts((c.func for c in row.conditions if not c.target), where)
        if both := set(held) & set(free):
            fact = sorted(both)[0]
            raise FlowError(f"{where} can never be taken: {fact!r} is in conditions and in unless")
        dest = _word(row.dest) if row.dest else None
        return Transition(dest, held, free, self._actions(row, where))

    def _facts(self, callbacks: Iterable[Any], where: str) -> Names:
        names = [self._name(c, where, "condition", FACT) for c in callbacks]
        return tuple(dict.fromkeys(names))

    def _actions(self, row: Any, where: str) -> Names:
        machine = self.machine
        moves = row.dest is not None
        callbacks = [
            *machine.before_state_change,
            *row.before,
            *(machine.states[row.source].on_exit if moves else ()),
            *(machine.states[row.dest].on_enter if moves else ()),
            *row.after,
            *machine.after_state_change,
        ]
        names = (self._name(c, where, "callback", ACTION) for c in callbacks)
        return tuple(name for name in dict.fromkeys(names) if not (self.ours and name == NOTE))

    def _name(self, callback: Any, where: str, what: str, prefix: str) -> str:
        """The name of a callback; two callbacks of one name must be one."""
        name = callback if isinstance(callback, str) else getattr(callback, "__name__", None)
        if not name or "<" in name:
            remedy = "give it as a string, or define it with def"
            raise FlowError(f"{where} has a {what} without a name ({callback!r}); {remedy}")
        if not isinstance(callback, str) and self._named.setdefault(name, callback) != callback:
            raise FlowError(
                f"{where} has a {what} {name!r}, but another one has this name; rename it"
            )
        return name.removeprefix(prefix) if self.ours else str(name)


def _word(name: Any) -> str:
    """A state's name; `transitions` also takes members of an Enum."""
    return str(getattr(name, "name", name))
