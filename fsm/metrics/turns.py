"""Measures the outcome of user turns and of tool calls, and the response latencies."""

from __future__ import annotations

from collections import deque

from turnfsm.fsm.journal import Entry, Note

from .floor import HEARD
from .values import LongWait, Response, ToolEnd, TurnEnd, Value

__all__ = ["TurnTimes"]

_MOST = 64
"""The maximum number of deferred turns, and of open calls, that are tracked."""


class TurnTimes:
    """Responses, ends of turns, ends of tool calls."""

    def __init__(self) -> None:
        self._voice_ended: float | None = None  # since the last commit
        self._deferred: deque[float] = deque(maxlen=_MOST)
        self._asked: float | None = None
        self._speech: str | None = None
        self._other_heard_at = 0.0  # another speech than the turn's, such as the question of a tool
        self._turn = 0
        self._waiting: tuple[object, object] | None = None  # a reported wait
        self._calls: dict[str, tuple[str, str]] = {}  # the tool's name, its policy

    def entry(self, now: float, entry: Entry, out: list[Value]) -> None:
        """One trigger."""
        verdict = entry.verdict
        match entry.trigger:
            case "user_stopped_speaking" if verdict:
                self._voice_ended = now
            case "turn_deferred" if verdict:
                self._deferred.append(self._asked_at(now))
            case "turn_committed" if verdict:
                self._asked = self._deferred.popleft() if self._deferred else self._asked_at(now)
                self._speech, self._turn = None, 0
            case "reply_requested" if verdict:
                self._speech, self._turn = entry.data.get("speech"), _number(entry.data.get("turn"))
            case "turn_dropped" if verdict and entry.data.get("reason") != "overdue":
                self._asked = None  # an overdue reply may still come
        if verdict.dest == HEARD and verdict.state != HEARD and verdict.state != "paused":
            self._heard(now, str(entry.of or ""), out)
        elif verdict.dest == "confirming" and verdict.state != "confirming":
            self._answered_at(self._other_heard_at, out)  # the question was the response

    def note(self, now: float, note: Note, out: list[Value]) -> None:
        """A note about turns and calls."""
        data = note.data
        if note.kind == "turn":
            number, outcome = _number(data.get("number")), str(data.get("outcome", ""))
            deferred, why = bool(data.get("deferred")), str(data.get("why", ""))
            out.append(TurnEnd(now, number, outcome, deferred, why))
        elif note.kind == "turn_waits_long":
            self._waits(now, note, out)
        elif note.kind == "tool_started":
            if len(self._calls) >= _MOST:
                self._calls.pop(next(iter(self._calls)))
            self._calls[str(data.get("call"))] = (
                str(data.get("name", "")),
                str(data.get("policy", "")),
            )
        elif str(data.get("call")) in self._calls:
            self._call_moves(now, note, out)

    def _waits(self, now: float, note: Note, out: list[Value]) -> None:
        """Each wait counts once, with its first report."""
        cause, names = str(note.data.get("cause")), tuple(note.data.get("names") or ())
        wait = (cause, note.data.get("since"))
        if wait != self._waiting and not note.data.get("ended"):
            out.append(LongWait(now, cause, names))
        self._waiting = None if note.data.get("ended") else wait

    def _call_moves(self, now: float, note: Note, out: list[Value]) -> None:
        call = str(note.data.get("call"))
        name, policy = self._calls[call]
        if note.kind == "tool_ended":
            del self._calls[call]
            out.append(ToolEnd(now, name, str(note.data.get("how", ""))))
        elif note.kind == "tool_turn_over" and policy != "cancel":
            del self._calls[call]
            out.append(ToolEnd(now, name, "released"))

    def _asked_at(self, now: float) -> float:
        ended, self._voice_ended = self._voice_ended, None
        return now if ended is None else ended

    def _heard(self, now: float, step: str, out: list[Value]) -> None:
        if self._speech is not None and step.rpartition("#")[0] not in ("", self._speech):
            self._other_heard_at = now
        else:
            self._answered_at(now, out)

    def _answered_at(self, at: float, out: list[Value]) -> None:
        if self._asked is not None and at >= self._asked:
            out.append(Response(self._asked, at, self._turn))
            self._asked = None


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
