"""Converts records of EVA, the benchmark of ServiceNow, to events.

A record is a folder. The events of the user simulator show who speaks, the audit log which messages
the model got and which tools ran, and the log of the pipeline what was transcribed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnfsm.fsm.recording import words_of

from .events import Evidence, Recorded, Recording, in_order, played

__all__ = ["EVA_FILES", "is_eva_record", "recording_of_eva"]

_SAY = {Evidence.CALLS, Evidence.TRANSCRIPTS, Evidence.MESSAGES, Evidence.CLOSE}

_SIMULATOR = ("user_simulator_events.jsonl", "elevenlabs_events.jsonl")
_PIPELINE = ("framework_logs.jsonl", "pipecat_logs.jsonl")

EVA_FILES = (
    *_SIMULATOR,
    *_PIPELINE,
    "result.json",
    "audit_log.json",
    "metrics.json",
    "response_latencies.json",
)
"""The files of a record that are read. All but ``result.json`` may be missing."""

_USERS = ("simulated_user", "elevenlabs_user")

Fields = Mapping[str, Any]
Files = Mapping[str, Sequence[Any]]


def is_eva_record(files: Files) -> bool:
    """Whether these files are a record of EVA."""
    return any("record_id" in fields for fields in files.get("result.json", ()))


def recording_of_eva(files: Files) -> Recording:
    """The events of a record, and EVA's own figures.

    Args:
        files: The JSON objects of each file, by its name.
    """
    [result] = files["result.json"]
    simulator, pipeline = _first_of(files, _SIMULATOR), _first_of(files, _PIPELINE)
    logged = [entry for log in files.get("audit_log.json", ()) for entry in log["transcript"]]
    lacks = frozenset(Evidence) - _SAY
    if not any(event.get("type") == "transcript" for event in pipeline):
        lacks |= {Evidence.TRANSCRIPTS}
    if not logged:
        lacks |= {Evidence.CALLS, Evidence.MESSAGES}
    events = [
        *_heard(simulator),
        *_logged(logged),
        *_transcribed(pipeline),
        *_limits(simulator, result),
    ]
    return Recording(in_order(events), lacks, dict(_scores(files)))


def _first_of(files: Files, names: Sequence[str]) -> Sequence[Any]:
    return next((files[name] for name in names if name in files), ())


def _heard(events: Sequence[Fields]) -> Iterator[Recorded]:
    spans = list(_audible([e for e in events if e.get("user") not in _USERS]))
    for start, end in _audible([e for e in events if e.get("user") in _USERS]):
        yield Recorded(start, "user_state_changed", {"old": "listening", "new": "speaking"})
        yield Recorded(end, "user_state_changed", {"old": "speaking", "new": "listening"})
    for n, (start, end) in enumerate(spans):
        yield from played(str(n), start, end)


def _audible(events: Sequence[Fields]) -> Iterator[tuple[float, float]]:
    since: float | None = None
    for event in events:
        if event.get("event_type") == "audio_start":
            since = float(event["audio_timestamp"])
        elif event.get("event_type") == "audio_end" and since is not None:
            yield since, float(event["audio_timestamp"])
            since = None


def _logged(entries: Sequence[Fields]) -> Iterator[Recorded]:
    running: dict[str, list[int]] = {}
    for n, entry in enumerate(entries):
        t, value = int(entry["timestamp"]) / 1000, entry["value"]
        match entry["message_type"]:
            case "user" | "assistant" as role:
                fields = {"type": "message", "role": role, "words": words_of(str(value))}
                yield Recorded(t, "conversation_item_added", fields)
            case "tool_call":
                running.setdefault(value["tool"], []).append(n)
                yield Recorded(t, "tool_execution_updated", {"call": str(n), "update": "started"})
            case "tool_response":
                for call in running.get(value["tool"], [])[:1]:
                    running[value["tool"]].remove(call)
                    fields = {"call": str(call), "update": "ended", "status": "done"}
                    yield Recorded(t, "tool_execution_updated", fields)


def _transcribed(events: Sequence[Fields]) -> Iterator[Recorded]:
    for event in events:
        if event.get("type") == "transcript":
            words = words_of(str(event["data"]["frame"]))
            yield Recorded(
                int(event["timestamp"]) / 1000, "user_input_transcribed", {"words": words}
            )


def _limits(events: Sequence[Fields], result: Fields) -> Iterator[Recorded]:
    """The start and the end of the session."""
    reason = "error" if result.get("error") else str(result.get("conversation_ended_reason"))
    for event in events:
        match (event.get("data") or {}).get("state"):
            case "session_started":
                yield Recorded(int(event["timestamp"]) / 1000, "session_started", {})
            case "session_ended":
                closed = {"reason": reason, "error": result.get("error")}
                yield Recorded(int(event["timestamp"]) / 1000, "close", closed)


def _scores(files: Files) -> Iterator[tuple[str, float]]:
    for latencies in files.get("response_latencies.json", ()):
        for name in ("mean", "max"):
            if isinstance(latencies.get(name), int | float):
                yield f"response latency {name}", float(latencies[name])
    for record in files.get("metrics.json", ()):
        for name, metric in record.get("metrics", {}).items():
            if isinstance(metric.get("score"), int | float):
                yield name, float(metric["score"])
