"""The schema in a real editor's server: what it completes, explains and finds in a flow."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from cases import CASES, Case
from language_server import LanguageServer, find_server
from trees import TURN

from turnfsm.fsm import parse_flow
from turnfsm.fsm.fields import yaml_name
from turnfsm.fsm.load.written import WrittenState

MODELINE = "# yaml-language-server: $schema=./flow.schema.json\n"
SPECS = Path(__file__).parents[2] / "specs"
HOW = "npm install --global yaml-language-server, or name its command in TURNFSM_YAML_LS"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageServer]:
    """A running server in a folder that has the schema beside the flow."""
    command = find_server()
    if command is None:
        pytest.skip(f"node and yaml-language-server are needed: {HOW}")
    folder = tmp_path_factory.mktemp("editor")
    shutil.copy(SPECS / "flow.schema.json", folder)
    with LanguageServer(command, folder) as running:
        yield running


def found(server: LanguageServer, text: str) -> list[tuple[int, str]]:
    """Line, counted as in the text, and message of each finding."""
    diagnostics = server.open(MODELINE + text)
    server.close()
    return [(d["range"]["start"]["line"], d["message"]) for d in diagnostics]


def test_the_shipped_flow_is_clean(server: LanguageServer) -> None:
    """The editor has nothing to say about the shipped flow."""
    diagnostics = server.open(TURN)
    server.close()
    assert diagnostics == []


def test_a_variant_is_clean(server: LanguageServer) -> None:
    """A flow that extends another needs neither states nor an initial one; null removes."""
    text = "flow: x\nextends: turn\nstates:\n  speaking: {on: {barge_in: null}}\n  paused: null\n"
    assert found(server, text) == []


def test_completion_inside_a_state(server: LanguageServer) -> None:
    """The keys of a state are offered, and no others."""
    text = "flow: x\ninitial: a\nstates:\n  a:\n    is: text\n    "
    server.open(MODELINE + text)
    offered = server.completion(6, 4)
    server.close()
    assert offered == {yaml_name(field) for field in attrs.fields(WrittenState)} - {"is"}


def test_completion_of_values(server: LanguageServer) -> None:
    """The words that a key knows are offered."""
    server.open(MODELINE + "flow: x\ninitial: a\nkind: \n")
    offered = server.completion(3, 6)
    server.close()
    assert {"turn", "session"} <= offered


def test_hover_explains_a_key(server: LanguageServer) -> None:
    """The sentence of the reference is shown over its key."""
    server.open(MODELINE + "flow: x\ninitial: a\nstates:\n  a:\n    refuses: []\n")
    shown = server.hover(5, 6)
    server.close()
    assert "Requests that are refused here" in shown


@pytest.mark.parametrize("case", [c for c in CASES if c.group in {"keys", "types"}][::3], ids=str)
def test_the_same_findings(server: LanguageServer, case: Case) -> None:
    """What the loader says about the shape of a flow, the editor marks on the same lines."""
    findings = parse_flow(case.text)[1]
    if all(f.message.endswith("got nothing") for f in findings):
        pytest.skip("null removes in a variant: a schema cannot tell the two apart")
    # A key that is missing has no line of its own: the editor marks the first it knows.
    lines = {f.line for f in findings if f.code != "missing-key"}
    marked = {line for line, _ in found(server, case.text)}
    assert marked
    assert lines <= marked
