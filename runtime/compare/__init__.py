"""Acceptance scenarios: failures of turn-taking, played on a framework alone and governed."""

from .hosts import HostName, load_host
from .scenario import Compared, Contender, FailureClass, Host, Scenario, Side, compare
from .tables import as_json, as_markdown, as_table, summary

__all__ = [
    "Compared",
    "Contender",
    "FailureClass",
    "Host",
    "HostName",
    "Scenario",
    "Side",
    "as_json",
    "as_markdown",
    "as_table",
    "compare",
    "load_host",
    "summary",
]
