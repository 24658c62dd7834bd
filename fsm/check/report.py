"""What a proof came to, for people, editors and build servers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from fsm.diagnostics import Finding

from .trace import Trace

__all__ = ["Report", "Result", "Verdict", "as_github", "as_json", "as_sarif", "as_text"]

Result: TypeAlias = Literal["holds", "fails", "waived", "open"]


@attrs.frozen
class Verdict:
    """What was found out about one property.

    Attributes:
        origin: ``turn`` for one of the ten, ``declared`` for one of the flow's own.
        result: ``open`` means that it could not be proved and was not broken either.
        detail: The worst case, the reason of a waiver, or what is missing.
    """

    name: str
    origin: Literal["turn", "declared"]
    result: Result
    detail: str = ""


@attrs.frozen
class Report:
    """The proof of one flow.

    Attributes:
        findings: What is wrong, in the order of places; those of severity ``error`` fail it.
        traces: Finding to its shortest counterexample.
        configurations, transitions: How many were visited and followed.
        complete: Everything reachable was visited; if not, nothing is claimed.
        facts: How many facts and ghosts were followed.
    """

    file: str
    flow: str
    findings: tuple[Finding, ...]
    properties: tuple[Verdict, ...]
    configurations: int
    transitions: int
    seconds: float
    complete: bool = True
    facts: int = 0
    traces: Mapping[Finding, Trace] = attrs.field(factory=dict)

    @property
    def ok(self) -> bool:
        """Nothing of severity ``error`` was found."""
        return not any(finding.severity == "error" for finding in self.findings)


def as_text(reports: Iterable[Report]) -> str:
    """For a terminal: findings with their counterexamples, then one line for each property."""
    return "\n".join(line for report in reports for line in _text(report))


def _text(report: Report) -> list[str]:
    lines: list[str] = []
    for finding in report.findings:
        lines.append(finding.render())
        if finding in report.traces:
            lines += [f"  the shortest way there, from {report.flow}'s initial state:"]
            lines += [report.traces[finding].text(), ""]
    width = max((len(v.name) for v in report.properties), default=0)
    for verdict in report.properties:
        line = f"  {verdict.result:<6}  {verdict.name:<{width}}  {verdict.detail}"
        lines.append(line.rstrip())
    return [*lines, _summary(report)]


def _summary(report: Report) -> str:
    verdict = "proved" if report.ok else "not proved"
    errors = sum(f.severity == "error" for f in report.findings)
    found = f"{errors} error{'s' * (errors != 1)}"
    if warnings := len(report.findings) - errors:
        found += f", {warnings} warning{'s' * (warnings != 1)}"
    size = f"{report.configurations} configurations, {report.transitions} transitions"
    return f"{report.file}: {verdict}: {found}; {size}, {report.seconds:.3f} s"


def as_json(reports: Iterable[Report]) -> str:
    """One document: a list of reports."""
    return json.dumps([_report(report) for report in reports], indent=2)


def _report(report: Report) -> dict[str, Any]:
    return {
        "file": report.file,
        "flow": report.flow,
        "proved": report.ok,
        "complete": report.complete,
        "configurations": report.configurations,
        "transitions": report.transitions,
        "facts": report.facts,
        "seconds": round(report.seconds, 4),
        "findings": [_finding(f, report.traces.get(f)) for f in report.findings],
        "properties": [attrs.asdict(verdict) for verdict in report.properties],
    }


def _finding(finding: Finding, trace: Trace | None) -> dict[str, Any]:
    body = attrs.asdict(finding)
    body.pop("text")
    if trace is not None:
        body["counterexample"] = {
            "initial": trace.initial,
            "steps": trace.journal(),
            "quiet": list(trace.quiet),
        }
    return body


def as_github(reports: Iterable[Report]) -> str:
    """Workflow commands: GitHub shows them at the line."""
    lines: list[str] = []
    for report in reports:
        for f in report.findings:
            place = f"file={_escape(f.file, ',:')},line={f.line},col={f.column}"
            title = _escape(f"turnfsm: {f.code}", ",:")
            message = _escape(_message(f, report.traces.get(f)))
            lines.append(f"::{f.severity} {place},title={title}::{message}")
        lines.append(_summary(report))
    return "\n".join(lines)


def _escape(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _message(finding: Finding, trace: Trace | None) -> str:
    text = finding.message + (f"; {finding.remedy}" if finding.remedy else "")
    return text + (f"\n{trace.text()}" if trace else "")


def as_sarif(reports: Iterable[Report]) -> str:
    """SARIF 2.1.0, for code scanning."""
    found = [(f, report.traces.get(f)) for report in reports for f in report.findings]
    rules = [{"id": code} for code in sorted({f.code for f, _ in found})]
    driver = {
        "name": "turnfsm",
        "rules": rules,
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, trace) for f, trace in found],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(finding: Finding, trace: Trace | None) -> dict[str, Any]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endColumn": finding.column + finding.width,
    }
    location = {"physicalLocation": {"artifactLocation": {"uri": finding.file}, "region": region}}
    return {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": _message(finding, trace)},
        "locations": [location],
    }
