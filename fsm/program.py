"""A compiled flow, shared by all of its machines.

A guard is a conjunction of facts, so it is one mask test: ``facts & mask == want``. A
`Configuration` (a state with its facts) caches each answer. So the table of answers fills while
conversations run, and a step is one lookup.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeAlias
from weakref import WeakValueDictionary

from .errors import UnknownName, UnknownTrigger
from .flow import Flow, Row
from .verdicts import Refused, Taken, Verdict

__all__ = [
    "ACTS",
    "ARMS",
    "RESTARTS",
    "SLOW_PATH",
    "Configuration",
    "Program",
    "Rows",
    "compile_flow",
]

# One alternative: guard mask, guard value, facts kept, facts set, the rows of dest, the answer.
Alternative: TypeAlias = "tuple[int, int, int, int, Rows, Taken]"

# The next configuration, the verdict, and flags for what else must be done: the bits below.
Answer: TypeAlias = "tuple[Configuration, Verdict, int]"

ARMS = 1  # a state with timers was entered: they start
ACTS = 2  # there are actions
RESTARTS = 4  # some timers of the current state restart
KEEPS = 8  # a state was entered, and some of its timers go on
SLOW_PATH = 16  # a host fact, or a scope: begun, ended, or of the trigger

MOST_CONFIGURATIONS = 4096
"""How many configurations a program caches (about 2 MB) before it empties the cache."""


class Rows(dict[str, tuple[Alternative, ...]]):
    """The compiled rows of one state, by trigger.

    Attributes:
        asks: Trigger to the host facts that its guards read, in the order of declaration.
        timers: The timers that the state arms, in the order of declaration.
    """

    __slots__ = ("asks", "configurations", "final", "state", "timers")

    def __init__(self, state: str) -> None:
        super().__init__()
        self.state = state
        self.timers: tuple[str, ...] = ()
        self.asks: dict[str, tuple[str, ...]] = {}
        self.final = False
        self.configurations: dict[int, Configuration] = {}

    def reads(self, trigger: str) -> int:
        """The bits of the facts that decide on a trigger."""
        read = 0
        for alternative in self.get(trigger, ()):
            read |= alternative[0]
        return read


class Configuration(dict[str, Answer]):
    """A state with its facts, and the cached answers. Shared, so read-only."""

    __slots__ = ("asks", "facts", "program", "rows", "state")

    def __init__(self, program: Program, rows: Rows, facts: int) -> None:
        super().__init__()
        self.program = program
        self.rows = rows
        self.state = rows.state
        self.asks = rows.asks
        self.facts = facts

    def __missing__(self, trigger: str) -> Answer:
        answer = self[trigger] = self.program.answer(self, trigger)
        return answer


class Program:
    """A compiled flow, shared by all machines of the flow. Made by `compile_flow`.

    Args:
        flow: The flow.

    Attributes:
        flow: The flow that it was compiled from.
        bits: Fact to its bit, in the order of declaration.
        host_mask: The bits of the host facts.
        fences: Trigger to the scope that it belongs to.
        compared: The same without triggers that begin that scope: such a trigger is never stale.
        begins: Trigger to the scopes that it begins.
        ends: Trigger to the scopes that it ends.
        updates: Trigger to the bits of the facts that it keeps, and of those that it sets.
        rows: State to its compiled rows.
        start: The configuration that a machine begins in.

    Example:
        >>> from turnfsm import compile_flow, load_flow
        >>> program = compile_flow(load_flow("turn"))
        >>> program.names(program.mask(["user_speaking"]))
        ('user_speaking',)
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.bits = {name: 1 << i for i, name in enumerate(flow.facts)}
        self.host_mask = self.mask(flow.host_facts)
        self.fences = {t: body.of for t, body in flow.triggers.items() if body.of is not None}
        self.begins = _scopes_by(flow, "begins")
        self.ends = _scopes_by(flow, "ends")
        self.compared = {
            trigger: scope
            for trigger, scope in self.fences.items()
            if scope not in self.begins.get(trigger, ())
        }
        self.known = frozenset(flow.triggers) | frozenset(flow.timers)
        self.rows = {name: Rows(name) for name in flow.states}
        self._count = 0
        self._names: dict[int, tuple[str, ...]] = {}
        self.updates = {trigger: self._update(trigger) for trigger in self.known}
        for name in flow.states:
            self._compile_state(name)
        self.start = self.configuration(self.rows[flow.initial], 0)

    def mask(self, facts: Iterable[str]) -> int:
        """The bits of these facts.

        Raises:
            UnknownName: A fact is not declared.
        """
        mask = 0
        for fact in facts:
            try:
                mask |= self.bits[fact]
            except KeyError:
                raise UnknownName("fact", fact, self.flow.name, self.bits) from None
        return mask

    def names(self, facts: int) -> tuple[str, ...]:
        """The facts that are true, in the order of declaration."""
        found = self._names.get(facts)
        if found is None:
            if len(self._names) >= MOST_CONFIGURATIONS:
                self._names.clear()
            found = tuple(name for name, bit in self.bits.items() if facts & bit)
            self._names[facts] = found
        return found

    def configuration(self, rows: Rows, facts: int) -> Configuration:
        """The configuration of a state with these facts; the same object while it is cached."""
        found = rows.configurations.get(facts)
        if found is None:
            if self._count >= MOST_CONFIGURATIONS:
                self._forget()
            self._count += 1
            # setdefault: machines of one program may run in several threads
            made = Configuration(self, rows, facts)
            found = rows.configurations.setdefault(facts, made)
        return found

    def _forget(self) -> None:
        """Empty the cache. The configurations that machines still use are emptied as well, so that
        they do not refer to dropped ones."""
        for rows in self.rows.values():
            for configuration in rows.configurations.values():
                configuration.clear()
            rows.configurations.clear()
        self._count = 0

    def answer(self, held: Configuration, trigger: str) -> Answer:
        """The effect of the first alternative whose guard holds, or why none holds.

        Raises:
            UnknownTrigger: The flow does not declare the trigger.
        """
        rows, facts = held.rows, held.facts
        scoped = trigger in self.begins or trigger in self.ends or trigger in self.fences
        slow = SLOW_PATH if scoped or trigger in rows.asks else 0
        for mask, want, keep, set_, dest, taken in rows.get(trigger, ()):
            if facts & mask == want:
                to_do = ACTS * bool(taken.actions) | slow
                if taken.keeps:
                    to_do |= KEEPS
                elif taken.entered and dest.timers:
                    to_do |= ARMS
                if taken.restarts:
                    to_do |= RESTARTS
                return self.configuration(dest, facts & keep | set_), taken, to_do
        return held, self.refusal(rows, trigger, facts), slow

    def refusal(self, rows: Rows, trigger: str, facts: int) -> Refused:
        """Why no row took a trigger.

        Raises:
            UnknownTrigger: The flow declares it nowhere.
        """
        if trigger not in self.known:
            raise UnknownTrigger(trigger, self.flow.name, self.known)
        state = rows.state
        if trigger in rows:
            why = "; or ".join(self._blockers(a, facts) for a in rows[trigger])
            return Refused(trigger, state, "guard", why)
        if trigger not in self.flow.triggers:
            return Refused(trigger, state, "unarmed", f"{state} does not have this timer")
        if self.flow.triggers[trigger].kind == "request":
            return Refused(trigger, state, "refuses", f"{state} refuses it")
        return Refused(trigger, state, "ignores", f"{state} ignores it")

    def _compile_state(self, name: str) -> None:
        state, rows = self.flow.states[name], self.rows[name]
        rows.timers = tuple(state.after)
        rows.final = state.final
        table: dict[str, list[Alternative]] = {}
        for row in self.flow.rows(name):
            table.setdefault(row.trigger, []).append(self._alternative(row))
        # An event that no transition takes has still happened: only facts change.
        for trigger in self.facts_only(name):
            keep, set_ = self.updates[trigger]
            answer = Taken(trigger, name, name, (), False, None)
            table.setdefault(trigger, []).append((0, 0, keep, set_, rows, answer))
        rows.update({trigger: tuple(alternatives) for trigger, alternatives in table.items()})
        for trigger in table:
            if asked := rows.reads(trigger) & self.host_mask:
                rows.asks[trigger] = self.names(asked)

    def facts_only(self, state: str) -> Iterator[str]:
        """The events that change facts in a state where none of its transitions is taken."""
        body = self.flow.states[state]
        for name, trigger in self.flow.triggers.items():
            if trigger.kind == "event" and name not in body.ignores and not body.final:
                rows = body.on.get(name, ())
                if all(row.reads for row in rows):
                    yield name

    def _alternative(self, row: Row) -> Alternative:
        body = row.transition
        want = self.mask(body.conditions)
        keep, set_ = self.updates[row.trigger]
        entered = body.dest is not None
        own = self.flow.states[row.source].after
        restarts = tuple(timer for timer in body.restarts if timer in own and not entered)
        keeps = self._kept(row) if entered else ()
        answer = Taken(
            row.trigger, row.source, row.dest, body.actions, entered, row.id, restarts, keeps
        )
        mask = want | self.mask(body.unless)
        return (mask, want, keep, set_, self.rows[row.dest], answer)

    def _kept(self, row: Row) -> tuple[str, ...]:
        """The timers of the new state that go on: lasting ones that the state before has, too."""
        states, again = self.flow.states, {row.trigger, *row.transition.restarts}
        both = {*states[row.source].after} & {*states[row.dest].after}
        return tuple(t for t in self.flow.lasting if t in both and t not in again)

    def _update(self, trigger: str) -> tuple[int, int]:
        """The effect of a taken trigger on the facts: end scopes, clear, then set."""
        over = {*self.begins.get(trigger, ()), *self.ends.get(trigger, ())}
        cleared = set_ = 0
        for name, fact in self.flow.facts.items():
            if fact.scope in over or trigger in fact.cleared_by:
                cleared |= self.bits[name]
            if trigger in fact.set_by:
                set_ |= self.bits[name]
        return ~cleared, set_

    def _blockers(self, alternative: Alternative, facts: int) -> str:
        mask, want = alternative[0], alternative[1]
        missing = [f"not {name}" for name in self.names(want & ~facts)]
        present = list(self.names(mask & ~want & facts))
        return " and ".join(present + missing)


def _scopes_by(flow: Flow, field: str) -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for name, scope in flow.scopes.items():
        for trigger in getattr(scope, field):
            table.setdefault(trigger, []).append(name)
    return {trigger: tuple(scopes) for trigger, scopes in table.items()}


# By identity: a program holds its flow, so no other flow can get that id while it is here.
_PROGRAMS: WeakValueDictionary[int, Program] = WeakValueDictionary()
_LATEST: deque[Program] = deque(maxlen=8)  # so that a session need not recompile


def compile_flow(flow: Flow) -> Program:
    """Compile a flow. The same flow gives the same program while that is referenced or among the
    latest.

    Args:
        flow: The flow.

    Returns:
        The program, which all machines of the flow share.

    Example:
        >>> from turnfsm import compile_flow, load_flow
        >>> flow = load_flow("turn")
        >>> compile_flow(flow) is compile_flow(flow)
        True
    """
    program = _PROGRAMS.get(id(flow))
    if program is None:
        program = _PROGRAMS[id(flow)] = Program(flow)
        _LATEST.append(program)
    return program
