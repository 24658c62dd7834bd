"""Every name that a flow uses is one that it declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .diagnostics import Finding
from .errors import near
from .flow import Always, Flow, Names, Never, Transition
from .source import Path, Source

__all__ = ["check_names"]


def check_names(flow: Flow, source: Source) -> list[Finding]:
    """Undeclared and misspelt names, contradictions and values that cannot be."""
    checks = (_states, _facts, _triggers, _actions, _timers, _scopes, _transitions, _properties)
    return [finding for check in checks for finding in check(flow, source)]


def _unknown(
    source: Source, path: Path, what: str, names: Iterable[str], known: Iterable[str]
) -> Iterator[Finding]:
    declared = set(known)
    for index, name in enumerate(names):
        if name not in declared:
            message = f"{what} {name!r} is not declared"
            yield source.at((*path, index), message, near(name, declared), code=f"unknown-{what}")


def _states(flow: Flow, source: Source) -> Iterator[Finding]:
    if not flow.states:
        yield source.at(("states",), "a flow needs at least one state", code="no-state")
    elif flow.initial not in flow.states:
        message = f"state {flow.initial!r} is not declared"
        remedy = near(flow.initial, flow.states)
        yield source.at(("initial",), message, remedy, code="unknown-state")
    for name, state in flow.states.items():
        path: Path = ("states", name, "refuses")
        yield from _unknown(source, path, "trigger", state.refuses, flow.triggers)
        for index, trigger in enumerate(state.refuses):
            if trigger in state.on:
                message = f"state {name!r} refuses {trigger!r} and declares a transition for it"
                yield source.at((*path, index), message, "keep one of them", code="contradiction")
        if state.final and (state.on or state.after):
            message = f"state {name!r} is final, yet something leaves it"
            remedy = "remove 'final' or the transitions"
            yield source.at_key(("states", name, "final"), message, remedy, code="contradiction")


def _scope_names(flow: Flow) -> Names:
    return (*flow.scopes, "session")


def _facts(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, fact in flow.facts.items():
        path: Path = ("facts", name)
        for field, triggers in (("set_by", fact.set_by), ("cleared_by", fact.cleared_by)):
            yield from _unknown(source, (*path, field), "trigger", triggers, flow.triggers)
        for trigger in set(fact.set_by) & set(fact.cleared_by):
            message = f"fact {name!r} is set and cleared by {trigger!r}"
            yield source.at((*path, "cleared_by"), message, "keep one", code="contradiction")
        yield from _fact_kind(flow, source, name)


def _fact_kind(flow: Flow, source: Source, name: str) -> Iterator[Finding]:
    fact, path = flow.facts[name], ("facts", name)
    if fact.given and (fact.set_by or fact.cleared_by or fact.scope):
        message = f"fact {name!r} is given by the host, so no trigger and no scope changes it"
        yield source.at_key(path, message, "keep 'given: host' alone", code="contradiction")
    if not fact.given and not fact.set_by:
        message = f"fact {name!r} is never set"
        remedy = "add 'set_by: TRIGGER', or 'given: host'"
        yield source.at_key(path, message, remedy, code="never-set")
    if fact.scope is not None and fact.scope not in _scope_names(flow):
        message = f"scope {fact.scope!r} is not declared"
        remedy = near(fact.scope, _scope_names(flow))
        yield source.at((*path, "scope"), message, remedy, code="unknown-scope")


def _triggers(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, trigger in flow.triggers.items():
        if name in flow.timers:
            message = f"{name!r} is a trigger and a timer"
            yield source.at_key(("triggers", name), message, "rename one", code="contradiction")
        if trigger.of is not None and trigger.of not in flow.scopes:
            message = f"scope {trigger.of!r} is not declared"
            remedy = near(trigger.of, flow.scopes)
            yield source.at(("triggers", name, "of"), message, remedy, code="unknown-scope")


def _actions(flow: Flow, source: Source) -> Iterator[Finding]:
    owners = ("state", *_scope_names(flow))
    for name, action in flow.actions.items():
        path: Path = ("actions", name)
        if action.owner not in owners:
            message, remedy = f"owner {action.owner!r} is not declared", near(action.owner, owners)
            yield source.at((*path, "owner"), message, remedy, code="unknown-scope")
        for field, trigger in (("done", action.done), ("failed", action.failed)):
            if trigger is not None and trigger not in flow.triggers:
                message = f"trigger {trigger!r} is not declared"
                remedy = near(trigger, flow.triggers)
                yield source.at((*path, field), message, remedy, code="unknown-trigger")


def _timers(flow: Flow, source: Source) -> Iterator[Finding]:
    used = {row.trigger for row in flow.rows() if row.timer}
    for name, seconds in flow.timers.items():
        if not 0 < seconds < 86_400:
            message = f"timer {name!r} takes {seconds:g} s"
            yield source.at(("timers", name), message, "0 < seconds < 86400", code="range")
        if name not in used and not any(p.within == name for p in flow.properties.leads_to):
            message = f"timer {name!r} is used by no state"
            remedy = f"add 'after: {{{name}: ...}}' to a state, or remove it"
            yield source.at_key(("timers", name), message, remedy, code="unused")


def _scopes(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, scope in flow.scopes.items():
        for field, triggers in (("begins", scope.begins), ("ends", scope.ends)):
            path: Path = ("scopes", name, field)
            yield from _unknown(source, path, "trigger", triggers, flow.triggers)
        if not scope.begins:
            message = f"scope {name!r} never begins"
            yield source.at_key(("scopes", name), message, "add 'begins: TRIGGER'", code="no-begin")


def _transitions(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, state in flow.states.items():
        for field, table, known, what in (
            ("on", state.on, flow.triggers, "trigger"),
            ("after", state.after, flow.timers, "timer"),
        ):
            for trigger in table:
                if trigger not in known:
                    message = f"{what} {trigger!r} is not declared"
                    path: Path = ("states", name, field, trigger)
                    yield source.at_key(path, message, near(trigger, known), code=f"unknown-{what}")
    for row in flow.rows():
        yield from _transition(flow, source, row.transition, row.path)


def _transition(
    flow: Flow, source: Source, transition: Transition, path: Path
) -> Iterator[Finding]:
    if transition.dest is not None and transition.dest not in flow.states:
        message, remedy = (
            f"state {transition.dest!r} is not declared",
            near(transition.dest, flow.states),
        )
        yield source.at((*path, "dest"), message, remedy, code="unknown-state")
    for field, names in (("conditions", transition.conditions), ("unless", transition.unless)):
        yield from _unknown(source, (*path, field), "fact", names, flow.facts)
    yield from _unknown(source, (*path, "actions"), "action", transition.actions, flow.actions)
    for fact in set(transition.conditions) & set(transition.unless):
        message = f"fact {fact!r} must be true and false at once"
        yield source.at_key((*path, "unless"), message, "keep one", code="contradiction")


def _properties(flow: Flow, source: Source) -> Iterator[Finding]:
    kinds: dict[str, tuple[Never | Always, ...]] = {
        "never": flow.properties.never,
        "always": flow.properties.always,
    }
    for kind, items in kinds.items():
        for index, item in enumerate(items):
            path: Path = ("properties", kind, index)
            for field, names in (("when", item.when), ("unless", item.unless)):
                yield from _unknown(source, (*path, field), "fact", names, flow.facts)
            yield from _one(source, (*path, "state"), "state", item.state, flow.states)
            action = getattr(item, "action", None)
            yield from _one(source, (*path, "action"), "action", action, flow.actions)
    for index, leads in enumerate(flow.properties.leads_to):
        path = ("properties", "leads_to", index)
        for field, state in (("from", leads.from_), ("to", leads.to)):
            yield from _one(source, (*path, field), "state", state, flow.states)
        yield from _one(source, (*path, "within"), "timer", leads.within, flow.timers)


def _one(
    source: Source, path: Path, what: str, name: str | None, known: Iterable[str]
) -> Iterator[Finding]:
    names = set(known)
    if name is not None and name not in names:
        message = f"{what} {name!r} is not declared"
        yield source.at(path, message, near(name, names), code=f"unknown-{what}")
