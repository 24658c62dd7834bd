"""Sends a session to OpenTelemetry: histograms, counters, and events on LiveKit's spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics as otel_metrics
from opentelemetry.trace import Span

from turnfsm.fsm import Refused
from turnfsm.fsm.journal import Entry, Note
from turnfsm.runtime.journal import PRIVATE, Raw

if TYPE_CHECKING:
    from turnfsm.fsm.metrics.values import Value

__all__ = ["Figures", "SpanEvents", "Telemetry"]

_BUCKETS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 20.0, 60.0)
"""In seconds; the interesting range of a conversation is 0.2 to 3."""

_SCALARS = (str, bool, int, float)


class Telemetry:
    """Sends a session to OpenTelemetry: `TurnSession(telemetry=Telemetry(...))`.

    Args:
        meter_provider: Where histograms and counters go; by default the global one.
        spans: Add the events `turnfsm.transition` and `turnfsm.refused` to LiveKit's spans.
        text: The events may contain text of the conversation, as far as the journal has it.

    Example:
        >>> from turnfsm.livekit import Telemetry
        >>> Telemetry(spans=False).text
        False
    """

    def __init__(
        self, meter_provider: Any | None = None, *, spans: bool = True, text: bool = False
    ) -> None:
        from turnfsm.fsm.metrics.measurements import INSTRUMENTS, measurements_in

        self.spans = spans
        self.text = text
        self._measurements_in = measurements_in
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
        """Record a measured value."""
        for measurement in self._measurements_in(value):
            self._record[measurement.name](measurement.value, _as_attributes(measurement.labels))


@lru_cache(1024)
def _as_attributes(labels: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Labels in OpenTelemetry's form. Cached, as a flow has few."""
    return dict(labels)


class Figures:
    """Records the measurements of a session."""

    measures = True
    late = 10.0  # they are exported once a minute, or scraped

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def take(self, record: Entry | Note | None, values: Sequence[Value]) -> None:
        """Take one record; None at the end."""
        for value in values:
            self._telemetry.measured(value)


class SpanEvents:
    """Adds decisions as events to the current span of a session, if there is one.

    With `text` the events may contain text of the conversation.
    """

    def __init__(self, text: bool, span: Callable[[], Span | None]) -> None:
        self._text = text
        self._span = span

    def __call__(self, raw: Raw) -> None:
        """Take one record."""
        seq, _now, trigger, _of, _after, _tokens, verdict, _cause, data = raw
        if verdict is None:
            return
        if isinstance(verdict, Refused):
            if verdict.reason == "ignores":
                return
        elif not (verdict.entered or verdict.actions):
            return
        span = self._span()
        if span is None or not span.is_recording():
            return
        fields: dict[str, Any] = {"turnfsm.trigger": trigger, "turnfsm.state": verdict.state}
        if isinstance(verdict, Refused):
            name = "turnfsm.refused"
            fields["turnfsm.reason"], fields["turnfsm.why"] = verdict.reason, verdict.why
        else:
            name = "turnfsm.transition"
            fields["turnfsm.dest"], fields["turnfsm.row"] = verdict.dest, verdict.row or ""
        fields["turnfsm.seq"] = seq
        if self._text and data:
            texts = ((key, data[key]) for key in PRIVATE if key in data)
            fields |= {f"turnfsm.{key}": v for key, v in texts if isinstance(v, _SCALARS)}
        span.add_event(name, fields)
