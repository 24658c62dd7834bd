"""`turnfsm check`: flows are proved, with counterexamples where a proof fails."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from turnfsm.fsm import HostError, load_flow
from turnfsm.fsm.check.check import LIMIT, check_file
from turnfsm.fsm.check.report import Report, as_github, as_json, as_sarif, as_text
from turnfsm.runtime.cli._files import write_file
from turnfsm.runtime.cli._options import GOVERNED, HostName
from turnfsm.runtime.conversation.vocabulary import check_vocabulary
from turnfsm.runtime.pipecat.sources import check_flow as check_pipecat
from turnfsm.runtime.pipecat.sources import not_promised, unposted
from turnfsm.runtime.proof import note_proved, record_of

__all__ = ["check"]


Format = Literal["text", "json", "sarif", "github"]

_WRITERS: dict[Format, Callable[[Iterable[Report]], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}


def check(
    flows: Annotated[
        list[str],
        typer.Argument(metavar="FLOW...", help="Shipped flows, such as turn, or .yaml files."),
    ],
    format: Annotated[Format, typer.Option(help="Format of the report.")] = "text",
    limit: Annotated[
        int, typer.Option(min=1, help="Give up after this many configurations.")
    ] = LIMIT,
    counterexamples: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write each counterexample as a journal into DIR."),
    ] = None,
    host: Annotated[
        HostName | None,
        typer.Option(help="Also say whether a session of this framework can run the flows."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="If all flows are proved, write their hashes to FILE."),
    ] = None,
) -> None:
    """Prove the properties of flows, or show how they can be broken.

    Exit status 0: all flows are proved, 1: there are findings, 2: bad input.
    """
    reports = [check_file(name, limit) for name in flows]
    if counterexamples is not None:
        for report in reports:
            _write(report, counterexamples)
    print(_WRITERS[format](reports))
    for name, report in zip(flows, reports, strict=True):
        if report.ok:
            note_proved(load_flow(name))
    loaded, proved = (all(r.loaded for r in reports), all(r.ok for r in reports))
    if record is not None and loaded and proved:
        proofs = record_of((load_flow(name), r) for name, r in zip(flows, reports, strict=True))
        write_file(record, proofs.encode())
    refused = [] if host is None or not loaded else _run_by(host, flows, format == "text")
    for why in refused:
        print(f"error: {why}", file=sys.stderr)
    if host == "pipecat" and loaded and not refused:
        for flow in map(load_flow, flows):
            if posts := unposted(flow):
                what = f"the application posts {', '.join(posts)}: TurnGovernor(..., posts={posts})"
                print(f"note: {flow.name}: {what}", file=sys.stderr)
            for what in not_promised(flow):
                print(f"note: {flow.name} with a realtime service: {what}", file=sys.stderr)
    raise typer.Exit(2 if not loaded else bool(refused) or not proved)


def _run_by(host: HostName, flows: Iterable[str], prints: bool) -> list[str]:
    """Why flows cannot run in a session of a framework, as the session itself would say it. Those
    that can are printed."""
    refused = []
    for name in flows:
        flow = load_flow(name)
        try:
            check_vocabulary(flow, GOVERNED[host])
            if host == "pipecat":
                check_pipecat(flow)
        except HostError as error:
            refused.append(str(error))
        else:
            if prints:
                print(f"{name}: {GOVERNED[host]} can run it")
    return refused


def _write(report: Report, folder: Path) -> None:
    """One journal for each finding: FILE.CODE.jsonl, numbered where a code has several."""
    from turnfsm.runtime.journal.traces import trace_journal  # only needed for a flow with findings

    many = Counter(finding.code for finding in report.traces)
    count: Counter[str] = Counter()
    for finding in report.findings:
        if (proof := report.traces.get(finding)) is None:
            continue
        count[finding.code] += 1
        number = f".{count[finding.code]}" if many[finding.code] > 1 else ""
        records = trace_journal(proof).to_json()
        lines = "".join(json.dumps(record) + "\n" for record in records)
        file = folder / f"{Path(report.file).stem}.{finding.code}{number}.jsonl"
        write_file(file, lines.encode())
