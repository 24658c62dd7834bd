"""Checks the journal of a running session, and reports broken properties."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from turnfsm.fsm import Flow
from turnfsm.fsm.audit.properties import Broken, Judge
from turnfsm.fsm.journal import Entry, Note
from turnfsm.fsm.metrics.values import Value

__all__ = ["Conformance"]

logger = logging.getLogger("turnfsm")

_MOST_LINES = 10
"""The maximum number of log lines for one property of one session."""


class Conformance:
    """Checks each entry against the properties of the flow, and reports each broken one.

    `timers` are the seconds of all timers.
    """

    measures = False
    late = 5.0

    def __init__(
        self, flow: Flow, timers: Mapping[str, float], report: Callable[[Broken], None]
    ) -> None:
        self._judge = Judge(flow, timers)
        self._report = report
        self._seen: Counter[str] = Counter()

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        """Take one record; None at the end."""
        if not isinstance(record, Entry):
            return
        for broken in self._judge.entry(record):
            self._seen[broken.property] += 1
            if self._seen[broken.property] <= _MOST_LINES:
                fields = {"property": broken.property, "t": round(broken.at, 6)}
                logger.warning("property broken %s", broken, extra=fields)
            self._report(broken)
