"""`Machine.step` decides, changes the state and returns the actions, in one synchronous call.

A step is one lookup in the machine's configuration; see `turnfsm.fsm.program`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .errors import UnknownName
from .flow import Flow
from .program import SLOW_PATH, Configuration, Program, compile_flow
from .verdicts import Refused, Taken, Verdict

__all__ = [
    "Configuration",
    "Machine",
    "Program",
    "Refused",
    "Taken",
    "Verdict",
    "compile_flow",
]


class Machine:
    """One turn: a state, its facts, and the step that changes both. It has no timers and no host.

    Args:
        flow: A flow, or a compiled one (`compile_flow`).

    Attributes:
        configuration: The current state with its facts. Machines share it, so it is never changed.
        tokens: For each scope the ``of`` that began it. Journals share it, so it is never changed.

    Raises:
        FlowError: The flow cannot be compiled.

    Example:
        >>> from turnfsm import load_flow
        >>> machine = Machine(load_flow("session"))
        >>> machine.state
        'starting'
        >>> bool(machine.step("run_requested"))
        False
    """

    __slots__ = ("configuration", "program", "tokens")

    def __init__(self, flow: Flow | Program) -> None:
        program = self.program = flow if isinstance(flow, Program) else compile_flow(flow)
        self.configuration = program.start
        self.tokens: Mapping[str, Any] | None = None

    @property
    def state(self) -> str:
        """The current state."""
        return self.configuration.state

    @property
    def facts(self) -> int:
        """The bits of the facts that are true; `Program.names` gives their names."""
        return self.configuration.facts

    @property
    def timers(self) -> tuple[str, ...]:
        """The timers of the current state."""
        return self.configuration.rows.timers

    @property
    def final(self) -> bool:
        """The current state is final."""
        return self.configuration.rows.final

    def step(self, trigger: str, of: Any = None) -> Verdict:
        """Decide on a trigger. If it is taken, the state and the facts change.

        Guards read the facts as they were before the trigger. A request that no transition takes is
        refused and changes nothing. An event that no transition takes only changes facts. An event
        that the state ignores, or that is stale, changes nothing.

        Args:
            trigger: The name of a request, event or timer.
            of: The step, turn or call that the trigger belongs to. A trigger that belongs to a
                scope is stale if this is not the current one. A trigger that begins a scope makes
                it the current one. None always counts as current.

        Returns:
            `Taken` (true in a condition) or `Refused` (false).

        Raises:
            UnknownTrigger: The flow does not declare the trigger.
        """
        if of is not None and (stale := self._stale(trigger, of)) is not None:
            return stale
        self.configuration, verdict, to_do = self.configuration[trigger]
        if to_do >= SLOW_PATH and verdict and (of is not None or self.tokens is not None):
            self._change_scopes(trigger, of)
        return verdict

    def ask(self, trigger: str, of: Any = None) -> Verdict:
        """What `step` would return. Changes nothing."""
        if of is not None and (stale := self._stale(trigger, of)) is not None:
            return stale
        return self.configuration[trigger][1]

    def asks(self, trigger: str) -> tuple[str, ...]:
        """The host facts that decide on this trigger in the current state."""
        return self.configuration.asks.get(trigger, ())

    def set_host_facts(self, facts: Mapping[str, bool]) -> None:
        """Set host facts, as the host answered.

        Raises:
            UnknownName: A fact is not a host fact.
        """
        program, held = self.program, self.configuration
        now = held.facts
        for name, value in facts.items():
            bit = program.bits.get(name, 0)
            if not bit & program.host_mask:
                raise UnknownName("host fact", name, program.flow.name, program.flow.host_facts)
            now = now | bit if value else now & ~bit
        if now != held.facts:
            self.configuration = program.configuration(held.rows, now)

    def holds(self, fact: str) -> bool:
        """Whether a fact is true now."""
        return bool(self.configuration.facts & self.program.mask((fact,)))

    def restore(
        self, state: str, facts: Iterable[str] = (), tokens: Mapping[str, Any] | None = None
    ) -> None:
        """Put the machine into a configuration of a journal or the checker.

        Args:
            tokens: For each scope its current step, turn or call.

        Raises:
            UnknownName: The state or a fact is not declared.
        """
        program = self.program
        try:
            rows = program.rows[state]
        except KeyError:
            flow = program.flow
            raise UnknownName("state", state, flow.name, flow.states) from None
        self.configuration = program.configuration(rows, program.mask(facts))
        self.tokens = dict(tokens) if tokens else None

    def _stale(self, trigger: str, of: Any) -> Refused | None:
        scope = self.program.compared.get(trigger)
        if scope is None:
            return None
        current = None if self.tokens is None else self.tokens.get(scope)
        if current == of:
            return None
        now = f"{scope} {current} is current" if current is not None else f"no {scope} is current"
        return Refused(trigger, self.state, "stale", f"of {scope} {of}, while {now}")

    def _change_scopes(self, trigger: str, of: Any) -> None:
        """A trigger that begins a scope sets its token. If a scope has ended, or began without a
        token, it has none, so that events of the previous one are stale (test_machine, "a timer
        ends a scope")."""
        program = self.program
        begins, ends = program.begins.get(trigger, ()), program.ends.get(trigger, ())
        if not begins and not ends:
            return
        tokens = {**(self.tokens or {}), **dict.fromkeys(begins, of), **dict.fromkeys(ends)}
        self.tokens = {scope: token for scope, token in tokens.items() if token is not None} or None
