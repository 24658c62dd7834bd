"""The JSON Schema says what the loader says, as far as a schema can."""

import re
from pathlib import Path
from typing import Any

import pytest
from cases import CASES, Case
from command import run
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft7Validator
from strategies import flow_to_yaml, flows
from trees import EVERY_KEY, TURN_TREE, as_yaml, mutated_trees, near_flows

from turnfsm.fsm import Flow, parse_flow, shipped_flows
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.load.reference import reference
from turnfsm.fsm.load.schema import flow_schema, schema_text
from turnfsm.fsm.load.yaml12 import read_nodes, unfold
from turnfsm.fsm.source import Page, Source
from turnfsm.runtime.cli import main

MANY = settings(
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
STRUCTURAL = {"type", "unknown-key", "missing-key"}
REPO = Path(__file__).parents[2]
VALIDATOR = Draft7Validator(flow_schema())


def tree_of(text: str) -> Any:
    """The plain data of a text; None where it is not YAML."""
    page = Page("case.yaml", text)
    root, findings = read_nodes(page)
    return None if root is None or findings else unfold(root, Source(page))


def is_structural(text: str) -> bool:
    """Whether the loader refuses the shape of a text.

    A value that says nothing is not its matter: a schema cannot know whether null removes.
    """
    findings = [f for f in parse_flow(text)[1] if f.code in STRUCTURAL]
    return not all(f.message.endswith("got nothing") or _is_null(f) for f in findings)


def _is_null(finding: Finding) -> bool:
    """Whether the finding is about a key whose value is null."""
    after = finding.text[finding.column - 1 + finding.width :]
    return re.match(r"\s*:\s*null\b", after) is not None


def test_the_schema_is_valid() -> None:
    """The schema itself is valid, and every key and every class has a description."""
    Draft7Validator.check_schema(flow_schema())
    classes = [flow_schema(), *flow_schema()["definitions"].values()]
    assert len(classes) > 10
    for body in classes:
        assert body["description"]
        assert body["additionalProperties"] is False
        assert all(value["description"] for value in body["properties"].values())


def test_the_schema_file_is_fresh() -> None:
    """What is committed beside the flows is what the classes say; else: turnfsm schema."""
    assert (REPO / "specs/flow.schema.json").read_text(encoding="utf-8") == schema_text()


def test_the_reference_is_fresh() -> None:
    """The tables of docs/flows.md are the classes'; else: turnfsm schema --format markdown."""
    assert reference() in (REPO / "docs/flows.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", shipped_flows())
def test_shipped_flows_point_to_it(name: str) -> None:
    """Each shipped flow begins with the line that editors read, and is valid."""
    text = shipped_flows()[name].read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=./flow.schema.json\n")
    assert list(VALIDATOR.iter_errors(tree_of(text))) == []


@pytest.mark.parametrize("case", [c for c in CASES if c.group in {"keys", "types"}], ids=str)
def test_the_schema_rejects_wrong_shapes_of_the_corpus(case: Case) -> None:
    """A key that is unknown or missing, a value of the wrong kind: the editor says so, too."""
    if is_structural(case.text):
        assert not VALIDATOR.is_valid(tree_of(case.text))


@MANY
@given(flows())
def test_the_schema_accepts_valid_flows(flow: Flow) -> None:
    """What the loader takes, the schema takes."""
    text = flow_to_yaml(flow)
    assert parse_flow(text)[1] == []
    assert list(VALIDATOR.iter_errors(tree_of(text))) == []


def test_a_property_that_is_null_may_remove_one() -> None:
    """So the schema accepts it; alone, it lacks what every property has."""
    never = TURN_TREE["properties"]["never"] | {"a_heard_reply_is_not_superseded": None}
    tree = TURN_TREE | {"properties": TURN_TREE["properties"] | {"never": never}}
    assert parse_flow(as_yaml(tree))[0] is None
    assert VALIDATOR.is_valid(tree)
    assert not is_structural(as_yaml(tree))


@pytest.mark.parametrize("value", [None, ""])
def test_an_action_that_is_empty_is_no_action_of_a_property(value: str | None) -> None:
    """A property names an action or a state; a key without a value names neither."""
    never = TURN_TREE["properties"]["never"]
    changed = never["no_turn_ends_while_the_user_speaks"] | {"action": value}
    never = never | {"no_turn_ends_while_the_user_speaks": changed}
    tree = TURN_TREE | {"properties": TURN_TREE["properties"] | {"never": never}}
    assert parse_flow(as_yaml(tree))[0] is None
    assert not VALIDATOR.is_valid(tree)


def test_tools_and_agents_have_any_names_but_parts_of_the_flow_only_words() -> None:
    tree: dict[str, Any] = {"flow": "x", "extends": "turn"}
    named = tree | {"tools": {"by_name": {"files.read": "hold"}}, "overlays": {"a b": {}}}
    assert parse_flow(as_yaml(named))[0] is not None
    assert VALIDATOR.is_valid(named)
    for section, part in (("limit_sets", {}), ("questions", {"asked": "why", "kind": "open"})):
        wrong = tree | {section: {"a b": part}}
        assert parse_flow(as_yaml(wrong))[0] is None
        assert not VALIDATOR.is_valid(wrong)


@MANY
@given(near_flows() | mutated_trees(TURN_TREE) | mutated_trees(EVERY_KEY))
def test_any_tree(tree: Any) -> None:
    """What the schema rejects, the loader rejects; what is of the wrong shape, both reject."""
    valid, text = VALIDATOR.is_valid(tree), as_yaml(tree)
    if not valid:
        assert parse_flow(text)[0] is None
    if isinstance(tree, dict) and not tree.get("extends") and is_structural(text):
        assert not valid


def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`turnfsm schema` writes the file; `--check` tells a stale one by its exit status."""
    monkeypatch.chdir(tmp_path)

    def status(*words: str) -> int:
        with pytest.raises(SystemExit) as stopped:
            main(["schema", *words])
        return int(stopped.value.code or 0)

    assert status() == 2
    (tmp_path / "specs").mkdir()
    assert status("--check") == 1
    assert status() == 0
    assert (tmp_path / "specs/flow.schema.json").read_text(encoding="utf-8") == schema_text()
    assert status("--check") == 0
    (tmp_path / "specs/flow.schema.json").write_text("{}")
    assert status("--check") == 1


def test_the_command_renews_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--format markdown` renews the marked part of a document, and refuses one without marks."""
    document = tmp_path / "flows.md"
    document.write_text("# A\n<!-- turnfsm schema writes from here -->old<!-- to here -->\nend\n")
    words = ["schema", "--format", "markdown", "--output", str(document)]
    with pytest.raises(SystemExit):
        main(words)
    renewed = document.read_text()
    assert renewed.startswith("# A\n")
    assert renewed.endswith("-->\nend\n")
    assert reference() in renewed
    document.write_text("# A\n")
    assert run(*words) == 2
    assert "no part to renew" in capsys.readouterr().err


def test_the_flow_with_every_key_is_valid() -> None:
    """What the trees are changed from is right itself."""
    assert parse_flow(as_yaml(EVERY_KEY))[1] == []
    assert list(VALIDATOR.iter_errors(EVERY_KEY)) == []
