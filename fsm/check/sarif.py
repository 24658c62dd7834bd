"""Writes reports as SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnfsm.fsm.codes import LOADER_CODES, PROOF_CODES
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.sarif import sarif_log, sarif_place

from .report import Report, said
from .trace import Trace, TraceStep
from .turn import PROPERTIES

__all__ = ["as_sarif"]


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
    findings = [(f, r.traces.get(f)) for r in reports for f in (*r.findings, *r.notes)]
    rules = {finding.code: _means(finding.code) for finding, _ in findings}
    return sarif_log(rules, [_result(finding, trace) for finding, trace in findings])


def _means(code: str) -> str:
    builtin = PROPERTIES.get(code)
    means = builtin.means if builtin else {**LOADER_CODES, **PROOF_CODES}.get(code)
    return means or f"The property {code} that the flow declares."


def _result(finding: Finding, trace: Trace | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": said(finding, None)},
        "locations": [_location(finding)],
    }
    if trace is not None:
        result["codeFlows"] = [{"threadFlows": [{"locations": _way(finding, trace)}]}]
    return result


def _location(finding: Finding) -> dict[str, Any]:
    return sarif_place(finding.file, finding.line, finding.column, finding.width)


def _way(finding: Finding, trace: Trace) -> list[dict[str, Any]]:
    """Each step, located at the line of its transition; a step without a line has only its text."""
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
