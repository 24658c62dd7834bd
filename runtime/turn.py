"""TurnRuntime: a machine, its pump, and a host that carries out what the machine decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from turnfsm.fsm import (
    Flow,
    HostError,
    Machine,
    Program,
    TurnfsmError,
    Verdict,
    load_flow,
)

from .arguments import check_sinks, check_timers
from .journal import LiveJournal, Sink
from .pump import EventPump, Observer
from .timers import plan_of

__all__ = ["TurnRuntime"]


class TurnRuntime:
    """One conversation under a flow.

    Args:
        flow: A flow, the name of a shipped one, or a path.
        host: Has a method for every action of the flow, which takes an `Event`, and one for every
            host fact, which takes nothing and answers True or False.
        timers: Seconds that replace those of the flow.
        sinks: Each gets every record of the journal.
        maxlen: How many entries the journal keeps in memory.

    Raises:
        HostError: The host lacks an action or a host fact.
        UnknownName: ``timers`` names one that the flow does not have.
        FlowError: The flow cannot be used.
        TurnfsmError: A value of ``timers`` is not a number of seconds, or one of ``sinks`` is not
            a sink.

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

    __slots__ = ("_fences", "_pump", "machine")

    def __init__(
        self,
        flow: Flow | Program | str | Path,
        host: object,
        *,
        timers: Mapping[str, float] | None = None,
        sinks: Iterable[Sink] = (),
        maxlen: int = 4096,
    ) -> None:
        self.machine = Machine(flow if isinstance(flow, Flow | Program) else load_flow(flow))
        program = self.machine.program
        self._fences = program.fences
        _check_host(program, host)
        seconds = check_timers(program.flow, timers)
        plan = plan_of(program, seconds)
        journal = LiveJournal(program, maxlen, check_sinks(sinks), seconds)
        self._pump = EventPump(self.machine, host, journal, plan)

    @property
    def flow(self) -> Flow:
        """The flow that is followed."""
        return self.machine.program.flow

    @property
    def state(self) -> str:
        """The state that is held."""
        return self.machine.state

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that are true, in the order of declaration."""
        return self.machine.program.names(self.machine.facts)

    @property
    def journal(self) -> LiveJournal:
        """Everything that was asked and that happened."""
        return self._pump.journal

    @property
    def now(self) -> float:
        """Seconds of the journal's clock."""
        return self._pump.clock() - self.journal.start

    @property
    def closed(self) -> bool:
        """Nothing is taken any more."""
        return self._pump.closed

    def holds(self, fact: str) -> bool:
        """Whether a fact is true; a host fact as the host last answered."""
        return self.machine.holds(fact)

    def post(self, trigger: str, of: Any = None, /, **data: Any) -> Verdict:
        """Decide on a trigger now; if it is taken, commit and run its effects.

        Args:
            of: The step, turn or call that it belongs to; a fenced trigger needs it.
            data: Kept in the journal and handed to the effects.

        Raises:
            UnknownTrigger: The flow declares it nowhere.
            TurnfsmError: The flow fences the trigger and ``of`` is missing.
        """
        if of is None and trigger in self._fences:
            raise self._unfenced(trigger)
        return self._pump.post(trigger, of, data or None)

    def ask(self, trigger: str, of: Any = None) -> Verdict:
        """What `post` would answer now, without moving."""
        return self._pump.ask(trigger, of)

    def post_threadsafe(self, trigger: str, of: Any = None, /, **data: Any) -> Future[Verdict]:
        """Post from another thread; a future of the verdict. The runtime must be started."""
        if of is None and trigger in self._fences:
            raise self._unfenced(trigger)
        return self._pump.post_threadsafe(trigger, of, data or None)

    def note(self, kind: str, **data: Any) -> None:
        """Keep something in the journal that is no trigger."""
        self._pump.note(kind, **data)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Tell an observer (entry number, verdict) of every post; gives what ends it."""
        return self._pump.observe(observer)

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Bind to the running loop and arm the timers of the initial state."""
        self._pump.start(loop)

    def close(self) -> None:
        """Refuse all that comes, stop the timers, cancel the tasks."""
        self._pump.close()

    async def aclose(self, max_wait: float = 5.0) -> None:
        """Close, and wait for the cancelled tasks to end, at most `max_wait` seconds."""
        await self._pump.aclose(max_wait)

    def _unfenced(self, trigger: str) -> TurnfsmError:
        scope = self._fences[trigger]
        return TurnfsmError(
            f"trigger {trigger!r} belongs to a {scope}; say which: post({trigger!r}, id)"
        )


# The classes whose instances are known to fit a program.
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
