"""The command that measures how proofs and pictures grow."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.docs import DOCS
from bench.growth import FAMILIES, Line, chart, made, measured
from turnfsm.fsm.load.loader import shipped_flows


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_dimension_grows_and_the_others_stay(kind: str) -> None:
    """The sizes of a family's flows are those that its table names."""
    make, sizes = FAMILIES[kind]
    small, larger = (measured(make(n), rounds=1) for n in sizes[:2])
    counts = {"facts": (small.facts, larger.facts), "states": (small.states, larger.states)}
    assert counts.get(kind, (small.rows, larger.rows)) == sizes[:2]
    assert larger.configurations > small.configurations


def test_generated_flows_are_the_worst_case() -> None:
    """Every combination of facts is reached in every state."""
    assert measured(made(6, 8, 36), rounds=1).configurations == 6 * 2**8


def test_the_chart_is_xml_with_every_point() -> None:
    """One circle for each measurement, higher for a longer time."""
    root = ElementTree.fromstring(chart({"facts": [Line("check", [(2, 1.0), (4, 30.0)])]}))
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    low, high = (float(circle.attrib["cy"]) for circle in circles)
    assert low > high


def test_the_page_has_the_table_of_every_shipped_flow() -> None:
    """docs/proof.md was written by the command since a flow has last grown."""
    page = Path(DOCS / "proof.md").read_text(encoding="utf-8")
    for name, path in shipped_flows().items():
        proof = json.loads(path.with_name("proofs.json").read_text(encoding="utf-8"))[name]
        [line] = re.findall(rf"^\| {name} .*", page, re.MULTILINE)
        assert f" {proof['configurations']:,} |" in line
        assert f" {proof['transitions']:,} |" in line
    assert (DOCS / "growth.svg").exists()
