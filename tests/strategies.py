"""Random valid flows for hypothesis, and YAML text from a Flow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

import attrs
import yaml
from flow_tree import flow_tree
from hypothesis import strategies as st

from turnfsm.fsm.flow import (
    Action,
    Always,
    Fact,
    Flow,
    LeadsTo,
    Never,
    Properties,
    Scope,
    State,
    Transition,
    Trigger,
)

__all__ = ["flow_to_yaml", "flows"]

MAX_ALTERNATIVES = 4

_TEXTS = st.sampled_from(
    ["", "It happened.", "Why: because, said 'it'.", "1e5", "true", "Ärger #1"]
)


def _names(prefix: str, least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.integers(least, most).map(lambda n: [f"{prefix}{i}" for i in range(n)])


def _some(names: Sequence[str], most: int = 3) -> st.SearchStrategy[tuple[str, ...]]:
    """Up to `most` of these names, each once."""
    if not names:
        return st.just(())
    return st.lists(st.sampled_from(names), max_size=most, unique=True).map(tuple)


def _at_least_one(names: Sequence[str], most: int = 2) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True).map(tuple)


Guard = tuple[tuple[str, ...], tuple[str, ...]]


def _guards(facts: Sequence[str]) -> st.SearchStrategy[Guard]:
    """Facts that must be true and facts that must be false; never the same one."""
    if not facts:
        return st.just(((), ()))
    literals = st.sampled_from([(fact, wanted) for fact in facts for wanted in (True, False)])
    return st.lists(literals, max_size=3, unique_by=lambda literal: literal[0]).map(_split)


def _split(literals: list[tuple[str, bool]]) -> Guard:
    true = tuple(fact for fact, wanted in literals if wanted)
    return true, tuple(fact for fact, wanted in literals if not wanted)


@st.composite
def _own_fact(draw: st.DrawFn, triggers: Sequence[str], scopes: Sequence[str]) -> Fact:
    set_by = draw(_at_least_one(triggers))
    cleared_by = draw(_some([t for t in triggers if t not in set_by], 2))
    scope = draw(st.sampled_from(["session", *scopes]))
    return Fact(scope=scope, set_by=set_by, cleared_by=cleared_by, is_=draw(_TEXTS))


@st.composite
def _facts(draw: st.DrawFn, triggers: Sequence[str], scopes: Sequence[str]) -> dict[str, Fact]:
    own = {name: draw(_own_fact(triggers, scopes)) for name in draw(_names("fact", 0, 5))}
    host = {name: Fact(host=True, is_=draw(_TEXTS)) for name in draw(_names("host", 0, 3))}
    return own | host


def _without(fact: Fact, gone: Set[str], instead: str) -> Fact:
    """The fact without the timers that are not declared after all."""
    if fact.host:
        return fact
    set_by = tuple(t for t in fact.set_by if t not in gone) or (instead,)
    cleared_by = tuple(t for t in fact.cleared_by if t not in {*gone, *set_by})
    return attrs.evolve(fact, set_by=set_by, cleared_by=cleared_by)


@st.composite
def _triggers(draw: st.DrawFn, names: Sequence[str], scopes: Sequence[str]) -> dict[str, Trigger]:
    kinds = st.sampled_from(["request", "event"])
    fences = st.sampled_from([None, None, *scopes])
    return {n: Trigger(is_=draw(_TEXTS), kind=draw(kinds), of=draw(fences)) for n in names}


@st.composite
def _actions(draw: st.DrawFn, triggers: Sequence[str], scopes: Sequence[str]) -> dict[str, Action]:
    owners = st.sampled_from(["session", "state", *scopes])
    ends = st.sampled_from([None, None, *triggers])
    names = draw(_names("act", 0, 4))
    return {
        n: Action(draw(_TEXTS), draw(owners), done=draw(ends), failed=draw(ends)) for n in names
    }


def _transition(
    states: Sequence[str], facts: Sequence[str], actions: Sequence[str]
) -> st.SearchStrategy[Transition]:
    dest = st.sampled_from([None, *states])
    parts = st.tuples(dest, _guards(facts), _some(actions, 2))
    return parts.map(lambda p: Transition(p[0], *p[1], p[2]))


@st.composite
def _states(
    draw: st.DrawFn,
    states: Sequence[str],
    declared: Mapping[str, Trigger],
    timers: Sequence[str],
    transition: st.SearchStrategy[Transition],
    most: int,
) -> dict[str, State]:
    triggers = tuple(declared)
    events = [name for name, body in declared.items() if body.kind == "event"]
    place = st.tuples(st.sampled_from(states), st.sampled_from([*triggers, *timers]))
    final = {s for s in states[1:] if draw(st.integers(0, 9)) == 9}
    tables: dict[tuple[str, str], list[Transition]] = {}
    # The size is drawn first: lists of open size are nearly always short.
    size = draw(st.integers(0, most))
    for where, row in draw(st.lists(st.tuples(place, transition), min_size=size, max_size=size)):
        rows = tables.setdefault(where, [])
        if where[0] not in final and len(rows) < MAX_ALTERNATIVES:
            rows.append(row)
    tables = {where: rows for where, rows in tables.items() if rows}

    def table(state: str, known: Sequence[str]) -> dict[str, tuple[Transition, ...]]:
        return {t: tuple(rows) for (s, t), rows in tables.items() if s == state and t in known}

    return {
        name: State(
            is_=draw(_TEXTS),
            on=table(name, triggers),
            after=table(name, timers),
            ignores=draw(_some([t for t in events if (name, t) not in tables], 2)),
            final=name in final,
        )
        for name in states
    }


@st.composite
def _properties(
    draw: st.DrawFn,
    states: Sequence[str],
    facts: Sequence[str],
    actions: Sequence[str],
    timers: Sequence[str],
) -> Properties:
    held = st.sampled_from([None, *states])
    done = st.sampled_from([None, *actions])
    state = st.sampled_from(states)
    never, always, leads_to = [], [], []
    for name in draw(_names("never", 0, 2)):
        when, unless = draw(_guards(facts))
        never.append(Never(draw(done), draw(held), when, unless, draw(_TEXTS), name=name))
    for name in draw(_names("always", 0, 2)):
        when, unless = draw(_guards(facts))
        always.append(Always(draw(state), when, unless, draw(_TEXTS), name=name))
    within = st.sampled_from([None, *timers])
    for name in draw(_names("leads", 0, 2)):
        leads_to.append(
            LeadsTo(draw(state), draw(state), draw(within), because=draw(_TEXTS), name=name)
        )
    # A `never` that names neither an action nor a state nor a fact would forbid everything.
    never = [n for n in never if n.action or n.state]
    return Properties(tuple(never), tuple(always), tuple(leads_to))


@st.composite
def flows(
    draw: st.DrawFn, max_states: int = 12, max_transitions: int = 60, properties: bool = True
) -> Flow:
    """A valid flow; `parse_flow(flow_to_yaml(flow))` has no findings and loads an equal one."""
    states = draw(_names("state", 1, max_states))
    triggers = draw(_names("event", 1, 8))
    scopes = draw(_names("scope", 0, 2))
    timers = draw(_names("timer", 0, 3))
    facts = draw(_facts((*triggers, *timers), scopes))
    actions = draw(_actions(triggers, scopes))
    transition = _transition(states, tuple(facts), tuple(actions))
    declared = draw(_triggers(triggers, scopes))
    bodies = draw(_states(states, declared, timers, transition, max_transitions))
    # The loader refuses a timer that no state has.
    used = [t for t in timers if any(t in body.after for body in bodies.values())]
    facts = {n: _without(fact, {*timers} - {*used}, triggers[0]) for n, fact in facts.items()}
    seconds = st.sampled_from([0.05, 0.5, 1.0, 2.5, 60.0])
    held = _properties(states, tuple(facts), tuple(actions), used)
    return Flow(
        name="random",
        initial=states[0],
        states=bodies,
        is_=draw(_TEXTS),
        scopes={s: Scope(draw(_at_least_one(triggers)), draw(_some(triggers, 2))) for s in scopes},
        triggers=declared,
        facts=facts,
        timers={t: draw(seconds) for t in used},
        actions=actions,
        properties=draw(held) if properties else Properties(),
    )


class _Dumper(yaml.SafeDumper):
    """Quotes whatever is not a plain word: YAML 1.1 and 1.2 read those differently."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    word = re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) and text not in {"true", "false", "null"}
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="" if word else '"')


_Dumper.add_representer(str, _text)


def flow_to_yaml(flow: Flow) -> str:
    """YAML text that `parse_flow` loads to an equal flow, in the same order."""
    return yaml.dump(
        flow_tree(flow), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
