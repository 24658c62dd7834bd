"""Converts OpenTelemetry spans of livekit-agents to events.

Two formats are read: one span per line, as ``span.to_json(indent=None)`` and the console exporter
write it, and OTLP as JSON (``resourceSpans``), one export per line or per file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs

from .events import Evidence, Recorded, Recording, in_order

__all__ = ["is_span", "recording_of_spans"]

_SAY = {Evidence.REQUESTS, Evidence.REPLIES, Evidence.CALLS, Evidence.STATES}

_LACKS = frozenset(Evidence) - _SAY


@attrs.frozen
class _Span:
    name: str
    id: str
    parent: str
    start: float
    end: float
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, float, Mapping[str, Any]], ...]


def is_span(fields: object) -> bool:
    """Whether a JSON object is a span, or an export of spans."""
    if not isinstance(fields, dict):
        return False
    return "resourceSpans" in fields or {"name", "start_time", "attributes"} <= set(fields)


def _spans(objects: Iterable[Mapping[str, Any]]) -> Iterator[_Span]:
    for fields in objects:
        if "resourceSpans" in fields:
            for resource in fields["resourceSpans"]:
                for scope in resource.get("scopeSpans", ()):
                    yield from map(_otlp, scope.get("spans", ()))
        elif is_span(fields) and fields.get("end_time"):
            yield _exported(fields)


def recording_of_spans(objects: Iterable[Mapping[str, Any]]) -> Recording:
    """The events of the spans among JSON objects. Times are seconds since the first one."""
    spans = list(_spans(objects))
    by_id = {span.id: span for span in spans}
    return Recording(in_order(event for span in spans for event in _events(span, by_id)), _LACKS)


def _events(span: _Span, by_id: Mapping[str, _Span]) -> Iterator[Recorded]:
    attributes = span.attributes
    match span.name:
        case "agent_session":
            for name, at, fields in span.events:
                if name in ("agent_state_changed", "user_state_changed"):
                    new = {"old": fields.get("lk.old_state"), "new": fields.get("lk.new_state")}
                    yield Recorded(at, name, new)
        case "agent_speaking":
            yield Recorded(span.start, "playback_started", {})
            yield Recorded(span.end, "playback_finished", {})
        case "agent_turn":
            speech = attributes.get("lk.speech_id")
            yield Recorded(span.start, "speech_created", {"speech": speech})
            done = {"speech": speech, "interrupted": bool(attributes.get("lk.interrupted"))}
            yield Recorded(span.end, "speech_done", done)
        case "llm_request":
            fields = {"speech": _speech(span, by_id), "duration": span.end - span.start}
            yield Recorded(span.end, "metrics_collected", fields)
        case "function_tool":
            call = attributes.get("lk.function_tool.id")
            status = "error" if attributes.get("lk.function_tool.is_error") else "done"
            run = {"call": call}
            yield Recorded(span.start, "tool_execution_updated", {**run, "update": "started"})
            ended = {**run, "update": "ended", "status": status}
            yield Recorded(span.end, "tool_execution_updated", ended)


def _speech(span: _Span, by_id: Mapping[str, _Span]) -> Any:
    up: _Span | None = span
    while up is not None and up.name != "agent_turn":
        up = by_id.get(up.parent)
    return None if up is None else up.attributes.get("lk.speech_id")


def _exported(fields: Mapping[str, Any]) -> _Span:
    context = fields.get("context") or {}
    return _Span(
        name=str(fields["name"]),
        id=str(context.get("span_id")),
        parent=str(fields.get("parent_id")),
        start=_seconds(fields["start_time"]),
        end=_seconds(fields["end_time"]),
        attributes=fields.get("attributes") or {},
        events=tuple(
            (str(e.get("name")), _seconds(e.get("timestamp")), e.get("attributes") or {})
            for e in fields.get("events") or ()
        ),
    )


def _otlp(fields: Mapping[str, Any]) -> _Span:
    return _Span(
        name=str(fields.get("name")),
        id=str(fields.get("spanId")),
        parent=str(fields.get("parentSpanId")),
        start=int(fields.get("startTimeUnixNano", 0)) / 1e9,
        end=int(fields.get("endTimeUnixNano", 0)) / 1e9,
        attributes=_values(fields.get("attributes") or ()),
        events=tuple(
            (
                str(e.get("name")),
                int(e.get("timeUnixNano", 0)) / 1e9,
                _values(e.get("attributes") or ()),
            )
            for e in fields.get("events") or ()
        ),
    )


def _values(pairs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {str(p.get("key")): next(iter((p.get("value") or {}).values()), None) for p in pairs}


def _seconds(text: Any) -> float:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
