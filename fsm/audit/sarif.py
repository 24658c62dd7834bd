"""Writes audits as SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from turnfsm.fsm.check.turn import PROPERTIES
from turnfsm.fsm.sarif import sarif_log, sarif_place

from .audit import Audit
from .gate import Gate

__all__ = ["audits_as_sarif"]

_OUTAGE, _BROKEN, _SILENCE = "outage", "flow", "silence"

_MEANS = {
    _OUTAGE: "Something has failed.",
    _BROKEN: "The flow decides an entry of the journal differently.",
    _SILENCE: "A silence is longer than the gate allows.",
    "N": "A failure of the class N of docs/pipecat-failures.md.",
}


def audits_as_sarif(audits: Sequence[tuple[str, Audit]], gate: Gate) -> str:
    """Write audits as SARIF 2.1.0: a result for each finding, at its line of the recording.

    The line of the flow that decides differently is a related location.

    Args:
        audits: The name of each file, and its audit.
        gate: The findings with the level ``error``; others have ``note``.

    Returns:
        The JSON, with one run.

    Example:
        >>> import json
        >>> from turnfsm.audit import Gate, audits_as_sarif, audit_recording, parse_recording
        >>> audit = audit_recording(parse_recording(b'{"events": 1}', "events.jsonl"))
        >>> json.loads(audits_as_sarif([("events.jsonl", audit)], Gate()))["runs"][0]["results"]
        []
    """
    results = [result for file, audit in audits for result in _results(file, audit, gate)]
    return sarif_log({entry["ruleId"]: _means(entry["ruleId"]) for entry in results}, results)


def _results(file: str, audit: Audit, gate: Gate) -> Iterator[dict[str, Any]]:
    fails = gate.failed_by(audit)

    def result(rule: str, text: str, line: int = 0) -> dict[str, Any]:
        return {
            "ruleId": rule,
            "level": "error" if text in fails else "note",
            "message": {"text": text.strip()},
            "locations": [sarif_place(file, line)],
        }

    for finding in audit.findings:
        rule = finding.property or finding.failure or _OUTAGE
        entry = result(rule, str(finding), finding.line)
        if (decision := finding.decision) is not None:
            place = sarif_place(decision.file, decision.line, decision.column)
            entry["relatedLocations"] = [{"id": 1, **place, "message": {"text": decision.what}}]
        yield entry
    for sentence in audit.broken:
        yield result(_BROKEN, sentence)
    for gap in map(str, audit.silences):
        if gap in fails:
            yield result(_SILENCE, gap)


def _means(rule: str) -> str:
    if rule in PROPERTIES:
        return PROPERTIES[rule].means
    return _MEANS.get(rule, f"A failure of the class {rule} of docs/failures.md.")
