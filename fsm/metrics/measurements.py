"""The measurements under their telemetry names. A journal gives the same numbers as the session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import attrs

from turnfsm.fsm.journal import (
    AudioStopped,
    Closed,
    ComponentFailed,
    Journal,
    SessionEvent,
    VoiceUnrecognised,
)

from . import values
from .follower import values_of

__all__ = ["INSTRUMENTS", "Instrument", "Measurement", "measurements_in", "measurements_of"]


@attrs.frozen
class Instrument:
    """An OpenTelemetry instrument: a histogram of seconds, or a counter.

    Attributes:
        name: Its name.
        kind: ``histogram`` or ``counter``.
        unit: The UCUM unit: ``s``, or in braces what is counted.
        is_: What it measures.
    """

    name: str
    kind: Literal["histogram", "counter"]
    unit: str
    is_: str


INSTRUMENTS = (
    Instrument(
        "turnfsm.turn.response.latency",
        "histogram",
        "s",
        "From the end of the user's voice to the first audio of the answer.",
    ),
    Instrument(
        "turnfsm.interruption.stop.latency",
        "histogram",
        "s",
        "From the user's voice over the agent until the agent is no longer heard.",
    ),
    Instrument("turnfsm.state.duration", "histogram", "s", "Seconds in a state."),
    Instrument("turnfsm.silence.duration", "histogram", "s", "Silences longer than 2 s, by cause."),
    Instrument("turnfsm.overlap.duration", "histogram", "s", "Seconds in which both were heard."),
    Instrument("turnfsm.turns", "counter", "{turn}", "Committed turns of the user, by outcome."),
    Instrument(
        "turnfsm.interruptions",
        "counter",
        "{interruption}",
        "Times that the user started to speak over the agent, by outcome.",
    ),
    Instrument("turnfsm.refusals", "counter", "{refusal}", "Refused triggers, by state."),
    Instrument(
        "turnfsm.turn.waits_long",
        "counter",
        "{wait}",
        "Waits that were reported because they took long, by what was waited for.",
    ),
    Instrument("turnfsm.tool.calls", "counter", "{call}", "Tool calls, by how they ended."),
    Instrument(
        "turnfsm.audit.broken",
        "counter",
        "{property}",
        "Properties that a session has broken, of `TurnSession(audit=True)`.",
    ),
    Instrument("turnfsm.blips", "counter", "{blip}", "Audio interrupted within 0.7 s."),
    Instrument(
        "turnfsm.turn.response.part",
        "histogram",
        "s",
        "The parts of a response latency: STT, endpointing, LLM, TTS, tool, and others.",
    ),
    Instrument(
        "turnfsm.component.failures",
        "counter",
        "{failure}",
        "Failures of the STT, LLM, TTS, VAD or realtime model; not recoverable: for good.",
    ),
    Instrument(
        "turnfsm.voices.unrecognised",
        "counter",
        "{voice}",
        "User speech of at least 1 s without a transcript.",
    ),
    Instrument("turnfsm.audio.stopped", "counter", "{time}", "Times without audio of the user."),
    Instrument("turnfsm.sessions.closed", "counter", "{session}", "Closed sessions, by reason."),
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


def measurements_in(value: values.Value) -> tuple[Measurement, ...]:
    """The measurements of a value."""
    match value:
        case values.Response():
            latency = Measurement("turnfsm.turn.response.latency", value.seconds)
            part = "turnfsm.turn.response.part"
            return latency, *(Measurement(part, s, (("part", of),)) for of, s in value.parts)
        case values.Interruption():
            return _interruption(value)
        case values.StateDuration(state=state, seconds=seconds):
            return (Measurement("turnfsm.state.duration", seconds, (("state", state),)),)
        case values.Silence():
            cause = (("cause", value.cause),)
            return (Measurement("turnfsm.silence.duration", value.seconds, cause),)
        case values.Overlap(seconds=seconds, by=by):
            return (Measurement("turnfsm.overlap.duration", seconds, (("by", by),)),)
        case values.TurnEnd(outcome=outcome):
            return (Measurement("turnfsm.turns", 1, (("outcome", outcome),)),)
        case values.Refusal(trigger=trigger, state=state):
            labels = (("state", state), ("trigger", trigger))
            return (Measurement("turnfsm.refusals", 1, labels),)
        case values.ToolEnd(end=end):
            return (Measurement("turnfsm.tool.calls", 1, (("end", end),)),)
        case values.LongWait(cause=cause):
            return (Measurement("turnfsm.turn.waits_long", 1, (("cause", cause),)),)
        case values.Blip():
            return (Measurement("turnfsm.blips", 1),)
        case values.Reported(event=event):
            return _reported(event)
        case _:
            return ()


def _reported(event: SessionEvent) -> tuple[Measurement, ...]:
    match event:
        case ComponentFailed(part=part, recoverable=recoverable):
            labels = (("part", part), ("recoverable", str(recoverable).lower()))
            return (Measurement("turnfsm.component.failures", 1, labels),)
        case VoiceUnrecognised() if event.long:
            return (Measurement("turnfsm.voices.unrecognised", 1),)
        case AudioStopped():
            return (Measurement("turnfsm.audio.stopped", 1),)
        case Closed(reason=reason):
            return (Measurement("turnfsm.sessions.closed", 1, (("reason", reason),)),)
    return ()


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
    measured: Iterable[values.Value] = values_of(journal)
    for value in measured:
        yield from measurements_in(value)


def _interruption(value: values.Interruption) -> tuple[Measurement, ...]:
    counted = Measurement("turnfsm.interruptions", 1, (("outcome", value.outcome),))
    if value.stop_latency is None:
        return (counted,)
    return counted, Measurement("turnfsm.interruption.stop.latency", value.stop_latency)
