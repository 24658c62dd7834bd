"""Connects a session's observers to its runtime: the log, telemetry, and the audit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from turnfsm.fsm import TurnfsmError
from turnfsm.runtime.journal import Listener
from turnfsm.runtime.turn import TurnRuntime

from .watch import Consumer, Watch

if TYPE_CHECKING:
    from turnfsm.fsm.audit.properties import Broken

    from .telemetry import Telemetry

__all__ = ["Observers", "telemetry_of"]

turn_log = logging.getLogger("turnfsm.turn")


def telemetry_of(telemetry: object) -> Telemetry | None:
    """The telemetry of a session; None if it is off.

    Raises:
        TurnfsmError: It is of the wrong kind, or OpenTelemetry is not installed.
    """
    if telemetry is False:
        return None
    try:
        from .telemetry import Telemetry
    except ModuleNotFoundError as error:
        raise TurnfsmError(
            "telemetry needs OpenTelemetry: pip install opentelemetry-api opentelemetry-sdk"
        ) from error
    if isinstance(telemetry, Telemetry):
        return telemetry
    if telemetry is True:
        return Telemetry()
    kind = type(telemetry).__name__
    raise TurnfsmError(f"telemetry is {kind}; give True, False or Telemetry(meter_provider)")


class Observers:
    """Connects the observers of a session to each of its runtimes.

    Args:
        telemetry: Gets metrics.
        audit: The journal is checked while it is written.
        report: Called with a broken property, after the actions of the entry that broke it.
    """

    def __init__(
        self, telemetry: Telemetry | None, audit: bool, report: Callable[[Broken], None]
    ) -> None:
        self.telemetry = telemetry
        self._audit = audit
        self._report = report
        self._watch: Watch | None = None

    def watch(self, turn: TurnRuntime, timers: Mapping[str, float]) -> None:
        """Observe this runtime's journal from now on. `timers` are the seconds of all timers."""
        for listener in self._listeners(turn):
            turn.journal.listen(listener)
        self._watch = Watch(turn.journal, self._consumers(turn, timers))

    def end(self) -> None:
        """The runtime has closed."""
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def _consumers(self, turn: TurnRuntime, timers: Mapping[str, float]) -> Iterator[Consumer]:
        # imported only when used: they import the metrics and the checker
        if turn_log.isEnabledFor(logging.INFO):
            from .turn_log import TurnLog

            yield TurnLog()
        if self.telemetry is not None:
            from .telemetry import Figures

            yield Figures(self.telemetry)
        if self._audit:
            from .conformance import Conformance

            yield Conformance(turn.flow, timers, self._report_broken)

    def _listeners(self, turn: TurnRuntime) -> Iterator[Listener]:
        if turn_log.isEnabledFor(logging.INFO):  # DEBUG may be turned on later
            from .turn_log import log_verdict

            yield lambda raw: log_verdict(turn.journal, raw)

    def _report_broken(self, broken: Broken) -> None:
        """In the next iteration of the event loop: the entry's actions come first."""
        if self.telemetry is not None:
            self.telemetry.broken(broken.property)
        asyncio.get_running_loop().call_soon(self._report, broken)
