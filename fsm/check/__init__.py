"""Proves flows: every reachable configuration is visited before a flow runs."""

from .check import check_file, check_flow
from .report import PropertyResult, Report, as_github, as_json, as_text
from .sarif import as_sarif
from .trace import Trace, TraceStep

__all__ = [
    "PropertyResult",
    "Report",
    "Trace",
    "TraceStep",
    "as_github",
    "as_json",
    "as_sarif",
    "as_text",
    "check_file",
    "check_flow",
]
