"""Checks of the written form: groups, and names that are given in two sections."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, near
from turnfsm.fsm.flow import Group
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path, Source

from .names import as_list
from .written import EVERY_STATE, HOST, FlowFile

__all__ = ["check_written"]

_SCOPES = ("session", HOST)


def check_written(file: FlowFile, source: Source) -> Iterator[Finding]:
    """Problems that vanish, or cannot be located, once groups are resolved into states."""
    checks = (
        _sections,
        _scopes_of_facts,
        _facts_twice,
        _host_facts,
        _tools_of_facts,
        _groups,
        _bodies,
    )
    return (finding for check in checks for finding in check(file, source))


def _sections(file: FlowFile, source: Source) -> Iterator[Finding]:
    for name in file.events:
        if name in file.requests:
            yield problem(source, ("events", name), "contradiction.request_and_event", name=name)


def _scopes_of_facts(file: FlowFile, source: Source) -> Iterator[Finding]:
    scopes = (*_SCOPES, *file.scopes)
    for scope in file.facts:
        path: Path = ("facts", scope)
        if scope in scopes:
            continue
        hint = near(scope, scopes)
        if closest(scope, scopes) is None:
            hint = f"list facts below their scope: {hint.removeprefix('there is: ')}"
        removed = source.still_used("scopes", "scope", scope, path)
        yield removed or problem(source, path, "unknown-scope.of_facts", name=scope, near=hint)


def _facts_twice(file: FlowFile, source: Source) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for scope, facts in file.facts.items():
        for name in facts:
            if name in seen:
                named = {"name": name, "first": seen[name], "second": scope}
                yield problem(source, ("facts", scope, name), "contradiction.two_scopes", **named)
            seen[name] = scope


def _host_facts(file: FlowFile, source: Source) -> Iterator[Finding]:
    for name, fact in file.facts.get(HOST, {}).items():
        if fact.set_by or fact.cleared_by:
            path: Path = ("facts", HOST, name, "set_by" if fact.set_by else "cleared_by")
            yield problem(source, path, "contradiction.host_fact", name=name)


def _tools_of_facts(file: FlowFile, source: Source) -> Iterator[Finding]:
    for scope, facts in file.facts.items():
        for name, fact in facts.items():
            if fact.tools and scope != HOST:
                path: Path = ("facts", scope, name, "tools")
                yield problem(source, path, "contradiction.tools_of_fact", name=name)


def _groups(file: FlowFile, source: Source) -> Iterator[Finding]:
    for name, state in file.states.items():
        for index, group in enumerate(state.in_):
            path: Path = ("states", name, "in", index)
            if group == EVERY_STATE:
                yield problem(source, path, "repeated.every_state")
            elif group not in file.groups:
                hint = near(group, file.groups)
                removed = source.still_used("groups", "group", group, path)
                yield removed or problem(source, path, "unknown-group.name", name=group, near=hint)
    used = {EVERY_STATE, *(group for state in file.states.values() for group in state.in_)}
    for name in file.groups:
        if name not in used and not source.inherited(("groups", name)):
            yield problem(source, ("groups", name), "unused.group", name=name)


def _bodies(file: FlowFile, source: Source) -> Iterator[Finding]:
    for section, bodies in (("groups", file.groups), ("states", file.states)):
        for name, body in bodies.items():
            for key in ("refuses", "ignores"):
                yield from _silent(body, (section, name, key), file, source)


def _silent(body: Group, path: Path, file: FlowFile, source: Source) -> Iterator[Finding]:
    """Check that `refuses` lists requests, `ignores` lists events, and each trigger is in one place
    only."""
    section, owner, key = map(str, path)
    right, wrong, kind, other = file.requests, file.events, "an event", "ignores"
    if key == "ignores":
        right, wrong, kind, other = file.events, file.requests, "a request", "refuses"
    for index, name in enumerate(getattr(body, key)):
        where: Path = (*path, index)
        named = {"name": name, "verb": key}
        if name in body.on:
            named |= {"kind": section[:-1], "owner": owner}
            yield problem(source, where, "contradiction.silent_and_declared", **named)
        elif name in wrong and name not in right:
            named |= {"kind": kind, "other": other}
            yield problem(source, where, "contradiction.wrong_list", **named)
        elif name not in right:
            yield _not_a_trigger(name, where, file, source)


def _not_a_trigger(name: str, path: Path, file: FlowFile, source: Source) -> Finding:
    several = "," in name or " " in name.strip()
    hint = as_list(name) if several else near(name, (*file.requests, *file.events))
    removed = source.still_used("triggers", "trigger", name, path)
    return removed or problem(source, path, "unknown-trigger.silent", name=name, near=hint)
