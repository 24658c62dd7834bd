"""Log lines of a session: INFO at the end of a turn, DEBUG for every verdict.

The fields are in the record's ``extra``, too. The words of the conversation are in neither.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from turnfsm.fsm import Refused, Verdict
from turnfsm.fsm.journal import Entry, Note
from turnfsm.fsm.metrics import Interruption, Response, TurnEnd, Value
from turnfsm.runtime.journal import Raw

__all__ = ["TurnLog", "VerdictLog"]

logger = logging.getLogger("turnfsm.turn")


class TurnLog:
    """Writes the lines of one session."""

    measures = True
    late = 1.0  # among the lines of others

    def __init__(self) -> None:
        self._turn: TurnEnd | None = None
        self._response: float | None = None
        self._stop: float | None = None

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        """Take one record; None at the end."""
        for value in values:
            self._measured(value)
        over = record is None
        if isinstance(record, Entry):
            verdict = record.verdict
            over = verdict.entered and verdict.dest == "listening" != verdict.state
        if over:
            self._write()

    def _measured(self, value: Value) -> None:
        match value:
            case TurnEnd():
                self._write()
                self._turn = value
                if value.outcome != "replied":
                    self._write()
            case Response():
                self._response = value.seconds
            case Interruption() if value.stop_latency is not None:
                self._stop = value.stop_latency

    def _write(self) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        fields: dict[str, Any] = {
            "turn": turn.number,
            "outcome": turn.outcome,
            "kept": turn.kept,
            "response_latency": self._response,
            "stop_latency": self._stop,
        }
        words = [f"turn {turn.number} {turn.outcome}"]
        if turn.kept:
            words.append("had to wait")
        if self._response is not None:
            words.append(f"response {self._response:.2f} s")
        if self._stop is not None:
            words.append(f"stopped {self._stop:.2f} s after the user began")
        self._response = self._stop = None
        logger.info("%s", ", ".join(words), extra=fields)


class VerdictLog:
    """Writes a line for each verdict, when it is decided.

    Args:
        typed: Makes a value of a raw record.
    """

    def __init__(self, typed: Callable[[Raw], Entry | Note]) -> None:
        self._typed = typed

    def hear(self, raw: Raw) -> None:
        """Take one record."""
        if not logger.isEnabledFor(logging.DEBUG):
            return
        entry = self._typed(raw)
        if isinstance(entry, Entry):
            _log_verdict(entry)

    def end(self) -> None:
        """The session has closed."""


def _log_verdict(entry: Entry) -> None:
    verdict = entry.verdict
    fields = {
        "seq": entry.seq,
        "t": round(entry.t, 6),
        "trigger": entry.trigger,
        "of": entry.of,
        "state": verdict.state,
        "dest": verdict.dest,
        "taken": bool(verdict),
        **_decided_by(verdict),
    }
    logger.debug("%s", verdict, extra=fields)


def _decided_by(verdict: Verdict) -> dict[str, Any]:
    if isinstance(verdict, Refused):
        return {"row": None, "reason": verdict.reason, "why": verdict.why}
    return {"row": verdict.row, "reason": None, "why": None}
