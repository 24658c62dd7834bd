"""Writes the journal in conversation time, with notes about audio and tools."""

from collections.abc import Mapping
from typing import Any

from turnfsm.runtime.journal import Sink
from turnfsm.runtime.turn import TurnRuntime

from .pace import Pace
from .parts import Stack
from .script import Line

__all__ = ["Recorder", "Scribe"]


class Recorder:
    """A sink that keeps every record with its conversation time, and passes it on to others."""

    def __init__(self, pace: Pace, *sinks: Sink) -> None:
        self.records: list[Mapping[str, Any]] = []
        self._pace = pace
        self._sinks = sinks
        self._start = 0.0

    def align(self, turn: TurnRuntime) -> None:
        """Set the conversation time at which the clock of the journal began."""
        self._start = self._pace.now() - turn.now * self._pace.speed

    def write(self, record: Mapping[str, Any]) -> None:
        if "t" in record:
            record = {**record, "t": round(self._start + record["t"] * self._pace.speed, 6)}
        self.records.append(record)
        for sink in self._sinks:
            sink.write(record)

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()


class Scribe:
    """Adds notes about audio and tools to the journal, for the lanes of the timeline.

    Whoever runs the session reports to it.
    """

    def __init__(self, turn: TurnRuntime, stack: Stack) -> None:
        self._turn = turn
        self._stack = stack
        self._noted = 0  # sounds of the agent
        self._calls: dict[str, tuple[str, str, float]] = {}

    def line(self, line: Line) -> None:
        """The user begins a line."""
        self._turn.note("line", name=line.name, text=line.text, start=self._now)

    def spoken(self, line: Line, start: float, end: float) -> None:
        """The user has spoken a line."""
        start, end = round(start, 3), round(end, 3)
        self._turn.note("user_audio", start=start, end=end, text=line.text, line=line.name)

    def finish(self) -> None:
        """Note what has not ended."""
        self._sounds(interrupted=True)
        for call_id in list(self._calls):
            self.tool_ended(call_id, "unfinished")

    def played(self, *, interrupted: bool) -> None:
        """An utterance of the agent has ended, or was interrupted."""
        self._sounds(interrupted=interrupted)

    def tool_started(self, call_id: str, name: str, arguments: str) -> None:
        """A tool runs."""
        self._calls[call_id] = (name, arguments, self._now)

    def tool_ended(self, call_id: str, outcome: str) -> None:
        """It has ended."""
        name, arguments, start = self._calls.pop(call_id)
        known = {"name": name, "arguments": arguments, "call_id": call_id}
        self._turn.note("tool", **known, start=start, end=self._now, outcome=outcome)

    def note(self, kind: str, **data: object) -> None:
        """The session reports something else: a final transcript, or a new state of the agent."""
        self._turn.note(kind, **data)

    @property
    def _now(self) -> float:
        return round(self._stack.pace.now(), 3)

    def _sounds(self, *, interrupted: bool) -> None:
        sounds = self._stack.heard()
        fresh, self._noted = sounds[self._noted :], len(sounds)
        for number, sound in enumerate(fresh, 1):
            span = {"start": round(sound.start, 3), "end": round(sound.end, 3)}
            last = number == len(fresh)
            self._turn.note(
                "agent_audio", **span, text=sound.text, interrupted=interrupted and last
            )
