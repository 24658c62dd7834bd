"""Checks the section `migrates`: an earlier name must not be in use any more."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import quoted
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.source import Path, Source

__all__ = ["check_migrates"]


def check_migrates(flow: Flow, source: Source) -> Iterator[Finding]:
    """All problems of a flow's section `migrates`."""
    for index, name in enumerate(flow.migrates.flow):
        if name == flow.name:
            where: Path = ("migrates", "flow", index)
            message = f"{quoted(name)} is the name that the flow has"
            remedy = "remove it: a flow continues its own sessions"
            yield source.at(where, message, remedy, code="contradiction")
    tools = flow.migrates.tools
    for old, now in tools.items():
        path: Path = ("migrates", "tools", old)
        if now in tools:
            message = f"tool {quoted(now)} is both an earlier and a present name"
            later = tools[now]
            remedy = f"write {old}: {later}" if later not in (old, now) else "keep one of the names"
            yield source.at(path, message, remedy, code="contradiction")
        elif old in flow.named_tools and old not in tools.values():
            message = f"tool {quoted(old)} is now called {quoted(now)}, yet the flow still names it"
            yield source.at_key(path, message, f"write {now!r} there, too", code="contradiction")
