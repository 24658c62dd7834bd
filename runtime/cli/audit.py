"""`turnfsm audit`: known problems in recorded sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import attrs
import typer

from turnfsm.fsm import load_flow
from turnfsm.fsm.audit.audit import Audit
from turnfsm.fsm.audit.files import audit_file, is_record
from turnfsm.fsm.audit.gate import Gate
from turnfsm.fsm.audit.html import audits_as_html
from turnfsm.fsm.audit.junit import as_junit
from turnfsm.fsm.audit.kinds import Kind, kinds_of
from turnfsm.fsm.audit.sarif import audits_as_sarif
from turnfsm.fsm.metrics.panel import FIGURES, Panel, panel
from turnfsm.runtime.cli._files import begun, in_folders, write_text
from turnfsm.runtime.cli._options import Output

__all__ = ["audit"]


Format = Literal["text", "json", "junit", "sarif", "html"]


def audit(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Recordings of an EventRecorder or a FrameRecorder, session reports or spans of "
            "LiveKit, journals, folders of these, records of EVA, simulations of tau-voice.",
        ),
    ],
    format: Annotated[
        Format | None,
        typer.Option(help="Format of the findings. Default: html for FILE.html, else text."),
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            help="Your flow; can be given several times. A journal is judged by the one that it "
            "names, or that shipped flow; a recording by the first. Default: turn."
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Exit with 1 only for these: the letter of a kind, a property, silence:SECONDS; "
            "can be given several times. Default: any finding.",
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Find known problems in recorded sessions, also of AgentSession.

    Exit status 0: nothing of `--fail-on` was found, 1: something was, 2: bad input.
    """
    if format is None:
        page = output is not None and output.suffix in (".html", ".htm")
        format = "html" if page else "text"
    gate = Gate.of(fail_on or ())
    flows = [load_flow(name) for name in flow or ()]
    sessions = [
        one for file in files for one in ([file] if is_record(file) else in_folders([file]))
    ]
    found = [(file, audit_file(file, *flows)) for file in begun(sessions)]
    named = [(str(file), judged) for file, judged in found]
    match format:
        case "json":
            written = json.dumps([_plain(file, judged) for file, judged in found], indent=2)
        case "junit":
            written = as_junit(named, gate)
        case "sarif":
            written = audits_as_sarif(named, gate)
        case "html":
            written = audits_as_html(named)
        case "text":
            several = len(found) > 1
            parts = [_text(file, judged, several) for file, judged in found]
            parts += _summary([judged for _, judged in found]) if several else []
            written = "\n".join(parts)
    write_text(f"{written}\n", output)
    raise typer.Exit(any(gate.failed_by(judged) for _, judged in found))


def _text(file: Path, judged: Audit, several: bool) -> str:
    count = len(judged.findings) + len(judged.broken)
    lines = [f"{file} ({judged.of}): {count} finding{'s' * (count != 1)}"]
    lines += [line for finding in judged.findings for line in finding.lines()]
    lines += judged.broken
    if judged.properties:
        lines.append("broken: " + ", ".join(judged.properties))
    if judged.findings:
        lines.append(f"first divergence at {judged.findings[0].at:.2f} s")
    lines += map(str, judged.silences)
    if not several:
        lines += map(_kind, kinds_of([judged]))
    if judged.unjudged and not several:
        lines.append(_unjudged(judged, "the file does"))
    if rates := _rates(judged.panel):
        lines.append(f"panel: {rates}")
    if judged.scores:
        theirs = [f"{name} {value:.2f}" for name, value in judged.scores.items()]
        lines.append(f"scores of {judged.of}: " + ", ".join(theirs))
    return "\n".join(lines)


def _unjudged(judged: Audit, who: str) -> str:
    return f"not judged, or in part, as {who} not say " + "; ".join(judged.unjudged)


def _rates(rates: Panel) -> str:
    values = ((symbol, name, getattr(rates, value)) for symbol, name, value, _ in FIGURES)
    return ", ".join(
        f"{name} {symbol} {value:.2f}{' s' * symbol.startswith('L')}"
        for symbol, name, value in values
        if value is not None
    )


def _summary(audits: list[Audit]) -> list[str]:
    """The sessions with findings, the kinds of failures, and the panel."""
    lines = [f"{len(audits)} sessions, {sum(not judged.ok for judged in audits)} with findings"]
    for kind in kinds_of(audits):
        lines.append(_kind(kind, f" in {kind.sessions}"))
    if rates := _rates(panel(judged.ticks for judged in audits)):
        lines.append(f"panel of all: {rates}")
    formats = {judged.unjudged: judged for judged in audits if judged.unjudged}
    return [*lines, *(_unjudged(judged, _FILES[judged.of]) for judged in formats.values())]


def _kind(kind: Kind, sessions: str = "") -> str:
    """A kind of failure: its findings, and the seconds of silence that it cost."""
    many = f"{kind.findings} finding{'s' * (kind.findings != 1)}{sessions}"
    held = f" ({kind.property})" if kind.property else ""
    return f"  {kind.failure or '-'}  {many}, {kind.silence:.1f} s of silence{held}"


_FILES = {
    "recording": "a recording does",
    "report": "a report does",
    "spans": "spans do",
    "EVA": "a record of EVA does",
    "tau-voice": "a simulation of tau-voice does",
    "journal": "a journal does",
}


def _plain(file: Path, judged: Audit) -> dict[str, object]:
    whole = attrs.asdict(judged, filter=lambda field, _: field.name not in ("ticks", "spans"))
    more = {"properties": judged.properties, "panel": attrs.asdict(judged.panel)}
    return {"file": str(file), **whole, **more}
