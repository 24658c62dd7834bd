"""Findings of many sessions, by kind."""

from __future__ import annotations

from pathlib import Path

import yaml

from turnfsm.audit import Audit, AuditFinding, Gap, Kind, kinds_of
from turnfsm.fsm.audit.kinds import CLASSES

COMPARE = Path(__file__).parents[2] / "runtime" / "compare"


def audit(*findings: tuple[float, str], silences: tuple[tuple[float, float], ...] = ()) -> Audit:
    """What was found in one session: at which second, of which class."""
    told = tuple(AuditFinding(at, letter, "one_reply_to_a_turn", "") for at, letter in findings)
    gaps = tuple(Gap(start, end, "thinking") for start, end in silences)
    return Audit("recording", told, (), gaps)


def test_findings_are_counted_by_kind_with_the_silence_around_them() -> None:
    """A silence counts once for a kind; one that begins long after a finding does not count."""
    first = audit((5.0, "D"), (6.0, "D"), (30.0, "A"), silences=((5.5, 9.5), (40.0, 50.0)))
    second = audit((5.0, "D"), silences=((5.5, 7.5),))
    assert kinds_of([first, second, audit()]) == (
        Kind("D", "one_reply_to_a_turn", 3, 2, 6.0),
        Kind("A", "one_reply_to_a_turn", 1, 1, 0.0),
    )


def test_a_finding_at_the_close_costs_the_silence_before_it() -> None:
    """That a result was never said is known only when the session closes."""
    [kind] = kinds_of([audit((27.0, "D"), silences=((7.7, 27.0),))])
    assert kind.silence == 19.3


def test_the_classes_are_those_of_the_docs() -> None:
    told = {**_classes("pipecat"), **_classes("livekit")}
    assert {name: told[name].lower() for name in CLASSES} == CLASSES


def _classes(host: str) -> dict[str, str]:
    read = yaml.safe_load((COMPARE / host / "scenarios.yaml").read_text())
    return {name: one["title"] for name, one in read["classes"].items()}
