"""The result of a proof, for people, editors and CI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import inf
from typing import Any, Literal, TypeAlias

import attrs

from turnfsm.fsm.codes import LOADER_CODES, PROOF_CODES
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.sarif import sarif_log, sarif_place

from .delays import Delay
from .trace import Trace, TraceStep
from .turn import PROPERTIES

__all__ = ["PropertyResult", "Report", "Result", "as_github", "as_json", "as_sarif", "as_text"]

Result: TypeAlias = Literal["holds", "fails", "waived", "open"]


@attrs.frozen
class PropertyResult:
    """The result for one property.

    Attributes:
        name: The name of the property.
        origin: ``turn`` for one of the ten, ``agenda`` for one of its agenda, ``declared`` for one
            of the flow's own.
        result: ``proved``, ``broken``, ``waived``, or ``open``: neither proved nor broken.
        detail: The worst case, the reason of a waiver, or the missing names.
        inherited: The flow that this one extends has it.
    """

    name: str
    origin: Literal["turn", "agenda", "declared"]
    result: Result
    detail: str = ""
    inherited: bool = False


@attrs.frozen
class Report:
    """The proof of one flow.

    Attributes:
        file: The file of the flow.
        flow: The flow's name.
        findings: The problems, in the order of the file. Those of severity ``error`` fail the
            proof.
        properties: The result for each property.
        configurations, transitions: How many were visited and followed.
        seconds: How long the proof took.
        complete: All reachable configurations were visited. If not, nothing is proved.
        facts: How many facts were tracked, including the checker's own (ghosts).
        traces: The shortest counterexample of each finding.
        notes: The waived properties with their reasons; limits that an event restarts; and the
            seconds that the pace scales.
        loaded: The file is a flow. If not, the findings say why, and nothing else is known.
        delays: The delays of a flow of kind ``turn`` that a caller notices. Only `check_file` sets
            it.
        base: The name of the flow that it extends, whose delays are in `delays` as well.
    """

    file: str
    flow: str
    findings: tuple[Finding, ...]
    properties: tuple[PropertyResult, ...]
    configurations: int
    transitions: int
    seconds: float
    complete: bool = True
    facts: int = 0
    traces: Mapping[Finding, Trace] = attrs.field(factory=dict)
    notes: tuple[Finding, ...] = ()
    loaded: bool = True
    delays: tuple[Delay, ...] = ()
    base: str = ""

    @property
    def ok(self) -> bool:
        """There is no finding of severity ``error``."""
        return not any(finding.severity == "error" for finding in self.findings)


def as_text(reports: Iterable[Report]) -> str:
    """Format reports for a terminal: findings with counterexamples, then a line for each property.

    Args:
        reports: The reports.

    Returns:
        The text.

    Example:
        >>> from turnfsm.check import as_text, check_file
        >>> as_text([check_file("session")]).splitlines()[-1].startswith("session.yaml: proved")
        True
    """
    return "\n".join(line for report in reports for line in _text(report))


def _text(report: Report) -> list[str]:
    lines: list[str] = []
    for finding in report.findings:
        lines.append(finding.render())
        if finding in report.traces:
            lines += [f"  the shortest way there, from {report.flow}'s initial state:"]
            lines += [report.traces[finding].text(), ""]
    # Waivers are listed with the properties below.
    lines += [note.render() for note in report.notes if note.code in ("restarted", "pace")]
    # The many properties of the base need no lines of their own.
    shown = [v for v in report.properties if v.result != "holds" or v.detail or not v.inherited]
    width = max((len(v.name) for v in shown), default=0)
    for verdict in shown:
        line = f"  {verdict.result:<6}  {verdict.name:<{width}}  {verdict.detail}"
        lines.append(line.rstrip())
    if rest := len(report.properties) - len(shown):
        lines.append(f"  holds   {rest} more properties of {report.base or 'its base'}")
    width = max((len(delay.name) for delay in report.delays), default=0)
    lines += [f"  delay   {d.name:<{width}}  {d.line(report.base)}" for d in report.delays]
    return [*lines, _summary(report)]


def _summary(report: Report) -> str:
    verdict = "proved" if report.ok else "not proved" if report.loaded else "not a flow"
    errors = sum(f.severity == "error" for f in report.findings)
    count = f"{errors} error{'s' * (errors != 1)}"
    if warnings := len(report.findings) - errors:
        count += f", {warnings} warning{'s' * (warnings != 1)}"
    if not report.loaded:
        return f"{report.file}: {verdict}: {count}"
    size = f"{report.configurations} configurations, {report.transitions} transitions"
    return f"{report.file}: {verdict}: {count}; {size}, {report.seconds:.3f} s"


def as_json(reports: Iterable[Report]) -> str:
    """Format reports as one JSON document: a list of reports.

    Args:
        reports: The reports.

    Returns:
        The JSON.

    Example:
        >>> import json
        >>> from turnfsm.check import as_json, check_file
        >>> json.loads(as_json([check_file("session")]))[0]["flow"]
        'session'
    """
    return json.dumps([_report(report) for report in reports], indent=2)


def _report(report: Report) -> dict[str, Any]:
    return {
        "file": report.file,
        "flow": report.flow or None,
        "loaded": report.loaded,
        "proved": report.ok,
        "complete": report.complete,
        "configurations": report.configurations,
        "transitions": report.transitions,
        "facts": report.facts,
        "seconds": round(report.seconds, 4),
        "findings": [_finding(f, report.traces.get(f)) for f in report.findings],
        "properties": [attrs.asdict(verdict) for verdict in report.properties],
        "delays": [_delay(delay) for delay in report.delays],
    }


def _delay(delay: Delay) -> dict[str, Any]:
    """Without a limit the seconds are null."""
    seconds = None if delay.seconds == inf else delay.seconds
    base = None if delay.base == inf else delay.base
    compared = {} if delay.base is None else {"base": base}
    return {"name": delay.name, "seconds": seconds, "timers": list(delay.timers)} | compared


def _finding(finding: Finding, trace: Trace | None) -> dict[str, Any]:
    body = attrs.asdict(finding)
    body.pop("text")
    if trace is not None:
        body["counterexample"] = {
            "initial": trace.initial,
            "steps": trace.entries(),
            "quiet": list(trace.quiet),
        }
    return body


def as_github(reports: Iterable[Report]) -> str:
    """Format reports as workflow commands: GitHub then shows each finding at its line.

    Args:
        reports: The reports.

    Returns:
        One command per line; empty if there are no findings.

    Example:
        >>> from turnfsm.check import as_github, check_file
        >>> as_github([check_file("missing.yaml")]).partition("file=")[0]
        '::error '
    """
    lines: list[str] = []
    for report in reports:
        for f in (*report.findings, *report.notes):
            place = f"file={_escape(f.file, ',:')}"
            if f.line:
                place += f",line={f.line},col={f.column},endColumn={f.column + f.width}"
            title = _escape(f"turnfsm: {f.code}", ",:")
            message = _escape(_said(f, report.traces.get(f)))
            level = "notice" if f.severity == "note" else f.severity
            lines.append(f"::{level} {place},title={title}::{message}")
        lines.append(_summary(report))
    return "\n".join(lines)


def _escape(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _said(finding: Finding, trace: Trace | None) -> str:
    """A finding and its counterexample as one text, without the place."""
    text = finding.sentence + (f"; {finding.remedy}" if finding.remedy else "")
    return text + (f"\n{trace.text()}" if trace else "")


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
    return sarif_log(rules, [_sarif_result(finding, trace) for finding, trace in findings])


def _means(code: str) -> str:
    builtin = PROPERTIES.get(code)
    means = builtin.means if builtin else {**LOADER_CODES, **PROOF_CODES}.get(code)
    return means or f"The property {code} that the flow declares."


def _sarif_result(finding: Finding, trace: Trace | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": _said(finding, None)},
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
