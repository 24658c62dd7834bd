"""Small flows that the tests of the proof share."""

from functools import cache

from flow_text import parsed

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import Report
from turnfsm.fsm.load.loader import shipped_flows

TURN = shipped_flows()["turn"].read_text(encoding="utf-8")


def flow_of(text: str) -> Flow:
    """The flow in a text that has no findings."""
    return parsed(text, "probe.yaml")


@cache
def turn_with(old: str, new: str) -> Report:
    """The proof of the shipped turn with one stretch of its text replaced."""
    assert TURN.count(old) == 1, (TURN.count(old), old)
    return check_flow(flow_of(TURN.replace(old, new)))


def codes(report: Report) -> set[str]:
    """The codes of all findings, and of what has the same cause."""
    return {code for finding in report.findings for code in (finding.code, *finding.also)}


@cache
def shipped(name: str) -> Report:
    """The proof of a shipped flow."""
    return check_flow(load_flow(name))
