"""The table of private names in docs/livekit.md: ``python tests/livekit/contract_table.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from turnfsm.runtime.livekit_contract import FEATURES, ORDERS, PRIVATE_NAMES

PAGE = Path(__file__).parents[2] / "docs" / "livekit.md"
FROM, TO = "<!-- tests/livekit/contract_table.py writes from here -->", "<!-- to here -->"


def table() -> str:
    """The features, then a line for each name, by the class or module that it belongs to."""
    return "\n".join([FROM, "", *_features(), "", *_names(), "", *_orders(), "", TO])


def written() -> str:
    """What the page holds."""
    found = re.search(f"{FROM}.*?{TO}", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{PAGE.name} has no place for the table: {FROM} ... {TO}"
    return found.group()


def _features() -> Iterator[str]:
    yield "| feature | what it is | names | `strict=False` |\n| --- | --- | --- | --- |"
    for name, feature in FEATURES.items():
        count = sum(row.feature == name for row in (*PRIVATE_NAMES, *ORDERS))
        without = "needs it" if feature.essential else "runs without it"
        yield f"| `{name}` | {feature.what} | {count} | {without} |"
    yield f"| | | {len(PRIVATE_NAMES) + len(ORDERS)} | |"


def _names() -> Iterator[str]:
    yield "| in | name | kind | feature | what for |\n| --- | --- | --- | --- | --- |"
    for owner, rows in groupby(sorted(PRIVATE_NAMES, key=lambda row: _place(row.owner)), _place_of):
        for row in sorted(rows, key=lambda row: (row.kind, row.name)):
            called = f"({', '.join(row.takes.split())})" if row.takes else ""
            later = f" (2.0: `{row.instead[1]}`)" if row.instead is not None else ""
            name = f"`{row.name}{called}`{later}"
            yield f"| {owner} | {name} | {row.kind} | `{row.feature}` | {row.why} |"


def _orders() -> Iterator[str]:
    yield "| in | what is done in this order | why it matters |\n| --- | --- | --- |"
    for row in ORDERS:
        first, then = (", ".join(f"`{word}`" for word in words) for words in (row.first, row.then))
        yield f"| `{_place(row.owner)}.{row.name}` | {first}; then {then} | {row.why} |"


def _place(owner: str) -> str:
    module, _, inside = owner.partition(":")
    return inside or module


def _place_of(row: object) -> str:
    return f"`{_place(row.owner)}`"  # type: ignore[attr-defined]


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text(encoding="utf-8").replace(written(), table()), encoding="utf-8")
