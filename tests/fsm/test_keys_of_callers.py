"""Each key for what a caller notices is in the schema, the reference and the diagnostics, and is
shown and tested everywhere, or its row says why not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args

import attrs
import pytest
from jsonschema import Draft7Validator
from keys_of_callers import FILE, KEYS, SOUNDS, keys_in, table
from trees import as_yaml, tree_of

from turnfsm.fsm import Flow, parse_flow
from turnfsm.fsm.check.mutate import mutants
from turnfsm.fsm.diagram import render
from turnfsm.fsm.expect import Expectation
from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.flow import Phrases, Tuning
from turnfsm.fsm.load.reference import reference
from turnfsm.fsm.load.schema import flow_schema, yaml_fields
from turnfsm.fsm.load.written import FlowFile
from turnfsm.runtime.view.flow_data import flow_data
from turnfsm.runtime.view.settings import InForce
from turnfsm.runtime.view.simulator import simulate

TREE: dict[str, Any] = tree_of(FILE.read_text("utf-8"))
RENAMED = {
    "backchannels.audio": "fillers.audio",
    "tuning.expect.length": "questions.length",
}
"""Keys that the example has elsewhere, since they exclude others of theirs."""
SAID = {"fillers", "silence", "backchannels", "monologue", "never_silent", "hold", "not_heard"}
KNOWN = {part for key in KEYS for part in key.split(".") if len(part) > 3} - {"hold"}
"""What the keys are called; `hold` is a policy, too."""


@cache
def example() -> Flow:
    flow, findings = parse_flow(FILE.read_text("utf-8"), str(SOUNDS))
    assert flow is not None, findings
    return flow


@cache
def shown() -> Mapping[str, str]:
    """What each tool shows of the example, as text."""
    flow = example()
    data = flow_data(flow)
    page = {key: value for key, value in data.items() if key not in ("source", "svg", "themes")}
    owners: list[dict[str, Any]] = [{"agent": "clerk"}, {"tools": ["pay"]}, {"question": "pin"}]
    tuned = [simulate(flow, [{"owners": one}])["records"] for one in owners]
    states = [InForce(flow, state).all() for state in flow.states]
    rows = takewhile(lambda mutant: mutant.operator != "swap alternatives", mutants(flow))
    return {
        "diagram": " ".join(re.findall(r">([^<]+)<", render(flow, theme="light").decode())),
        "viewer": json.dumps([page, tuned, states], ensure_ascii=False),
        "proof": " ".join(mutant.id for mutant in rows),
    }


def test_the_table_has_every_key_of_the_example_and_the_example_those_of_its_sections() -> None:
    """A new key of a section belongs into both."""
    own = {*keys_in(TREE)} - {"flow", "extends", "timers.opening", "events.is"}
    assert own == KEYS.keys()
    kinds = {"tuning": Tuning, "phrases": Phrases, "tuning.expect": Expectation} | {
        name: kind for name, kind in sections() if name in SAID
    }
    for section, kind in kinds.items():
        for field, _ in yaml_fields(kind):
            name = RENAMED.get(name := f"{section}.{yaml_name(field)}", name)
            assert any(key == name or key.startswith(f"{name}.") for key in own), name


def sections() -> Iterator[tuple[str, type]]:
    """The sections of a flow that have keys of their own, each with its class."""
    for field, hint in yaml_fields(FlowFile):
        for inner in (hint, *get_args(hint)):
            if attrs.has(inner):
                yield yaml_name(field), inner


def test_the_schema_and_the_reference_have_each_key() -> None:
    assert [*Draft7Validator(flow_schema()).iter_errors(TREE)] == []
    rows = {*re.findall(r"^\| `(\w+)` \|", reference(), re.MULTILINE)}
    assert {key.rpartition(".")[2] for key in KEYS} <= rows


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_each_misspelt_key_is_reported_with_the_right_one(depth: int) -> None:
    """All of a depth at once, since a misspelt key hides those below it."""
    wrong: set[str] = set()
    _, findings = parse_flow(as_yaml(misspelt(TREE, depth, wrong)), str(SOUNDS))
    unknown = [finding.remedy or "" for finding in findings if finding.code == "unknown-key"]
    assert [key for key in wrong if not any(f"'{key}'" in remedy for remedy in unknown)] == []
    assert len(wrong) > 3


def misspelt(tree: Any, depth: int, wrong: set[str]) -> Any:
    """The tree, in which each known key below so many others lacks its third letter."""
    if isinstance(tree, list):
        return [misspelt(one, depth, wrong) for one in tree]
    if not isinstance(tree, Mapping):
        return tree
    changed = {}
    for key, body in tree.items():
        known = key in KNOWN
        if known and depth == 1:
            wrong.add(key)
        name = f"{key[:2]}{key[3:]}" if known and depth == 1 else key
        changed[name] = misspelt(body, depth - known, wrong)
    return changed


def test_the_page_has_the_table() -> None:
    """Made by `python tests/keys_of_callers.py`."""
    page = Path(__file__).parents[2] / "docs" / "quality.md"
    assert f"<!-- keys -->\n{table()}\n<!-- to here -->" in page.read_text("utf-8")


@pytest.mark.parametrize("column", ["diagram", "viewer", "proof"])
def test_each_key_is_shown_or_the_table_says_why_not(column: str) -> None:
    missing = [
        f"{name}: {wanted}"
        for name, key in KEYS.items()
        if not (wanted := getattr(key, column)).startswith("no: ") and wanted not in shown()[column]
    ]
    assert missing == []
