"""Log lines of a session: INFO at the end of a turn, DEBUG for every verdict.

The fields stand in the record's ``extra`` too. What people said is in neither.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from turnfsm.fsm import Refused, Verdict
from turnfsm.fsm.journal import Entry, Note
from turnfsm.fsm.metrics import Interruption, Response, TurnEnd, Value

__all__ = ["TurnLog", "log_consumers"]

logger = logging.getLogger("turnfsm.turn")


def log_consumers() -> tuple[TurnLog, ...]:
    """A `TurnLog`, if somebody reads INFO of ``turnfsm.turn``."""
    return (TurnLog(),) if logger.isEnabledFor(logging.INFO) else ()


class TurnLog:
    """Writes the lines of one session."""

    measures = True

    def __init__(self) -> None:
        self._turn: TurnEnd | None = None
        self._response: float | None = None
        self._stop: float | None = None

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        """Take one record; None at the end."""
        if isinstance(record, Entry) and logger.isEnabledFor(logging.DEBUG):
            _log_verdict(record)
        for value in values:
            self._measured(value)
        over = record is None
        if isinstance(record, Entry):
            verdict = record.verdict
            over = verdict.entered and verdict.dest == "listening" != verdict.source
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


def _log_verdict(entry: Entry) -> None:
    verdict = entry.verdict
    fields = {
        "seq": entry.seq,
        "t": round(entry.t, 6),
        "trigger": entry.trigger,
        "of": entry.of,
        "state": verdict.source,
        "dest": verdict.dest,
        "taken": bool(verdict),
        **_decided_by(verdict),
    }
    logger.debug("%s", verdict, extra=fields)


def _decided_by(verdict: Verdict) -> dict[str, Any]:
    if isinstance(verdict, Refused):
        return {"row": None, "reason": verdict.reason, "why": verdict.why}
    return {"row": verdict.row, "reason": None, "why": None}
