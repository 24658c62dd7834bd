"""Finds contradictions, parts without effect, and impossible values."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.agenda.settlement import COLUMNS, ROWS
from turnfsm.fsm.bounds import BOUNDS
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, did_you_mean, near
from turnfsm.fsm.expect import Expectation, problems_of
from turnfsm.fsm.flow import NEVER, OUTAGE_TIMERS, Flow, Names, Row, Tuning
from turnfsm.fsm.problems import problem
from turnfsm.fsm.sound import read_sound
from turnfsm.fsm.source import Path, Source

from .endless import check_endless
from .written import HOST, LONGEST

__all__ = ["check_rules"]


def check_migrates(flow: Flow, source: Source) -> Iterator[Finding]:
    for index, name in enumerate(flow.migrates.flow):
        if name == flow.name:
            path: Path = ("migrates", "flow", index)
            yield problem(source, path, "contradiction.own_name", name=name)
    tools = flow.migrates.tools
    for old, now in tools.items():
        path = ("migrates", "tools", old)
        if now in tools:
            later = tools[now]
            instead = (
                f"write {old}: {later}" if later not in (old, now) else "keep one of the names"
            )
            yield problem(source, path, "contradiction.renamed_twice", name=now, instead=instead)
        elif old in flow.named_tools and old not in tools.values():
            yield problem(source, path, "contradiction.still_named", old=old, now=now)


def check_agenda(flow: Flow, source: Source) -> Iterator[Finding]:
    settle = flow.agenda.settle
    for row, cells in settle.items():
        path: Path = ("agenda", "settle", row)
        if row not in ROWS:
            yield problem(source, path, "unknown-cell.row", name=row, near=near(row, ROWS))
        for name in cells:
            if name not in COLUMNS:
                hint = near(name, COLUMNS)
                yield problem(source, (*path, name), "unknown-cell.column", name=name, near=hint)
        if row in ROWS and (lacking := [name for name in COLUMNS if name not in cells]):
            names = ", ".join(lacking)
            yield problem(source, path, "missing-cell.columns", row=row, names=names)
    if settle and (rows := [row for row in ROWS if row not in settle]):
        yield problem(source, ("agenda", "settle"), "missing-cell.rows", names=", ".join(rows))


_RESERVED = {"session", "state", HOST}
_SECTIONS = (
    "states",
    "triggers",
    "facts",
    "timers",
    "actions",
    "scopes",
    "limit_sets",
    "questions",
)
_PROPERTIES = ("never", "always", "leads_to")


def check_rules(flow: Flow, source: Source) -> Iterator[Finding]:
    """The problems of a flow besides undeclared names."""
    checks = (
        _spelling,
        _kind,
        _states,
        _facts,
        _actions,
        _triggers,
        _timers,
        _tools,
        _limits,
        _bounds,
        _scopes,
        _transitions,
        _properties,
        check_endless,
        check_agenda,
        check_migrates,
    )
    for check in checks:
        yield from check(flow, source)


def _spelling(flow: Flow, source: Source) -> Iterator[Finding]:
    if not _is_word(flow.name):
        yield problem(source, ("flow",), "name.of_flow", name=flow.name)
    for section in _SECTIONS:
        for name in getattr(flow, section):
            if not _is_word(name):
                yield problem(source, (section, name), "name.of_part", name=name)


def _kind(flow: Flow, source: Source) -> Iterator[Finding]:
    if flow.turn_detection is not None and flow.kind != "turn":
        yield problem(source, ("turn_detection",), "contradiction.turns")


def _is_word(name: str) -> bool:
    return name.replace("-", "_").isidentifier() and not name.startswith("-") and len(name) <= 100


def _states(flow: Flow, source: Source) -> Iterator[Finding]:
    if not flow.states:
        yield problem(source, ("states",), "no-state.none")
    for name, state in flow.states.items():
        path: Path = ("states", name)
        if state.final and (state.on or state.after):
            yield problem(source, (*path, "final"), "contradiction.final", name=name)
    for kind, name, tuning, place in flow.tunings:
        yield from _tuning(kind, name, tuning, place, source)
    for name, question in flow.questions.items():
        yield from _expectation(question, ("questions", name), source)
        if question.tuning.expect is not None:
            where: Path = ("questions", name, "tuning", "expect")
            yield problem(source, where, "contradiction.question_expects", name=name)


def _tuning(kind: str, owner: str, tuning: Tuning, path: Path, source: Source) -> Iterator[Finding]:
    for field in attrs.fields(Tuning):
        value = getattr(tuning, field.name)
        here: Path = (*path, field.name)
        checked = _of_section(here, source) or not isinstance(value, int | float)
        if not (checked or 0 <= value < LONGEST):
            given = {"field": field.name, "value": value, "kind": kind, "owner": owner}
            yield problem(source, here, "range.tuning", **given, most=LONGEST)
    if tuning.expect is not None:
        yield from _expectation(tuning.expect, (*path, "expect"), source)


def _expectation(expected: Expectation, path: Path, source: Source) -> Iterator[Finding]:
    for wrong in problems_of(expected):
        at = source.at_key if wrong.missing else source.at
        where = path if wrong.missing else (*path, wrong.key)
        yield at(where, wrong.message, wrong.remedy, code=wrong.code)


def _facts(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, fact in flow.facts.items():
        path: Path = ("facts", name)
        for index, trigger in enumerate(fact.cleared_by):
            if trigger in fact.set_by:
                where = (*path, "cleared_by", index)
                code = "contradiction.set_and_cleared"
                yield problem(source, where, code, name=name, trigger=trigger)
        if not fact.host and not fact.set_by:
            yield problem(source, path, "never-set.fact", name=name)


def _actions(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, action in flow.actions.items():
        path: Path = ("actions", name)
        sound: Path = (*path, "audio")
        if action.audible and action.owner == "state":
            yield problem(source, (*path, "owner"), "contradiction.owned_by_state", name=name)
        if action.say and action.audio:
            yield problem(source, sound, "contradiction.text_and_sound")
        elif action.audio:
            try:
                read_sound(source.beside(sound, action.audio))
            except ValueError as exc:
                yield problem(source, sound, "audio.file", file=action.audio, why=exc)
        if not (action.audible or action.interruptible):
            where = (*path, "interruptible")
            yield problem(source, where, "contradiction.nothing_to_interrupt", name=name)


def _triggers(flow: Flow, source: Source) -> Iterator[Finding]:
    for name in flow.triggers:
        if name in flow.timers:
            yield problem(source, ("triggers", name), "contradiction.trigger_and_timer", name=name)


def _timers(flow: Flow, source: Source) -> Iterator[Finding]:
    used = {row.trigger for row in flow.rows() if row.timer}
    used |= {leads.within for leads in flow.properties.leads_to if leads.within}
    limits = flow.limit_sets.get(flow.limits or "", {})
    for name, seconds in flow.timers.items():
        path: Path = ("timers", name)
        if seconds != limits.get(name):  # otherwise `_limits` checks it
            yield from _range(path, name, seconds, source)
        # A variant that removes a state need not remove the state's timers.
        elsewhere = flow.kind == "turn" and name in OUTAGE_TIMERS
        if not (name in used or elsewhere or source.inherited(path)):
            meant = closest(name, (other for other in flow.timers if other != name))
            instead = f"add 'after: {{{name}: ...}}' to a state, or remove it"
            instead = did_you_mean(name, meant) if meant else instead
            yield problem(source, path, "unused.timer", name=name, instead=instead)


def _tools(flow: Flow, source: Source) -> Iterator[Finding]:
    for limit in ("objection_limit", "recover_limit"):
        yield from _range(("tools", limit), limit, getattr(flow.tools, limit), source)


def _bounds(flow: Flow, source: Source) -> Iterator[Finding]:
    silence = flow.properties.no_silence_longer_than
    bounds: dict[Path, float] = {("bounds", name): s for name, s in flow.bounds.items()}
    if silence is not None:
        bounds["properties", "no_silence_longer_than"] = silence
    for path, seconds in bounds.items():
        name, declared = str(path[1]), path[0] == "bounds"
        if declared and name not in BOUNDS:
            yield problem(source, path, "unknown-bound.name", name=name, near=near(name, BOUNDS))
        elif flow.kind != "turn":
            where, key = (path[:1], path[0]) if declared else (path, name)
            yield problem(source, where, "contradiction.bounds", key=key)
            return
        if not (0 < seconds < LONGEST or _of_section(path, source)):
            yield problem(source, path, "range.bound", name=name, seconds=seconds, most=LONGEST)


def _range(path: Path, timer: str, seconds: float, source: Source) -> Iterator[Finding]:
    if not (seconds == NEVER or 0 < seconds < LONGEST or _of_section(path, source)):
        yield problem(source, path, "range.timer", name=timer, seconds=seconds, most=LONGEST)


def _of_section(path: Path, source: Source) -> bool:
    """Whether a section gives the seconds: `check_sections` checks them where they are written."""
    return source.path(path)[0] != path[0]


def _limits(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, seconds in flow.limit_sets.items():
        for timer, value in seconds.items():
            yield from _range(("limit_sets", name, timer), timer, value, source)
    if flow.limits is not None and flow.limits not in flow.limit_sets:
        named = {"name": flow.limits, "near": near(flow.limits, flow.limit_sets)}
        yield problem(source, ("limits",), "unknown-limits.name", **named)


def _scopes(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, scope in flow.scopes.items():
        if not scope.begins:
            yield problem(source, ("scopes", name), "no-begin.scope", name=name)
        if name in _RESERVED:
            yield problem(source, ("scopes", name), "contradiction.reserved", name=name)


def _transitions(flow: Flow, source: Source) -> Iterator[Finding]:
    for row in flow.rows():
        body = row.transition
        yield from _both(body.conditions, body.unless, (*row.path, "unless"), source)
        yield from _restarts(flow, row, source)


def _restarts(flow: Flow, row: Row, source: Source) -> Iterator[Finding]:
    path: Path = (*row.path, "restarts")
    if not row.internal and not {*row.transition.restarts} <= {*flow.lasting}:
        yield problem(source, path, "contradiction.restarts")
    # A variant that removes a timer need not change the transitions that restart it.
    for index, timer in enumerate(() if source.inherited(row.path) else row.transition.restarts):
        if timer in flow.timers and timer not in flow.states[row.source].after:
            named = {"timer": timer, "state": row.source}
            yield problem(source, (*path, index), "unknown-timer.in_state", **named)


def _both(true: Names, false: Names, path: Path, source: Source) -> Iterator[Finding]:
    for index, fact in enumerate(false):
        if fact in true:
            yield problem(source, (*path, index), "contradiction.true_and_false", name=fact)


def _properties(flow: Flow, source: Source) -> Iterator[Finding]:
    seen: set[str] = set()
    for kind in _PROPERTIES:
        for item in getattr(flow.properties, kind):
            path: Path = ("properties", kind, item.name)
            if item.name in seen:
                yield problem(source, path, "repeated.property", name=item.name)
            seen.add(item.name)
            if kind != "leads_to":
                yield from _both(item.when, item.unless, (*path, "unless"), source)
            if not _is_word(item.name):
                yield problem(source, path, "name.of_property", name=item.name)
    for name, reason in flow.properties.waived.items():
        if not reason.strip():
            where: Path = ("properties", "waived", name)
            yield problem(source, where, "no-reason.waived", name=name)
