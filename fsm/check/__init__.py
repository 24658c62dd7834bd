"""A flow is proved before it runs: every reachable configuration is visited."""

from .check import check_file, check_flow
from .report import Report, Verdict, as_github, as_json, as_text
from .sarif import as_sarif
from .trace import Step, Trace

__all__ = [
    "Report",
    "Step",
    "Trace",
    "Verdict",
    "as_github",
    "as_json",
    "as_sarif",
    "as_text",
    "check_file",
    "check_flow",
]
