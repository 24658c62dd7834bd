"""Whether a flow continues the stored sessions of an earlier version of it."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest
from flow_text import parsed

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.flow import Migrates
from turnfsm.fsm.migrate import StoredFlow, renamed, tools_lost, why_not
from turnfsm.runtime.journal import Redactor


def flow_of(text: str, file: str = "inn.yaml") -> Flow:
    return parsed(text, file)


def reason(stored: StoredFlow, text: str) -> str:
    """Why the flow of a text does not continue a stored one; empty if it does."""
    finding = why_not(stored, flow_of(text))
    return "" if finding is None else finding.render()


INN = "flow: inn\nextends: turn\n"
HOTEL = StoredFlow.of(flow_of("flow: hotel\nextends: turn\n"))


@pytest.mark.parametrize(
    "text",
    [
        "flow: hotel\ninitial: a\nstates: {a: {}}\n",
        INN + "migrates: {flow: hotel}\n",
        INN + "migrates: {flow: [lodge, hotel]}\n",
    ],
    ids=["its name", "its entry", "one of its entries"],
)
def test_a_flow_continues_what_it_replaces(text: str) -> None:
    assert reason(HOTEL, text) == ""


def test_a_flow_continues_the_flows_that_it_extends(tmp_path: Path) -> None:
    """All of the chain, also if a base has been renamed."""
    (tmp_path / "base.yaml").write_text("flow: lodge\nextends: overlap\nmigrates: {flow: hut}\n")
    flow = flow_of("flow: inn\nextends: base.yaml\n", str(tmp_path / "inn.yaml"))
    assert StoredFlow.of(flow).continues == ("hut", "lodge", "overlap", "turn")
    for name in ("hut", "lodge", "overlap", "turn"):
        assert why_not(StoredFlow(name), flow) is None


def test_another_flow_is_refused_at_its_name() -> None:
    assert reason(HOTEL, INN) == (
        "inn.yaml:1:7: error: flow 'inn' does not continue sessions of 'hotel'\n"
        "    1 | flow: inn\n"
        "      |       ^^^ if it replaces that flow, add 'migrates: {flow: hotel}'"
    )


def test_a_misspelt_entry_is_named() -> None:
    said = reason(HOTEL, INN + "migrates: {flow: hotle}\n")
    assert said.endswith("'migrates' says 'hotle'; did you mean 'hotel'?")


def test_of_a_shipped_flow_the_remedy_is_a_file_that_extends_it() -> None:
    finding = why_not(HOTEL, load_flow("overlap"))
    assert finding is not None
    assert finding.remedy.endswith("to a file with 'extends: overlap'")


def test_after_a_rollback_the_stored_entry_counts() -> None:
    later = StoredFlow.of(flow_of(INN + "migrates: {flow: hotel}\n"))
    assert why_not(later, flow_of("flow: hotel\nextends: turn\n")) is None
    assert why_not(later, load_flow("turn")) is None
    assert why_not(later, flow_of("flow: lodge\nextends: turn\n")) is not None


ENTRY = {"book": "book_table"}


@pytest.mark.parametrize(
    ("stored", "now", "tools", "names"),
    [
        ({}, ENTRY, ["book_table"], ENTRY),
        ({}, ENTRY, ["taxi"], ENTRY),
        ({}, ENTRY, ["book", "book_table"], {}),
        (ENTRY, {}, ["book"], {"book_table": "book"}),
        (ENTRY, {}, ["book_table"], {}),
        (ENTRY, ENTRY, ["book_table"], ENTRY),
        (ENTRY, {}, ["taxi"], {}),
    ],
    ids=[
        "a deploy",
        "another agent has the tool",
        "both tools are there",
        "a rollback",
        "the entry was removed",
        "the same version",
        "a rollback to another agent",
    ],
)
def test_a_call_has_the_name_that_its_tool_has_now(
    stored: dict[str, str], now: dict[str, str], tools: Collection[str], names: dict[str, str]
) -> None:
    assert renamed(StoredFlow("inn", tools=stored), Migrates(tools=now), tools) == names


@pytest.mark.parametrize("how", [None, "leave_out", "hash"])
def test_what_is_stored_is_read_again(how: None) -> None:
    """Also by a store that keeps no words, though the agenda has a column `result`."""
    stored = StoredFlow.of(flow_of(INN + "migrates: {flow: hotel, tools: {message: text}}\n"))
    assert stored.agenda == load_flow("turn").agenda
    record = Redactor(how)({"kept": "flow", "data": stored.to_json()})
    assert StoredFlow.from_json(json.loads(json.dumps(record))["data"]) == stored


def _lost(old: str, new: str) -> list[str]:
    flows = (flow_of(f"flow: inn\nextends: turn\ntools: {text}\n") for text in (old, new))
    return [finding.render() for finding in tools_lost(*flows)]


def test_a_tool_that_seems_to_be_renamed_is_a_warning() -> None:
    (said,) = _lost("{once: [book, taxi]}", "{once: [taxi, book_table]}")
    assert said == (
        "inn.yaml:3:1: warning: tool 'book' is not named any more, and 'book_table' is new\n"
        "    3 | tools: {once: [taxi, book_table]}\n"
        "      | ^^^^^ if it was renamed, add 'migrates: {tools: {book: book_table}}'"
    )


def test_a_tool_that_is_gone_or_has_an_entry_is_no_warning() -> None:
    assert _lost("{once: [book, taxi]}", "{once: taxi}") == []
    entry = "{once: book_table}\nmigrates: {tools: {book: book_table}}"
    assert _lost("{once: book}", entry) == []
    assert _lost(entry, "{once: book}") == [], "a rollback"
