"""The measurements under their telemetry names. A journal gives the same numbers as the session."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import attrs

from turnfsm.fsm.journal import (
    AudioStopped,
    Closed,
    ComponentFailed,
    Journal,
    VoiceUnrecognised,
)

from . import values
from .measuring import values_of

__all__ = ["INSTRUMENTS", "Instrument", "Measurement", "measurements_in", "measurements_of"]


@attrs.frozen
class Instrument:
    """An OpenTelemetry instrument: a histogram of seconds, or a counter.

    Attributes:
        name: Its name.
        unit: The UCUM unit: ``s``, or in braces what is counted.
        is_: What it measures.
    """

    name: str
    unit: str
    is_: str

    @property
    def kind(self) -> Literal["histogram", "counter"]:
        """Seconds are a histogram, everything else is counted."""
        return "histogram" if self.unit == "s" else "counter"


_FILE = Path(__file__).with_name("instruments.toml")

INSTRUMENTS = tuple(
    Instrument(name, *row) for name, row in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
)
"""All instruments. No label is an id."""


@attrs.frozen
class Measurement:
    """One value for one instrument.

    Attributes:
        name: The name of the instrument.
        value: Seconds for a histogram, 1 for a counter.
        labels: Names and values, in the order of the names.
    """

    name: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


def measurements_in(value: values.Value) -> Iterator[Measurement]:
    """The measurements of a value."""
    match value:
        case values.Response():
            yield Measurement("turnfsm.turn.response.latency", value.seconds)
            for part, seconds in value.parts:
                yield Measurement("turnfsm.turn.response.part", seconds, (("part", part),))
        case values.Interruption():
            yield Measurement("turnfsm.interruptions", 1, (("outcome", value.outcome),))
            if value.stop_latency is not None:
                yield Measurement("turnfsm.interruption.stop.latency", value.stop_latency)
        case values.StateDuration(state=state, seconds=seconds):
            yield Measurement("turnfsm.state.duration", seconds, (("state", state),))
        case values.Silence(cause=cause, seconds=seconds):
            yield Measurement("turnfsm.silence.duration", seconds, (("cause", cause),))
        case values.Overlap(seconds=seconds, by=by):
            yield Measurement("turnfsm.overlap.duration", seconds, (("by", by),))
        case values.TurnEnd(outcome=outcome):
            yield Measurement("turnfsm.turns", 1, (("outcome", outcome),))
        case values.Refusal(trigger=trigger, state=state):
            labels = (("state", state), ("trigger", trigger))
            yield Measurement("turnfsm.refusals", 1, labels)
        case values.ToolEnd(end=end):
            yield Measurement("turnfsm.tool.calls", 1, (("end", end),))
        case values.LongWait(cause=cause):
            yield Measurement("turnfsm.turn.waits_long", 1, (("cause", cause),))
        case values.Blip():
            yield Measurement("turnfsm.blips", 1)
        case values.Reported(event=ComponentFailed(part=part, recoverable=recoverable)):
            labels = (("part", part), ("recoverable", str(recoverable).lower()))
            yield Measurement("turnfsm.component.failures", 1, labels)
        case values.Reported(event=VoiceUnrecognised(long=True)):
            yield Measurement("turnfsm.voices.unrecognised", 1)
        case values.Reported(event=AudioStopped()):
            yield Measurement("turnfsm.audio.stopped", 1)
        case values.Reported(event=Closed(reason=reason)):
            yield Measurement("turnfsm.sessions.closed", 1, (("reason", reason),))


def measurements_of(journal: Journal) -> Iterator[Measurement]:
    """The measurements that the session of this journal sent to telemetry, in the same order.

    Args:
        journal: The journal.

    Returns:
        The measurements.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.metrics import measurements_of
        >>> next(measurements_of(read_journal("journal.jsonl")))
        Measurement(name='turnfsm.state.duration', value=2.7, labels=(('state', 'listening'),))
    """
    for value in values_of(journal):
        yield from measurements_in(value)
