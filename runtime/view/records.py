"""The records of a journal as the page reads them: short keys, facts only where they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Entry, Record
from turnfsm.fsm.metrics.measuring import Measuring
from turnfsm.fsm.metrics.tally import Tally
from turnfsm.fsm.metrics.values import Response, Silence, TurnEnd, Value
from turnfsm.fsm.verdicts import Refused, Taken

from .settings import InForce, Setting

__all__ = ["RecordEncoder"]


class Begun:
    """Tracks the start of speech, since a message is written when it is complete."""

    def __init__(self) -> None:
        self._voice: float | None = None  # the first speech without a transcript so far
        self._since: dict[str, float] = {}
        self._heard = False

    def feed(self, record: Record) -> float | None:
        """When the speech of this message began; None if it is not a message."""
        if isinstance(record, Entry):
            self._entry(record)
            return None
        if record.kind == "voice_unrecognised":
            self._voice = None
        if record.kind != "message":
            return None
        return min(record.t, self._since.pop(str(record.data.get("role")), record.t))

    def _entry(self, entry: Entry) -> None:
        if entry.verdict and entry.trigger == "user_started_speaking" and self._voice is None:
            self._voice = entry.t
        elif entry.verdict and entry.trigger == "final_transcript" and self._voice is not None:
            self._since.setdefault("user", self._voice)
            self._voice = None
        elif entry.trigger == "endpointing_ended" and "user_speaking" not in entry.facts:
            self._voice = None  # no transcript is awaited
        if isinstance(entry.verdict, Taken) and "discard_turn" in entry.verdict.actions:
            self._since.pop("user", None)
        heard = entry.verdict.dest == "speaking"
        if heard and not self._heard:
            self._since.setdefault("assistant", entry.t)
        self._heard = heard


MOST_TEXT = 20_000
"""The maximum number of characters of one text, so that no record makes the page slow."""

MOST_ITEMS = 200
MOST_DEPTH = 6


class RecordEncoder:
    """Encodes one journal, record by record.

    Keys of every record: ``n`` number, ``t`` seconds, ``x`` data, ``h`` the silences that it ends
    (each with start, end, cause, and parts of start, end, cause and reason), ``g`` the settings
    afterwards (left out if unchanged).

    Keys of an entry: ``k`` trigger, ``s`` and ``d`` the states before and after, ``e`` whether
    ``d`` was entered, ``r`` row, ``q`` and ``w`` reason and explanation of a refusal, ``a``
    actions, ``z`` timers that restarted, ``y`` timers that continued although ``d`` was entered,
    ``o`` the step, turn or call, ``c`` cause, ``f`` the facts afterwards (left out if unchanged).

    Keys of a note: ``m`` kind; of a message ``b`` when its first words were heard; of the end of a
    turn ``l`` the response latency in seconds, ``p`` its parts, ``u`` when the user stopped.

    Attributes:
        tally: The trouble in the records so far.
    """

    def __init__(self, flow: Flow) -> None:
        self._numbers = {name: number for number, name in enumerate(flow.facts)}
        self._facts: tuple[str, ...] | None = None
        self._in_force = InForce(flow, flow.initial)
        self._settings: list[Setting] | None = self._in_force.all()
        self._values = Measuring(flow.timers, initial=flow.initial)
        self._response: Response | None = None
        self._begun = Begun()
        self.tally = Tally()

    def all(self, records: Iterable[Record]) -> list[dict[str, Any]]:
        """Encode records one after the other."""
        return [self(record) for record in records]

    def end(self) -> list[list[Any]]:
        """The silences that the end of the journal ends."""
        return _silences(self._counted(self._values.end()))

    def restart(self) -> None:
        """Write the facts and settings of the next entry even if they have not changed."""
        self._facts = self._settings = None

    def __call__(self, record: Record) -> dict[str, Any]:
        """Encode the next record."""
        row: dict[str, Any] = {"n": record.seq, "t": round(record.t, 4)}
        row |= self._entry(record) if isinstance(record, Entry) else {"m": _cut(record.kind)}
        if record.data:
            row["x"] = _plain(record.data)
        if self._in_force.feed(record) or self._settings is None:
            before, self._settings = self._settings, self._in_force.all()
            row |= {"g": _plain(self._settings)} if self._settings != before else {}
        return row | self._measured(record)

    def _measured(self, record: Record) -> dict[str, Any]:
        """What the record completes: a silence, the response to a turn, the words of a message."""
        row: dict[str, Any] = {}
        if (begun := self._begun.feed(record)) is not None:
            row["b"] = round(begun, 4)
        values = self._counted(self._values.feed(record))
        if silences := _silences(values):
            row["h"] = silences
        for value in values:
            if isinstance(value, Response):
                self._response = value
            elif isinstance(value, TurnEnd) and value.outcome == "replied":
                response, self._response = self._response, None
                if response is not None:
                    parts = {part: round(seconds, 3) for part, seconds in response.parts}
                    row |= {"u": round(response.at, 3), "l": round(response.seconds, 3), "p": parts}
        return row

    def _counted(self, values: Sequence[Value]) -> Sequence[Value]:
        for value in values:
            self.tally.add(value)
        return values

    def _entry(self, entry: Entry) -> dict[str, Any]:
        verdict = entry.verdict
        row: dict[str, Any] = {"k": entry.trigger, "s": verdict.state}
        if isinstance(verdict, Refused):
            row |= {"q": verdict.reason, "w": _cut(verdict.why)}
        else:
            row["d"] = verdict.dest
            row |= {"e": 1} if verdict.entered else {}
            row |= {"r": verdict.row} if verdict.row else {}
            row |= {"a": list(verdict.actions)} if verdict.actions else {}
            row |= {"z": list(verdict.restarts)} if verdict.restarts else {}
            row |= {"y": list(verdict.keeps)} if verdict.keeps else {}
        if entry.of is not None:
            row["o"] = _cut(str(entry.of))
        if entry.cause is not None:
            row["c"] = entry.cause
        if entry.facts != self._facts:
            self._facts = entry.facts
            row["f"] = [self._numbers[name] for name in entry.facts if name in self._numbers]
        return row


def _silences(values: Iterable[Value]) -> list[list[Any]]:
    found = []
    for value in values:
        if isinstance(value, Silence):
            parts = [[part.start, part.end, part.cause, _cut(part.why)] for part in value.parts]
            found.append([value.start, value.end, value.cause, parts])
    return found


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as plain data of limited size."""
    if isinstance(value, str):
        return _cut(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth >= MOST_DEPTH:
        return _cut(repr(value))
    if isinstance(value, Mapping):
        kept = list(value.items())[:MOST_ITEMS]
        return {_cut(str(key)): _plain(item, depth + 1) for key, item in kept}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value[:MOST_ITEMS]]
    return _cut(repr(value))


def _cut(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}… ({len(text)} characters)"
