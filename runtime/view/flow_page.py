"""A flow on a page: picture, table, proof, counterexamples, and the places of its findings; and the
file of the flow while it is edited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from turnfsm.fsm.check.check import check_file
from turnfsm.fsm.check.report import Report
from turnfsm.fsm.errors import FlowError
from turnfsm.fsm.flow import Flow, State
from turnfsm.fsm.load import load_flow
from turnfsm.fsm.matrix import Matrix, matrix
from turnfsm.runtime.journal.traces import trace_journal

from .flow_data import flow_data
from .page import build_page
from .records import RecordEncoder
from .simulator import simulate

__all__ = ["FlowFile", "flow_page"]

_PACE = 0.5
"""Seconds that a step of a counterexample takes on the page."""


def flow_page(name: str | Path) -> str:
    """One HTML file with a flow, its table, its proof and its counterexamples.

    If the file is not a flow, the page shows the findings.
    """
    return build_page(FlowFile(name).data)


class FlowFile:
    """A flow's file, and the last flow that could be loaded from it.

    Args:
        name: A file, or the name of a shipped flow. It is read and proved.

    Attributes:
        data: What the page shows.
    """

    def __init__(self, name: str | Path) -> None:
        self.name = name
        self._flow: Flow | None = None
        self.data: dict[str, Any] = {}
        self.read()

    def read(self) -> dict[str, Any]:
        """Read and prove the file again. Returns what the page shows.

        While the file is not a flow, the page shows the findings, and the last valid flow.
        """
        report = check_file(self.name)
        try:
            self._flow, loaded = load_flow(self.name), True
        except FlowError:
            loaded = False
        shown = self._flow or _NOTHING
        self.data = {
            "mode": "flow",
            "title": f"{report.flow or Path(self.name).name}: a flow",
            "flow": flow_data(shown),
            "initial": shown.initial,
            "startedAt": 0,
            "redacted": False,
            "damage": None,
            "records": [],
            "report": _report(report),
            "matrix": _matrix(matrix(shown)),
            "simulation": simulate(shown, ()),
        }
        if not loaded:  # the lines of the present file, and everything else of the last valid flow
            files = [{"name": str(self.name), "text": _text(self.name)}]
            self.data["flow"]["source"] = {"files": files, "at": {}}
        return self.data

    def simulate(self, presses: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Simulate triggers, as `simulate`. None if the file has never been a flow."""
        return None if self._flow is None else simulate(self._flow, presses)


_NOTHING = Flow("no flow", "none", {"none": State(final=True)})


def _text(name: str | Path) -> str:
    try:
        return Path(name).read_text("utf-8", errors="replace")
    except OSError:
        return ""


_OF_REPORT = ("ok", "loaded", "configurations", "transitions", "seconds")
_OF_FINDING = ("file", "line", "severity", "message", "remedy")


def _report(report: Report) -> dict[str, Any]:
    return {
        **{name: getattr(report, name) for name in _OF_REPORT},
        "properties": [attrs.asdict(one) for one in report.properties],
        "findings": [
            {name: getattr(finding, name) for name in _OF_FINDING}
            | {"example": _example(report, finding)}
            for finding in report.findings
        ],
    }


def _example(report: Report, finding: Any) -> dict[str, Any] | None:
    proof = report.traces.get(finding)
    if proof is None or proof.flow is None:
        return None
    records = trace_journal(proof, _PACE).records
    return {"records": RecordEncoder(proof.flow).all(records), "quiet": list(proof.quiet)}


def _matrix(table: Matrix) -> dict[str, Any]:
    rows = []
    for trigger in (*table.triggers, *table.timers):
        cells = [{"kind": cell.kind, "lines": list(cell.lines)} for cell in table.row(trigger)]
        rows.append({"trigger": trigger, "label": table.label(trigger), "cells": cells})
    return {"states": list(table.states), "rows": rows}
