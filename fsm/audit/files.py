"""Audits files. The format is detected from the content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import JournalError, parse_journal
from turnfsm.fsm.journal.recorded_flow import recorded_flow

from .audit import Audit, Source, audit_journal, audit_recording
from .eva import EVA_FILES, is_eva_record, recording_of_eva
from .events import Recording, parse_recording
from .session_report import is_session_report, recording_of_report
from .spans import is_span, recording_of_spans
from .tau_voice import is_simulation, recording_of_simulation

__all__ = ["audit_file", "is_record"]

_FORMATS: tuple[tuple[Source, Callable[[object], bool], Callable[[list[Any]], Recording]], ...] = (
    ("spans", is_span, recording_of_spans),
    ("report", is_session_report, lambda objects: recording_of_report(objects[0])),
    ("tau-voice", is_simulation, lambda objects: recording_of_simulation(objects[0])),
)
"""For each format: its name, a test for its JSON objects, and the function that converts them."""


def audit_file(path: str | Path, *flows: Flow) -> Audit:
    """Audit the session in a file.

    Args:
        path: A recording of `EventRecorder`, a session report of LiveKit, spans, a journal, a
            simulation of tau-voice, or the folder of a record of EVA.
        flows: A journal is judged by the flow that it names: one of these, or a shipped one. A
            recording is judged by the first of these, by default `turn`.

    Returns:
        What was found.

    Raises:
        JournalError: The file is none of these, or a journal of another flow.

    Example:
        >>> from turnfsm.audit import audit_file
        >>> audit_file("journal.jsonl").ok, audit_file("events.jsonl").ok
        (True, True)
    """
    flow = flows[0] if flows else None
    if Path(path).is_dir():
        record = _record_in(Path(path))
        if record is None:
            raise JournalError(
                f"{path}: neither a record of EVA nor a folder of *.jsonl files; name the files"
            )
        return audit_recording(record, "EVA", flow)
    data = _read(path)
    first = _first(data)
    if "events" in first and "resourceSpans" not in first and not {"name", "job_id"} & set(first):
        return audit_recording(parse_recording(data, path), flow=flow)
    if "journal" in first:
        journal = parse_journal(data, str(path))
        return audit_journal(journal, recorded_flow(journal.header.flow, flows, path))
    try:
        objects = _objects(data)
        for of, fits, recording in _FORMATS:
            if matching := [fields for fields in objects if fits(fields)]:
                return audit_recording(recording(matching), of, flow)
    except JournalError as error:
        raise JournalError(f"{path}: {error}") from None
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        pass
    raise JournalError(
        f"{path}: neither a recording (EventRecorder), nor a session report or spans of "
        "livekit-agents (JSON), nor a simulation of tau-voice, nor a journal; name one of them"
    )


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise JournalError(f"{path}: {reason}; name a file that can be read") from None


def is_record(folder: Path) -> bool:
    """Whether a folder is one session: a record of EVA."""
    return folder.is_dir() and _record_in(folder) is not None


def _record_in(folder: Path) -> Recording | None:
    try:
        present = [folder / name for name in EVA_FILES if (folder / name).is_file()]
        files = {file.name: _objects(_read(file)) for file in present}
        if is_eva_record(files):
            return recording_of_eva(files)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        pass
    return None


def _first(data: bytes) -> Mapping[str, Any]:
    try:
        fields = json.loads(next((line for line in data.split(b"\n") if line.strip()), b""))
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _objects(data: bytes) -> list[Any]:
    """The JSON objects of a file: one per line, or the whole file."""
    try:
        whole = json.loads(data)
    except ValueError:
        lines = (line for line in data.split(b"\n") if line.strip())
        return [json.loads(line) for line in lines]
    return whole if isinstance(whole, list) else [whole]
