"""The table of the ten properties: a misspelt name would make a rule that nothing breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from turnfsm.fsm.check import maker, turn_rules
from turnfsm.fsm.check.turn import PROPERTIES, turn_world
from turnfsm.fsm.load import load_flow, load_shipped, shipped_flows

TABLE = turn_rules.table()
ROWS = [
    (name, row) for part in ("rules", "waits") for name, rows in TABLE[part].items() for row in rows
]
FLOWS = [flow for flow in map(load_shipped, shipped_flows()) if flow.kind == "turn"]
FLOWS.append(load_flow("examples/bank/bank.yaml"))  # with `confirming`
FACTS = {f"~{name}" for name in turn_world(FLOWS[0]).ghosts}
FACTS |= {f"={name}" for flow in FLOWS for name in flow.facts}
FACTS |= {name for flow in FLOWS for name in flow.host_facts}
STATES = {name for flow in FLOWS for name in flow.states}
TRIGGERS = {name for flow in FLOWS for name in (*flow.triggers, *flow.timers)}
ACTIONS = {name for flow in FLOWS for name in flow.actions}
KNOWN = {
    **dict.fromkeys(("when", "unless", "before", "before_not", "facts"), FACTS),
    **dict.fromkeys(("source", "source_not", "dest", "dest_not", "stays", "from", "to"), STATES),
    **dict.fromkeys(("trigger", "trigger_not", "granted", "refused", "until", "within"), TRIGGERS),
    **dict.fromkeys(("action", "does", "lacks", "twice", "until_does"), ACTIONS),
}
KEYS = {*maker.TESTS, *KNOWN, "broken", "each", "needs", "remedy", "state", "timer", "heeded"}
KEYS |= {
    *("claim", "promise", "at_most", "quiet", "reported", "until_added", "until_left", "needs_not")
}


class Values(dict[str, str]):
    """The values of a row; those of `each` are not known here."""

    def __missing__(self, name: str) -> str:
        return ""


def words(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in turn_rules.filled(row, Values(TABLE["names"])).items():
        if key in KNOWN:
            names = (word.rstrip("!") for word in value.split())
            yield from ((key, name) for name in names if name.strip("~="))


def test_each_of_the_ten_has_rules_or_waits() -> None:
    assert {name for name, _ in ROWS} == set(PROPERTIES)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_rule_says_only_what_is_read(name: str, row: dict[str, Any]) -> None:
    assert set(row) <= KEYS
    assert {"broken", "granted", "promise"} & set(row)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_rule_names_only_what_a_shipped_flow_has(name: str, row: dict[str, Any]) -> None:
    unknown = {(key, word) for key, word in words(row) if word not in KNOWN[key]}
    assert not unknown
