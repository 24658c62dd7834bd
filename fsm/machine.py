"""A flow, compiled: `Machine.step` decides, moves and says what to do, in one synchronous call.

A guard is a conjunction of facts, so it is one mask test: ``facts & mask == want``. Everything a
step can answer is made when the flow is compiled, or on its first use, and shared by all machines
of that flow: a step allocates nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from .errors import UnknownName, UnknownTrigger
from .flow import Flow, Row

__all__ = ["Machine", "Program", "Reason", "Refused", "Taken", "Verdict", "compile_flow"]

Reason = Literal["guard", "undeclared", "refuses", "stale", "closed"]


@attrs.frozen(eq=False)
class Taken:
    """The trigger was taken. True in a condition.

    Attributes:
        trigger: What was posted.
        source, dest: The states before and after.
        actions: What the host now does, in order.
        entered: ``dest`` was entered, so its timers start; False for an internal transition.
        row: The id of the row in the flow; None where only facts were noted.
    """

    trigger: str
    source: str
    dest: str
    actions: tuple[str, ...]
    entered: bool
    row: str | None

    def __bool__(self) -> Literal[True]:
        return True

    def __str__(self) -> str:
        arrow = f"{self.source} -> {self.dest}" if self.entered else f"stays {self.source}"
        return f"{self.trigger}: {arrow}" + (f" / {', '.join(self.actions)}" * bool(self.actions))


@attrs.frozen(eq=False)
class Refused:
    """The trigger was refused and nothing has changed. False in a condition.

    Attributes:
        trigger: What was posted.
        source: The state that refused it.
        reason: ``guard`` (a fact forbids it), ``refuses`` (the state says so), ``undeclared`` (the
            state does not know it), ``stale`` (it belongs to a scope that is over) or ``closed``.
        why: The reason as a sentence, naming the fact or the scope.
    """

    trigger: str
    source: str
    reason: Reason
    why: str

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"{self.trigger} refused in {self.source}: {self.why}"


Verdict: TypeAlias = Taken | Refused

# One alternative: guard mask, guard value, facts kept, facts set, the rows of dest, the answer.
_Alternative: TypeAlias = tuple[int, int, int, int, "_Rows", Taken]


class _Rows(dict[str, tuple[_Alternative, ...]]):
    """The compiled rows of one state, by trigger."""

    __slots__ = ("final", "given", "refuses", "state", "timers")

    def __init__(self, state: str) -> None:
        super().__init__()
        self.state = state
        self.timers: tuple[str, ...] = ()
        self.refuses: frozenset[str] = frozenset()
        self.given: dict[str, int] = {}  # trigger to the given facts that its guards read
        self.final = False


class Program:
    """What all machines of one flow share. Made by `compile_flow`.

    Attributes:
        flow: The flow it was compiled from.
        bits: Fact to its bit, in the order of declaration.
        given_mask: The bits that the host answers for.
        fences: Fenced trigger to the scope that it belongs to.
        begins: Trigger to the scopes that it begins.
        ends: Trigger to the scopes that it ends.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.bits = {name: 1 << i for i, name in enumerate(flow.facts)}
        self.given_mask = self.mask(flow.given)
        self.fences = {t: body.of for t, body in flow.triggers.items() if body.of is not None}
        self.begins = _scopes_by(flow, "begins")
        self.ends = _scopes_by(flow, "ends")
        self.known = frozenset(flow.triggers) | frozenset(flow.timers)
        self._refusals: dict[tuple[str, str, int], Refused] = {}
        self.rows = {name: _Rows(name) for name in flow.states}
        self._updates = {trigger: self._update(trigger) for trigger in self.known}
        for name in flow.states:
            self._compile_state(name)

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
        return tuple(name for name, bit in self.bits.items() if facts & bit)

    def _compile_state(self, name: str) -> None:
        state, rows = self.flow.states[name], self.rows[name]
        rows.timers = tuple(state.after)
        rows.refuses = frozenset(state.refuses)
        rows.final = state.final
        table: dict[str, list[_Alternative]] = {}
        for row in self.flow.rows(name):
            table.setdefault(row.trigger, []).append(self._alternative(row))
        # A trigger that only changes facts is noted in every state that does not refuse it.
        for trigger, (keep, set_) in self._updates.items():
            noted = keep != -1 or set_
            if noted and trigger not in table and trigger not in state.refuses and not state.final:
                answer = Taken(trigger, name, name, (), False, None)
                table[trigger] = [(0, 0, keep, set_, rows, answer)]
        rows.update({trigger: tuple(alternatives) for trigger, alternatives in table.items()})
        for trigger, alternatives in table.items():
            read = 0
            for alternative in alternatives:
                read |= alternative[0]
            if read & self.given_mask:
                rows.given[trigger] = read & self.given_mask

    def _alternative(self, row: Row) -> _Alternative:
        body = row.transition
        want = self.mask(body.conditions)
        keep, set_ = self._updates[row.trigger]
        entered = body.dest is not None
        answer = Taken(row.trigger, row.source, row.dest, body.actions, entered, row.id)
        mask = want | self.mask(body.unless)
        return (mask, want, keep, set_, self.rows[row.dest], answer)

    def _update(self, trigger: str) -> tuple[int, int]:
        """What a trigger does to the facts when it is taken: forget, clear, then set."""
        over = {*self.begins.get(trigger, ()), *self.ends.get(trigger, ())}
        cleared = set_ = 0
        for name, fact in self.flow.facts.items():
            if fact.scope in over or trigger in fact.cleared_by:
                cleared |= self.bits[name]
            if trigger in fact.set_by:
                set_ |= self.bits[name]
        return ~cleared, set_

    def refusal(self, rows: _Rows, trigger: str, facts: int) -> Refused:
        """Why a trigger that no row took was refused.

        Raises:
            UnknownTrigger: The flow declares it nowhere.
        """
        read = 0
        for alternative in rows.get(trigger, ()):
            read |= alternative[0]
        key = (rows.state, trigger, facts & read)
        refused = self._refusals.get(key)
        if refused is None:
            refused = self._refusals[key] = self._explain(rows, trigger, facts)
        return refused

    def _explain(self, rows: _Rows, trigger: str, facts: int) -> Refused:
        if trigger not in self.known:
            raise UnknownTrigger(trigger, self.flow.name, self.known)
        if trigger in rows:
            why = "; or ".join(self._blockers(a, facts) for a in rows[trigger])
            return Refused(trigger, rows.state, "guard", why)
        if trigger in rows.refuses:
            return Refused(trigger, rows.state, "refuses", f"{rows.state} refuses it")
        why = f"{rows.state} does not declare it"
        return Refused(trigger, rows.state, "undeclared", why)

    def _blockers(self, alternative: _Alternative, facts: int) -> str:
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


def compile_flow(flow: Flow) -> Program:
    """The flow's program."""
    return Program(flow)


class Machine:
    """One turn: a state, its facts, and the step that changes both.

    Args:
        flow: A flow, or the program of one.
    """

    __slots__ = ("_rows", "facts", "program", "tokens")

    def __init__(self, flow: Flow | Program) -> None:
        program = flow if isinstance(flow, Program) else compile_flow(flow)
        self.program = program
        self._rows = program.rows[program.flow.initial]
        self.facts = 0
        self.tokens: dict[str, Any] | None = None

    @property
    def state(self) -> str:
        """The state that is held."""
        return self._rows.state

    @property
    def timers(self) -> tuple[str, ...]:
        """The timers that the held state has armed."""
        return self._rows.timers

    @property
    def final(self) -> bool:
        """Nothing leaves the held state any more."""
        return self._rows.final

    def step(self, trigger: str, of: Any = None) -> Verdict:
        """Decide on a trigger and, if it is taken, move.

        Guards look at the facts as they were before the trigger. A refused trigger changes
        nothing. A trigger that a state does not declare but that changes facts is noted there.

        Args:
            of: The step, turn or call that the trigger belongs to. Compared with the one that is
                current for a fenced trigger, kept for one that begins a scope; None is current.

        Raises:
            UnknownTrigger: The flow declares the trigger nowhere.
        """
        rows = self._rows
        if of is not None and (stale := self._stale(trigger, of)) is not None:
            return stale
        facts = self.facts
        for mask, want, keep, set_, dest, taken in rows.get(trigger, ()):
            if facts & mask == want:
                self.facts = facts & keep | set_
                self._rows = dest
                if of is not None or (self.tokens and trigger in self.program.ends):
                    self._enter_scopes(trigger, of)
                return taken
        return self.program.refusal(rows, trigger, facts)

    def ask(self, trigger: str, of: Any = None) -> Verdict:
        """What `step` would answer, without moving."""
        if of is not None and (stale := self._stale(trigger, of)) is not None:
            return stale
        facts = self.facts
        for mask, want, _keep, _set, _dest, taken in self._rows.get(trigger, ()):
            if facts & mask == want:
                return taken
        return self.program.refusal(self._rows, trigger, facts)

    def asks(self, trigger: str) -> int:
        """The bits of the given facts that decide on this trigger in the held state."""
        return self._rows.given.get(trigger, 0)

    def give(self, facts: Mapping[str, bool]) -> None:
        """Set given facts, as the host answered.

        Raises:
            UnknownName: A fact is not declared as given.
        """
        for name, value in facts.items():
            bit = self.program.bits.get(name, 0)
            if not bit & self.program.given_mask:
                given = self.program.flow.given
                raise UnknownName("given fact", name, self.program.flow.name, given)
            self.facts = self.facts | bit if value else self.facts & ~bit

    def holds(self, fact: str) -> bool:
        """Whether a fact is true now."""
        return bool(self.facts & self.program.mask((fact,)))

    def restore(self, state: str, facts: Iterable[str] = ()) -> None:
        """Put the machine into a configuration, as a journal or a checker has it.

        Raises:
            UnknownName: The state or a fact is not declared.
        """
        try:
            self._rows = self.program.rows[state]
        except KeyError:
            flow = self.program.flow
            raise UnknownName("state", state, flow.name, flow.states) from None
        self.facts = self.program.mask(facts)

    def _stale(self, trigger: str, of: Any) -> Refused | None:
        scope = self.program.fences.get(trigger)
        if scope is None or trigger in self.program.begins:
            return None
        current = None if self.tokens is None else self.tokens.get(scope)
        if current == of:
            return None
        now = f"{scope} {current} is current" if current is not None else f"no {scope} is current"
        return Refused(trigger, self._rows.state, "stale", f"of {scope} {of}, while {now}")

    def _enter_scopes(self, trigger: str, of: Any) -> None:
        for scope in self.program.begins.get(trigger, ()):
            if self.tokens is None:
                self.tokens = {}
            self.tokens[scope] = of
        for scope in self.program.ends.get(trigger, ()):
            if self.tokens is not None:
                self.tokens.pop(scope, None)
