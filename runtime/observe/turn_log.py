"""Log lines of a session: INFO at the end of a turn, for outages and at the close; DEBUG for every
verdict.

The fields are also in the record's ``extra``. Neither has text of the conversation.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from turnfsm.fsm import Refused
from turnfsm.fsm.journal import (
    AgentEntryFailed,
    AudioResumed,
    AudioStopped,
    Closed,
    ComponentFailed,
    ComponentSwitched,
    Entry,
    Note,
    SessionEvent,
    VoiceUnrecognised,
)
from turnfsm.fsm.metrics.values import Interruption, Reported, Response, TurnEnd, Value
from turnfsm.runtime.journal import LiveJournal, Raw

__all__ = ["TurnLog", "log_verdict"]

logger = logging.getLogger("turnfsm.turn")


class TurnLog:
    """Writes the lines of one session."""

    measures = True
    late = 1.0  # so that the lines are near those of other loggers

    def __init__(self) -> None:
        self._turn: TurnEnd | None = None
        self._response: Response | None = None
        self._stop: float | None = None
        self._outcomes: Counter[str] = Counter()

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
                self._outcomes[value.outcome] += 1
                if value.outcome != "replied":
                    self._write()
            case Response():
                self._write()
                self._response = value
            case Interruption() if value.stop_latency is not None:
                self._stop = value.stop_latency
            case Reported(event=event):
                self._write()
                self._report(event)

    def _write(self) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        response = self._response if turn.outcome == "replied" else None
        fields: dict[str, Any] = {
            "turn": turn.number,
            "outcome": turn.outcome,
            "why": turn.why,
            "deferred": turn.deferred,
            "response_latency": response.seconds if response is not None else None,
            "response_parts": dict(response.parts) if response is not None else {},
            "stop_latency": self._stop,
        }
        parts = [f"turn {turn.number} {turn.outcome}" + (f": {turn.why}" if turn.why else "")]
        if turn.deferred:
            parts.append("deferred")
        if response is not None:
            parts.append(f"response {response.seconds:.2f} s")
        if self._stop is not None:
            parts.append(f"stopped {self._stop:.2f} s after the user began")
        self._response = self._stop = None
        logger.info("%s", ", ".join(parts), extra=fields)

    def _report(self, event: SessionEvent) -> None:
        line = self._said(event)
        if line:
            fields = {name: value for name, value in event.fields().items() if name != "message"}
            logger.info("%s", line, extra={"event": event.KIND, **fields})

    def _said(self, event: SessionEvent) -> str:
        match event:
            case ComponentFailed(recoverable=False):
                return f"{event} and was given up"
            case AgentEntryFailed():
                return str(event)
            case ComponentSwitched():
                now = "is used again" if event.available else "is replaced by another one"
                return f"{event.component} {now}"
            case VoiceUnrecognised() if event.long:
                return f"no transcript of the speech from {event.since:.2f} to {event.until:.2f} s"
            case AudioStopped():
                return f"no audio of the user since {event.since:.2f} s"
            case AudioResumed():
                return "audio of the user arrives again"
            case Closed():
                counts = [f"{count} {outcome}" for outcome, count in self._outcomes.items()]
                return f"{event}; turns: {', '.join(counts) or 'none'}"
        return ""


def log_verdict(journal: LiveJournal, raw: Raw) -> None:
    """Write a line for a verdict, if DEBUG is on."""
    if not logger.isEnabledFor(logging.DEBUG) or raw[6] is None:
        return
    entry, verdict = journal.typed(raw), raw[6]
    if isinstance(verdict, Refused):
        decided_by = {"row": None, "reason": verdict.reason, "why": verdict.why}
    else:
        decided_by = {"row": verdict.row, "reason": None, "why": None}
    fields = {
        "seq": entry.seq,
        "t": round(entry.t, 6),
        "trigger": verdict.trigger,
        "of": raw[3],
        "state": verdict.state,
        "dest": verdict.dest,
        "taken": bool(verdict),
        **decided_by,
    }
    logger.debug("%s", verdict, extra=fields)
