"""Proves flows: every reachable configuration is visited before a flow runs.

Example:
    >>> from turnfsm import load_flow
    >>> from turnfsm.check import check_flow
    >>> check_flow(load_flow("turn")).ok
    True
"""

from turnfsm.fsm.check.check import check_file, check_flow
from turnfsm.fsm.check.report import PropertyResult, Report, as_github, as_json, as_sarif, as_text
from turnfsm.fsm.check.trace import Trace, TraceStep

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


def __dir__() -> list[str]:
    return __all__
