"""A session in OpenTelemetry: histograms, counters, and events on spans that are there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry import metrics as otel_metrics
from opentelemetry.trace import Span

from turnfsm.fsm import Refused, TurnfsmError
from turnfsm.fsm.journal import Entry, Note
from turnfsm.fsm.metrics import INSTRUMENTS, Value, measurements_in
from turnfsm.runtime.journal import PRIVATE

__all__ = ["Telemetry", "TelemetryConsumer", "check_telemetry"]

_BUCKETS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 20.0, 60.0)
"""Seconds; what matters in a conversation lies between 0.2 and 3."""

_SCALARS = (str, bool, int, float)


class Telemetry:
    """What a session tells OpenTelemetry: `TurnSession(telemetry=Telemetry(...))`.

    Args:
        meter_provider: Where histograms and counters go; by default the global one.
        spans: Add the events `turnfsm.transition` and `turnfsm.refused` to LiveKit's spans.
        said: What people said may stand in the events, as the journal has it.

    Example:
        >>> from turnfsm.livekit import Telemetry
        >>> Telemetry(spans=False).said
        False
    """

    def __init__(
        self, meter_provider: Any | None = None, *, spans: bool = True, said: bool = False
    ) -> None:
        self.spans = spans
        self.said = said
        provider = meter_provider or otel_metrics.get_meter_provider()
        meter = provider.get_meter("turnfsm")
        self._record: dict[str, Callable[..., None]] = {}
        for instrument in INSTRUMENTS:
            name, unit, is_ = instrument.name, instrument.unit, instrument.is_
            if instrument.kind == "counter":
                self._record[name] = meter.create_counter(name, unit, is_).add
            else:
                self._record[name] = meter.create_histogram(
                    name, unit, is_, explicit_bucket_boundaries_advisory=_BUCKETS
                ).record

    def broken(self, property: str) -> None:
        """Count a property that a session has broken."""
        self._record["turnfsm.audit.broken"](1, {"property": property})

    def measured(self, value: Value) -> None:
        """Record what there is of a value."""
        for measurement in measurements_in(value):
            self._record[measurement.name](measurement.value, dict(measurement.labels))


def check_telemetry(telemetry: object) -> Telemetry | None:
    """The telemetry of a session; None where it is off.

    Raises:
        TurnfsmError: It is of another kind.
    """
    if isinstance(telemetry, Telemetry):
        return telemetry
    if isinstance(telemetry, bool):
        return Telemetry() if telemetry else None
    shown = type(telemetry).__name__
    raise TurnfsmError(f"telemetry is {shown}; give True, False or Telemetry(meter_provider)")


class TelemetryConsumer:
    """Writes the telemetry of one session.

    Args:
        span: Gives the span that is under way; None if none is.
    """

    measures = True

    def __init__(self, telemetry: Telemetry, span: Callable[[], Span | None]) -> None:
        self._telemetry = telemetry
        self._span = span

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        """Take one record; None at the end."""
        for value in values:
            self._telemetry.measured(value)
        if isinstance(record, Entry) and self._telemetry.spans:
            self._tell(record)

    def _tell(self, entry: Entry) -> None:
        verdict = entry.verdict
        if isinstance(verdict, Refused):
            if verdict.reason == "ignores":
                return
            name, more = "turnfsm.refused", {"reason": verdict.reason, "why": verdict.why}
        elif verdict.entered or verdict.actions:
            name, more = "turnfsm.transition", {"dest": verdict.dest, "row": verdict.row or ""}
        else:
            return
        span = self._span()
        if span is None or not span.is_recording():
            return
        fields: dict[str, Any] = {"trigger": entry.trigger, "state": verdict.source, **more}
        fields["seq"] = entry.seq
        if self._telemetry.said:
            said = {key: value for key, value in entry.data.items() if key in PRIVATE}
            fields |= {key: value for key, value in said.items() if isinstance(value, _SCALARS)}
        span.add_event(name, {f"turnfsm.{key}": value for key, value in fields.items()})
