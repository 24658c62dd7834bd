"""Writes audits as JUnit XML, which CI systems show as tests."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from .audit import Audit
from .gate import Gate

__all__ = ["as_junit"]


def as_junit(audits: Sequence[tuple[str, Audit]], gate: Gate) -> str:
    """Write audits as JUnit XML: a test for each session, which fails if the gate does.

    Args:
        audits: The name of each file, and its audit.
        gate: The findings that fail a session. Others are in the output of its test.

    Returns:
        The XML.

    Example:
        >>> from turnfsm.audit import Gate, as_junit, audit_recording, parse_recording
        >>> audit = audit_recording(parse_recording(b'{"events": 1}', "events.jsonl"))
        >>> print(as_junit([("events.jsonl", audit)], Gate()))
        <testsuites>
          <testsuite name="turnfsm audit" tests="1" failures="0" errors="0">
            <testcase classname="recording" name="events.jsonl" />
          </testsuite>
        </testsuites>
    """
    judged = [(name, audit, gate.failed_by(audit)) for name, audit in audits]
    failures = sum(bool(fails) for *_, fails in judged)
    suites = Xml.Element("testsuites")
    counts = {"tests": str(len(judged)), "failures": str(failures), "errors": "0"}
    suite = Xml.SubElement(suites, "testsuite", {"name": "turnfsm audit", **counts})
    for name, audit, fails in judged:
        test = Xml.SubElement(suite, "testcase", classname=audit.of, name=name)
        if fails:
            lines_of = {str(finding): finding.lines() for finding in audit.findings}
            lines = [line for failure in fails for line in lines_of.get(failure, (failure,))]
            Xml.SubElement(test, "failure", message=fails[0].strip()).text = "\n".join(lines)
        others = [line for line in Gate().failed_by(audit) if line not in fails]
        if others:
            Xml.SubElement(test, "system-out").text = "\n".join(others)
    Xml.indent(suites)
    return Xml.tostring(suites, encoding="unicode")
