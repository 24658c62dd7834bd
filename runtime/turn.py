"""`TurnRuntime`: a machine, its pump and a host that carries out the actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from weakref import WeakKeyDictionary, WeakSet

from turnfsm.fsm import (
    Flow,
    HostError,
    Machine,
    Program,
    load_flow,
)
from turnfsm.fsm.flow import NEVER

from .arguments import check_count, check_sinks, check_timers
from .journal import LiveJournal, Sink
from .pump import EventPump
from .timers import plan_of

__all__ = ["TurnRuntime"]


class TurnRuntime(EventPump):
    """One conversation under a flow.

    Args:
        flow: A flow, the name of a shipped one, or a path.
        host: Has a method for every action of the flow, which takes an `Event`, and one for every
            host fact, which takes nothing and returns True or False.
        timers: Seconds that override those of the flow.
        sinks: Each gets every record of the journal.
        maxlen: How many journal entries to keep in memory.

    Raises:
        HostError: The host lacks an action or a host fact.
        UnknownName: ``timers`` names one that the flow does not have.
        FlowError: The flow cannot be used.
        TurnfsmError: A value of ``timers`` is not a number of seconds, one of ``sinks`` is not a
            sink, or ``maxlen`` is not a positive whole number.

    Example:
        >>> from turnfsm import parse_flow
        >>> flow, _ = parse_flow('''
        ... flow: door
        ... initial: shut
        ... requests: {open: May it be opened?}
        ... actions: {ring: Ring the bell.}
        ... states:
        ...   shut: {on: {open: {dest: wide, actions: ring}}}
        ...   wide: {}
        ... ''')
        >>> class Host:
        ...     def ring(self, event):
        ...         print("ding")
        >>> runtime = TurnRuntime(flow, Host())
        >>> runtime.post("open").dest
        ding
        'wide'
    """

    __slots__ = ()

    def __init__(
        self,
        flow: Flow | Program | str | Path,
        host: object,
        *,
        timers: Mapping[str, float] | None = None,
        sinks: Iterable[Sink] = (),
        maxlen: int = 4096,
    ) -> None:
        machine = Machine(flow if isinstance(flow, Flow | Program) else load_flow(flow))
        program = machine.program
        _check_host(program, host)
        seconds = check_timers(program.flow, timers)
        plan = plan_of(program, seconds)
        maxlen = check_count("maxlen", maxlen)
        journal = LiveJournal(program, maxlen, check_sinks(sinks), seconds)
        super().__init__(machine, host, journal, plan)

    @property
    def flow(self) -> Flow:
        """The flow."""
        return self.machine.program.flow

    @property
    def state(self) -> str:
        """The current state."""
        return self.machine.state

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that are true, in the order of declaration."""
        return self.machine.program.names(self.machine.facts)

    @property
    def now(self) -> float:
        """Seconds since the journal began."""
        return self.clock() - self.journal.start

    @property
    def held_since(self) -> float:
        """When the current state was entered, in seconds since the journal began."""
        return (self.clock() if self._entered is None else self._entered) - self.journal.start

    def retime(self, timers: Mapping[str, float]) -> None:
        """Replace the seconds of timers while the flow runs.

        Args:
            timers: Seconds, which apply from now on. A missing timer has the flow's seconds.

        Raises:
            UnknownName: The flow does not have the timer.

        Example::

            turn.retime({"false_interruption": 4.0})
        """
        self._plan = plan_of(self.machine.program, check_timers(self.flow, timers))
        self.note("timers", **{name: None if s == NEVER else s for name, s in timers.items()})

    def holds(self, fact: str) -> bool:
        """Whether a fact is true. For a host fact: the host's last answer."""
        return self.machine.holds(fact)


# The classes that have all methods that a program needs.
_FITS: WeakKeyDictionary[Program, WeakSet[type]] = WeakKeyDictionary()


def _check_host(program: Program, host: object) -> None:
    fits = _FITS.get(program)
    if fits is not None and type(host) in fits:
        return
    for what, names in (("action", program.flow.actions), ("host fact", program.flow.host_facts)):
        _require(host, names, what, program.flow.name)
    if all(
        callable(getattr(type(host), n, None))
        for n in (*program.flow.actions, *program.flow.host_facts)
    ):
        _FITS.setdefault(program, WeakSet()).add(type(host))


def _require(host: object, names: Iterable[str], what: str, flow: str) -> None:
    missing = [name for name in names if not callable(getattr(host, name, None))]
    if missing:
        who = type(host).__name__
        methods = ", ".join(repr(name) for name in missing)
        remedy = f"add a method for it to {who}, or take it out of the flow"
        raise HostError(
            f"flow {flow!r} needs the {what} {methods}, which {who} does not implement; {remedy}"
        )
