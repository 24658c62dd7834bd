"""Checks of the written form: groups, and names that are given in two sections."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, near, quoted
from turnfsm.fsm.flow import Group
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
            message = f"{quoted(name)} is a request and an event"
            yield source.at_key(("events", name), message, "keep one", code="contradiction")


def _scopes_of_facts(file: FlowFile, source: Source) -> Iterator[Finding]:
    scopes = (*_SCOPES, *file.scopes)
    for scope in file.facts:
        if scope not in scopes:
            path: Path = ("facts", scope)
            if removed := source.still_used("scopes", "scope", scope, path):
                yield removed
                continue
            message = f"scope {quoted(scope)} is not declared"
            remedy = near(scope, scopes)
            if closest(scope, scopes) is None:
                remedy = f"list facts below their scope: {remedy.removeprefix('there is: ')}"
            yield source.at_key(path, message, remedy, code="unknown-scope")


def _facts_twice(file: FlowFile, source: Source) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for scope, facts in file.facts.items():
        for name in facts:
            if name in seen:
                message = f"fact {quoted(name)} is in {quoted(seen[name])} and in {quoted(scope)}"
                path: Path = ("facts", scope, name)
                yield source.at_key(path, message, "keep one of them", code="contradiction")
            seen[name] = scope


def _host_facts(file: FlowFile, source: Source) -> Iterator[Finding]:
    for name, fact in file.facts.get(HOST, {}).items():
        if fact.set_by or fact.cleared_by:
            key = "set_by" if fact.set_by else "cleared_by"
            message = f"the host is asked for fact {quoted(name)}, so no trigger changes it"
            path: Path = ("facts", HOST, name, key)
            remedy = "remove this, or list the fact below its scope"
            yield source.at_key(path, message, remedy, code="contradiction")


def _tools_of_facts(file: FlowFile, source: Source) -> Iterator[Finding]:
    for scope, facts in file.facts.items():
        for name, fact in facts.items():
            if fact.tools and scope != HOST:
                message = f"fact {quoted(name)} is about running tools, which only the host knows"
                path: Path = ("facts", scope, name, "tools")
                yield source.at_key(path, message, f"list it below '{HOST}:'", code="contradiction")


def _groups(file: FlowFile, source: Source) -> Iterator[Finding]:
    named = [(name, group) for name, state in file.states.items() for group in state.in_]
    for name, state in file.states.items():
        seen: set[str] = set()
        for index, group in enumerate(state.in_):
            path: Path = ("states", name, "in", index)
            if group == EVERY_STATE or group in seen:
                message = f"group {quoted(group)} is named twice"
                if group == EVERY_STATE:
                    message = "every state is in the group 'all'"
                yield source.at(path, message, "remove it", code="repeated")
            elif group not in file.groups:
                yield _unknown(file, source, group, path)
            seen.add(group)
    used = {EVERY_STATE, *(group for _, group in named)}
    for name in file.groups:
        path = ("groups", name)
        if name not in used and not source.inherited(path):
            message = f"no state is in the group {quoted(name)}"
            remedy = f"add 'in: {name}' to a state, or remove it"
            yield source.at_key(path, message, remedy, code="unused")


def _unknown(file: FlowFile, source: Source, group: str, path: Path) -> Finding:
    if removed := source.still_used("groups", "group", group, path):
        return removed
    message = f"group {quoted(group)} is not declared"
    return source.at(path, message, near(group, file.groups), code="unknown-group")


def _bodies(file: FlowFile, source: Source) -> Iterator[Finding]:
    for section, bodies in (("groups", file.groups), ("states", file.states)):
        for name, body in bodies.items():
            path: Path = (section, name)
            owner = f"{section[:-1]} {quoted(name)}"
            yield from _named(body, path, owner, file, source)


def _named(
    body: Group, path: Path, owner: str, file: FlowFile, source: Source
) -> Iterator[Finding]:
    """Check that `refuses` lists requests, `ignores` lists events, and each trigger is in one place
    only."""
    for key, verb, right, wrong, other in (
        ("refuses", "refuses", file.requests, file.events, "ignores"),
        ("ignores", "ignores", file.events, file.requests, "refuses"),
    ):
        kind = "an event" if key == "refuses" else "a request"
        seen: set[str] = set()
        for index, trigger in enumerate(getattr(body, key)):
            where = (*path, key, index)
            if trigger in seen:
                message = f"trigger {quoted(trigger)} is named twice"
                yield source.at(where, message, "keep one of them", code="repeated")
            elif trigger in body.on:
                message = f"{owner} {verb} {quoted(trigger)} and declares a transition"
                yield source.at(where, message, "keep one of them", code="contradiction")
            elif trigger in wrong and trigger not in right:
                message = f"{quoted(trigger)} is {kind}, so no state {verb} it"
                remedy = f"write it under '{other}'"
                yield source.at(where, message, remedy, code="contradiction")
            elif trigger not in right:
                yield _not_a_trigger(trigger, where, file, source)
            seen.add(trigger)


def _not_a_trigger(trigger: str, path: Path, file: FlowFile, source: Source) -> Finding:
    if removed := source.still_used("triggers", "trigger", trigger, path):
        return removed
    message = f"trigger {quoted(trigger)} is not declared"
    several = "," in trigger or " " in trigger.strip()
    remedy = as_list(trigger) if several else near(trigger, (*file.requests, *file.events))
    return source.at(path, message, remedy, code="unknown-trigger")
