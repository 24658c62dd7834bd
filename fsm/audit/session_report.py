"""Converts LiveKit's session reports (`SessionReport.to_dict`) to events.

A report has LiveKit's events without the speeches that they belong to. The times of playout are
those in the metrics of the agent's messages; other audio is audible while the agent's state is
``speaking``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from turnfsm.fsm.journal import JournalError
from turnfsm.fsm.recording import arguments_of, corrects, words_of

from .events import AFTER, Evidence, Recorded, Recording, in_order

__all__ = ["is_session_report", "recording_of_report"]

_LACKS = frozenset(
    {
        Evidence.REQUESTS,
        Evidence.REPLIES,
        Evidence.INTERRUPTIONS,
        Evidence.INTERRUPTIBLE,
        Evidence.CLOSING,
    }
)

_PARTS = {
    "stt_error": "stt",
    "llm_error": "llm",
    "tts_error": "tts",
    "realtime_model_error": "realtime",
}

Fields = Mapping[str, Any]


def is_session_report(fields: object) -> bool:
    """Whether a JSON object is a report."""
    keys = {"job_id", "room_id", "options"}
    return isinstance(fields, dict) and keys <= set(fields)


def recording_of_report(report: Fields) -> Recording:
    """The events of a report. Times are seconds since the first one.

    Args:
        report: The JSON object.

    Returns:
        The events, and the evidence that a report lacks.

    Raises:
        JournalError: The report was written without events.
    """
    if "events" not in report:
        raise JournalError("a session report without events; write report.to_dict(), with events")
    events_in_order = sorted(report["events"], key=lambda event: float(event["created_at"]))
    events = [event for fields in events_in_order for event in _events(fields)]
    return Recording(in_order([*_played(events_in_order), *events]), _LACKS)


def _events(fields: Fields) -> Iterator[Recorded]:
    t, name = float(fields["created_at"]), str(fields["type"])
    match name:
        case "agent_state_changed" | "user_state_changed":
            yield Recorded(t, name, {"old": fields["old_state"], "new": fields["new_state"]})
        case "user_input_transcribed" if fields["is_final"]:
            text = str(fields["transcript"])
            yield Recorded(t, name, {"words": words_of(text), "corrects": corrects(text)})
        case "conversation_item_added":
            yield Recorded(t, name, _item(fields["item"]))
        case "agent_false_interruption":
            yield Recorded(t, name, {"resumed": fields["resumed"]})
        case "tool_execution_updated":
            update = fields["update"]
            kind = str(update["type"]).removeprefix("tool_call_")
            if kind in ("started", "ended"):
                call = update["function_call"] if kind == "started" else update
                ran = {"update": kind, "call": call["call_id"], "status": update.get("status")}
                data = {"name": call.get("name"), "arguments": arguments_of(call.get("arguments"))}
                yield Recorded(t, name, {**ran, **data})
        case "function_tools_executed":
            calls = [call["call_id"] for call in fields["function_calls"]]
            reply = any(out["reply_required"] for out in fields["function_call_outputs"])
            yield Recorded(t, name, {"calls": calls, "reply": reply})
        case "error":
            yield Recorded(t, name, _error(fields["error"]))
        case "close":
            closed = _error(fields.get("error"))
            cause = {"error": f"the {closed['part'].upper()} failed"} if closed else {}
            yield Recorded(t, name, {"reason": fields["reason"], **cause})


def _item(item: Fields) -> dict[str, Any]:
    fields = {"type": item["type"], "id": item["id"]}
    if item["type"] == "message":
        text = " ".join(part for part in item["content"] if isinstance(part, str))
        fields |= {"role": item["role"], "interrupted": item["interrupted"]}
        fields["words"] = words_of(text)
    elif item["type"] == "agent_handoff":
        fields |= {"from": item.get("old_agent_id"), "to": item.get("new_agent_id")}
    return fields


def _error(error: Any) -> dict[str, Any]:
    part = _PARTS.get(error.get("type", "")) if isinstance(error, dict) else None
    if part is None:
        return {}
    named = {"part": part, "component": str(error["label"]), "error": "error unknown"}
    return {**named, "recoverable": bool(error["recoverable"])}


def _played(events: list[Fields]) -> Iterator[Recorded]:
    """The playouts and their speeches.

    A report does not say which speech is played. It is assumed to be the last one that was created
    before and is not played yet; if there is none, the previous one continues after its tools.
    """
    spans = list(_messages(events))
    for start, end in _speaking(events):
        if not any(start < other[1] and other[0] < end for other in spans):
            spans.append((start, end, False))
    created = [float(e["created_at"]) for e in events if e["type"] == "speech_created"]
    lasts: dict[float, int] = {}
    for n, (start, _, _) in enumerate(spans := sorted(spans)):
        for speech in [t for t in created if t <= start][-1:] or list(lasts)[-1:]:
            lasts[speech] = n
            created = [t for t in created if t != speech]
    for speech in lasts:
        yield Recorded(speech, "speech_created", {"speech": str(speech)})
    for n, (start, end, interrupted) in enumerate(spans):
        yield Recorded(start, "playback_started", {})
        if end < math.inf:
            yield Recorded(end, "playback_finished", {"interrupted": interrupted})
            for speech in [s for s, last in lasts.items() if last == n]:
                yield Recorded(end + AFTER, "speech_done", {"speech": str(speech)})


def _messages(events: list[Fields]) -> Iterator[tuple[float, float, bool]]:
    """The start and the end of each message that was played, and whether it was interrupted."""
    for event in events:
        item = event["item"] if event["type"] == "conversation_item_added" else {}
        measured = item.get("metrics") or {}
        if item.get("role") == "assistant" and "stopped_speaking_at" in measured:
            start, end = measured["started_speaking_at"], measured["stopped_speaking_at"]
            yield float(start), float(end), bool(item["interrupted"])


def _speaking(events: list[Fields]) -> Iterator[tuple[float, float]]:
    """When the agent's state is ``speaking``, pauses by false interruptions included."""
    since = paused = None
    for event in events:
        t = float(event["created_at"])
        if event["type"] == "agent_false_interruption" and paused is not None:
            since, paused = paused[0], None
        elif event["type"] == "agent_state_changed":
            if paused is not None:
                yield paused
                paused = None
            if event["new_state"] == "speaking":
                since = t if since is None else since
            elif since is not None:
                paused, since = (since, t), None
    if paused is not None:
        yield paused
    if since is not None:
        yield since, math.inf
