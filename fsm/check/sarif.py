"""Reports as SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from turnfsm.fsm.codes import LOADER_CODES, PROOF_CODES
from turnfsm.fsm.diagnostics import Finding

from .report import Report, said
from .trace import Trace, TraceStep
from .turn import PROPERTIES

__all__ = ["as_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(reports: Iterable[Report]) -> str:
    """Format reports as SARIF 2.1.0, for code scanning. A counterexample becomes a code flow.

    Args:
        reports: The reports.

    Returns:
        The JSON, with one run.

    Example:
        >>> import json
        >>> from turnfsm.check import as_sarif, check_file
        >>> json.loads(as_sarif([check_file("session")]))["version"]
        '2.1.0'
    """
    found = [(f, r.traces.get(f)) for r in reports for f in (*r.findings, *r.notes)]
    codes = sorted({finding.code for finding, _ in found})
    results = [_result(finding, trace, codes) for finding, trace in found]
    run = {
        "tool": {"driver": {"name": "turnfsm", "rules": [_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: str) -> dict[str, Any]:
    builtin = PROPERTIES.get(code)
    means = builtin.means if builtin else {**LOADER_CODES, **PROOF_CODES}.get(code)
    text = means or f"The property {code} that the flow declares."
    return {"id": code, "shortDescription": {"text": text}}


def _result(finding: Finding, trace: Trace | None, codes: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": said(finding, None)},
        "locations": [_location(finding)],
    }
    if trace is not None:
        result["codeFlows"] = [{"threadFlows": [{"locations": _way(finding, trace)}]}]
    return result


def _location(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file)}}
    if finding.line:
        place["region"] = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endColumn": finding.column + finding.width,
        }
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    path = Path(file)
    # A relative place is kept relative: the reader's checkout lies elsewhere.
    return path.as_uri() if path.is_absolute() else quote(PurePath(file).as_posix())


def _way(finding: Finding, trace: Trace) -> list[dict[str, Any]]:
    """Each step at the line of what was taken; what no line says has only its text."""
    places = [_step(step, trace) for step in trace.steps]
    quiet = [{"location": {"message": {"text": line}}} for line in trace.quiet]
    return [*places, *quiet] or [{"location": _location(finding)}]


def _step(step: TraceStep, trace: Trace) -> dict[str, Any]:
    location: dict[str, Any] = {"message": {"text": step.line()}}
    source = trace.flow.source if trace.flow else None
    row = next((r for r in trace.flow.rows() if r.id == step.row), None) if trace.flow else None
    if row is not None and source is not None:
        location |= _location(source.at_key(row.path, ""))
    return {"location": location}
