"""Whether a flow can continue the sessions that a store has saved under an earlier version of it.

The next worker begins in the initial state, with all facts false, and no call or timer continues.
So states, triggers, facts, timers, policies and sections may change freely. Of the old flow it
needs only its name, the names of its tools, and the agenda by which replies have settled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from .agenda.settlement import Rules
from .diagnostics import Finding
from .errors import closest, quoted
from .flow import Flow, Migrates, Names
from .source import Page

__all__ = ["StoredFlow", "renamed", "tools_lost", "why_not"]


@attrs.frozen
class StoredFlow:
    """What a store saves of the flow of a session.

    Attributes:
        name: Its name.
        continues: The other flows whose sessions it continues. These may take its sessions back.
        tools: The earlier name of a tool to the one that it had in this flow.
        agenda: The agenda by which its replies have settled; empty if it was not saved.

    Example:
        >>> from turnfsm import load_flow
        >>> StoredFlow.of(load_flow("overlap")).continues
        ('turn',)
    """

    name: str
    continues: Names = ()
    tools: Mapping[str, str] = attrs.field(factory=dict)
    agenda: Rules = attrs.field(factory=Rules)

    @classmethod
    def of(cls, flow: Flow, agenda: Rules | None = None) -> StoredFlow:
        """What is saved of a flow, and of the agenda by which its replies settle."""
        bases = flow.source.bases if flow.source is not None else ()
        continues = {*flow.migrates.flow, *bases} - {flow.name}
        return cls(flow.name, tuple(sorted(continues)), flow.migrates.tools, agenda or flow.agenda)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StoredFlow:
        """Read what `to_json` has written.

        Raises:
            KeyError, TypeError, ValueError: It has not.
        """
        settle = {row: dict(cells) for row, cells in data["agenda"]}
        return cls(data["name"], tuple(data["continues"]), dict(data["tools"]), Rules(settle))

    def to_json(self) -> dict[str, Any]:
        """As JSON. Names are never keys, so that no redaction of keys removes them."""
        settle = self.agenda.settle.items()
        return {
            "name": self.name,
            "continues": list(self.continues),
            "tools": [list(pair) for pair in self.tools.items()],
            "agenda": [[row, [list(cell) for cell in cells.items()]] for row, cells in settle],
        }


def why_not(stored: StoredFlow, flow: Flow) -> Finding | None:
    """Why a flow cannot continue a stored session, with the remedy; None if it can.

    Example:
        >>> from turnfsm import load_flow
        >>> why_not(StoredFlow("hotel"), load_flow("turn")).message
        "flow 'turn' does not continue sessions of 'hotel'"
    """
    present = StoredFlow.of(flow)
    if stored.name in (flow.name, *present.continues) or flow.name in stored.continues:
        return None
    message = f"flow {quoted(flow.name)} does not continue sessions of {quoted(stored.name)}"
    remedy = f"if it replaces that flow, add 'migrates: {{flow: {stored.name}}}'"
    if meant := closest(stored.name, flow.migrates.flow):
        remedy = f"'migrates' says {meant!r}; did you mean {stored.name!r}?"
    if flow.source is None:
        return Page(flow.name, "").whole.finding(message, remedy)
    if flow.source.page.shipped:
        remedy += f" to a file with 'extends: {flow.name}'"
    return flow.source.at(("flow",), message, remedy)


def renamed(stored: StoredFlow, migrates: Migrates, tools: Collection[str]) -> Mapping[str, str]:
    """The tools that have another name now, each with that name.

    After a rollback it is the stored flow that knows the names, so its entries are read backwards.

    Args:
        migrates: Of the flow that continues.
        tools: The names of the tools that there are now.

    Example:
        >>> earlier, later = StoredFlow("inn"), Migrates(tools={"book": "book_table"})
        >>> renamed(earlier, later, ["book_table"])
        {'book': 'book_table'}
        >>> renamed(StoredFlow("inn", tools=later.tools), Migrates(), ["book"])
        {'book_table': 'book'}
    """
    back = {now: old for old, now in stored.tools.items() if old in tools and now not in tools}
    return back | {old: now for old, now in migrates.tools.items() if old not in tools}


def tools_lost(old: Flow, flow: Flow) -> Iterator[Finding]:
    """The tools that an earlier version of a flow names, and that seem to be renamed now.

    A tool that is only gone is not reported.
    """
    known = renamed(StoredFlow.of(old), flow.migrates, flow.named_tools)
    gone = [name for name in old.named_tools if name not in flow.named_tools]
    new = [name for name in flow.named_tools if name not in old.named_tools]
    for name in gone:
        if name in known or not new or flow.source is None:
            continue
        now = closest(name, new) or new[0]
        message = f"tool {quoted(name)} is not named any more, and {quoted(now)} is new"
        remedy = f"if it was renamed, add 'migrates: {{tools: {{{name}: {now}}}}}'"
        yield flow.source.at_key(("tools",), message, remedy, severity="warning")
