"""Finds contradictions, parts without effect, and impossible values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from turnfsm.fsm.agenda.settlement import COLUMNS, ROWS
from turnfsm.fsm.bounds import BOUNDS
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, near, quoted
from turnfsm.fsm.expect import problems_of
from turnfsm.fsm.flow import NEVER, OUTAGE_TIMERS, Flow, Names, Row, State, Transition, Tuning
from turnfsm.fsm.sound import read_sound
from turnfsm.fsm.source import Path, Source

from .endless import check_endless
from .written import HOST

__all__ = ["check_rules"]


def check_migrates(flow: Flow, source: Source) -> Iterator[Finding]:
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


def check_agenda(flow: Flow, source: Source) -> Iterator[Finding]:
    settle = flow.agenda.settle
    yield from _unknown(flow, source)
    if not settle:
        return
    if rows := [row for row in ROWS if row not in settle]:
        message = f"the agenda has no row for {_listed(rows)}"
        remedy = "add them, or write 'extends: turn', which has them"
        yield source.at_key(("agenda", "settle"), message, remedy, code="missing-cell")
    for row, cells in settle.items():
        if row in ROWS and (columns := [column for column in COLUMNS if column not in cells]):
            message = f"row {quoted(row)} of the agenda lacks {_listed(columns)}"
            remedy = (
                "say what becomes of each: open, with_next, with_turn, retry, delivered or dropped"
            )
            yield source.at_key(("agenda", "settle", row), message, remedy, code="missing-cell")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _unknown(flow: Flow, source: Source) -> Iterator[Finding]:
    for row, cells in flow.agenda.settle.items():
        path: Path = ("agenda", "settle", row)
        if row not in ROWS:
            message = f"replies do not end in a way that is called {quoted(row)}"
            yield source.at_key(path, message, near(row, ROWS), code="unknown-cell")
        for column in cells:
            if column not in COLUMNS:
                message = f"{quoted(column)} is no kind of claim"
                remedy = near(column, COLUMNS)
                yield source.at_key((*path, column), message, remedy, code="unknown-cell")


_RESERVED = {"session", "state", HOST}
_LONGEST = 86_400
_SECTIONS = ("states", "triggers", "facts", "timers", "actions", "scopes")
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
    remedy = "use letters, digits, '_' and '-', a letter first"
    if not _is_word(flow.name):
        message = f"{quoted(flow.name)} is not a valid name"
        yield source.at(("flow",), message, remedy, code="name")
    for section in _SECTIONS:
        for name in getattr(flow, section):
            if not _is_word(name):
                message = f"{quoted(name)} is not a valid name"
                yield source.at_key((section, name), message, remedy, code="name")


def _kind(flow: Flow, source: Source) -> Iterator[Finding]:
    if flow.turn_detection is not None and flow.kind != "turn":
        message = "turn_detection is about the user's turns, and this flow is not of kind 'turn'"
        remedy = "add 'kind: turn', or remove it"
        yield source.at_key(("turn_detection",), message, remedy, code="contradiction")


def _is_word(name: str) -> bool:
    return name.replace("-", "_").isidentifier() and not name.startswith("-") and len(name) <= 100


def _states(flow: Flow, source: Source) -> Iterator[Finding]:
    if not flow.states:
        message, remedy = "a flow needs at least one state", "add 'NAME: {is: ...}' below 'states'"
        yield source.at_key(("states",), message, remedy, code="no-state")
    for name, state in flow.states.items():
        yield from _state(name, state, source)
        where: Path = ("states", name, "tuning")
        yield from _tuning(f"state {quoted(name)}", state.tuning, where, source)
    for name, tuning in flow.tools.tuning.items():
        where = ("tools", "tuning", name)
        yield from _tuning(f"tool {quoted(name)}", tuning, where, source)


def _state(name: str, state: State, source: Source) -> Iterator[Finding]:
    path: Path = ("states", name)
    if state.final and (state.on or state.after):
        message = f"state {quoted(name)} is final, yet it declares transitions"
        remedy = "remove 'final' or the transitions"
        yield source.at_key((*path, "final"), message, remedy, code="contradiction")


def _tuning(owner: str, tuning: Tuning, path: Path, source: Source) -> Iterator[Finding]:
    for field in attrs.fields(Tuning):
        value = getattr(tuning, field.name)
        if isinstance(value, int | float) and not 0 <= value < _LONGEST:
            message = f"{field.name} is {value:g} in {owner}"
            remedy = f"write a number from 0 to below {_LONGEST}"
            yield source.at((*path, field.name), message, remedy, code="range")
    if (expected := tuning.expect) is not None:
        whole: Path = (*path, "expect")
        for problem in problems_of(expected):
            at = source.at_key if problem.missing else source.at
            where = whole if problem.missing else (*whole, problem.key)
            yield at(where, problem.message, problem.remedy, code=problem.code)


def _facts(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, fact in flow.facts.items():
        path: Path = ("facts", name)
        for index, trigger in enumerate(fact.cleared_by):
            if trigger in fact.set_by:
                message = f"fact {quoted(name)} is set and cleared by {quoted(trigger)}"
                where = (*path, "cleared_by", index)
                yield source.at(where, message, "keep one of them", code="contradiction")
        if not fact.host and not fact.set_by:
            remedy = f"add 'set_by: TRIGGER', or list it below '{HOST}:'"
            message = f"fact {quoted(name)} is never set"
            yield source.at_key(path, message, remedy, code="never-set")


def _actions(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, action in flow.actions.items():
        if action.audible and action.owner == "state":
            message = f"action {quoted(name)} says a text, and the state ends when it is said"
            path: Path = ("actions", name, "owner")
            remedy = "remove 'owner', or name a scope"
            yield source.at_key(path, message, remedy, code="contradiction")
        sound: Path = ("actions", name, "audio")
        if action.say and action.audio:
            message = "an action either says a text or plays a sound"
            yield source.at_key(sound, message, "remove 'say' or 'audio'", code="contradiction")
        elif action.audio:
            try:
                read_sound(source.beside(sound, action.audio))
            except ValueError as exc:
                message = f"{quoted(action.audio)} cannot be played"
                yield source.at(sound, message, str(exc), code="audio")
        if not (action.audible or action.interruptible):
            message = f"action {quoted(name)} says no text that could be interrupted"
            where: Path = ("actions", name, "interruptible")
            remedy = "add 'say: TEXT', or remove 'interruptible'"
            yield source.at_key(where, message, remedy, code="contradiction")


def _triggers(flow: Flow, source: Source) -> Iterator[Finding]:
    for name in flow.triggers:
        if name in flow.timers:
            message = f"{quoted(name)} is a trigger and a timer"
            path: Path = ("triggers", name)
            yield source.at_key(path, message, "rename one of them", code="contradiction")


def _timers(flow: Flow, source: Source) -> Iterator[Finding]:
    used = {row.trigger for row in flow.rows() if row.timer}
    used |= {leads.within for leads in flow.properties.leads_to if leads.within}
    for name, seconds in flow.timers.items():
        path: Path = ("timers", name)
        yield from _range(path, name, seconds, source)
        # A variant that removes a state need not remove the state's timers.
        elsewhere = flow.kind == "turn" and name in OUTAGE_TIMERS
        if not (name in used or elsewhere or source.inherited(path)):
            meant = closest(name, (other for other in flow.timers if other != name))
            remedy = f"add 'after: {{{name}: ...}}' to a state, or remove it"
            remedy = f"did you mean {meant!r}?" if meant else remedy
            message = f"timer {quoted(name)} is used by no state"
            yield source.at_key(path, message, remedy, code="unused")


def _tools(flow: Flow, source: Source) -> Iterator[Finding]:
    for limit in ("objection_limit", "recover_limit"):
        yield from _range(("tools", limit), limit, getattr(flow.tools, limit), source)


def _bounds(flow: Flow, source: Source) -> Iterator[Finding]:
    silence = flow.properties.no_silence_longer_than
    bounds: dict[Path, float] = {("bounds", name): s for name, s in flow.bounds.items()}
    if silence is not None:
        bounds["properties", "no_silence_longer_than"] = silence
    for path, seconds in bounds.items():
        name = str(path[1])
        if path[0] == "bounds" and name not in BOUNDS:
            message = f"there is no bound {quoted(name)}"
            yield source.at_key(path, message, near(name, BOUNDS), code="unknown-bound")
        elif flow.kind != "turn":
            key = path[0] if path[0] == "bounds" else name
            message = "only a flow of kind turn has bounds"
            remedy = f"write 'kind: turn', or remove '{key}'"
            where = path[:1] if path[0] == "bounds" else path
            yield source.at_key(where, message, remedy, code="contradiction")
            return
        if not 0 < seconds < _LONGEST:
            message = f"bound {quoted(name)} is {seconds:g} s"
            remedy = f"write seconds above 0 and below {_LONGEST}"
            yield source.at(path, message, remedy, code="range")


def _range(path: Path, timer: str, seconds: float, source: Source) -> Iterator[Finding]:
    if seconds != NEVER and not 0 < seconds < _LONGEST:
        message = f"timer {quoted(timer)} takes {seconds:g} s"
        remedy = f"write seconds above 0 and below {_LONGEST}"
        yield source.at(path, message, remedy, code="range")


def _limits(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, seconds in flow.limit_sets.items():
        for timer, value in seconds.items():
            yield from _range(("limit_sets", name, timer), timer, value, source)
    if flow.limits is not None and flow.limits not in flow.limit_sets:
        message = f"there is no set of limits {quoted(flow.limits)}"
        remedy = near(flow.limits, flow.limit_sets)
        yield source.at(("limits",), message, remedy, code="unknown-limits")


def _scopes(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, scope in flow.scopes.items():
        path: Path = ("scopes", name)
        if not scope.begins:
            message = f"scope {quoted(name)} never begins"
            yield source.at_key(path, message, "add 'begins: TRIGGER'", code="no-begin")
        if name in _RESERVED:
            message = f"{quoted(name)} already means something else to every flow"
            yield source.at_key(path, message, "rename it", code="contradiction")


def _transitions(flow: Flow, source: Source) -> Iterator[Finding]:
    for row in flow.rows():
        body: Transition = row.transition
        where = (*row.path, "unless")
        yield from _both(body.conditions, body.unless, where, source)
        yield from _restarts(flow, row, source)


def _restarts(flow: Flow, row: Row, source: Source) -> Iterator[Finding]:
    if not row.internal and not {*row.transition.restarts} <= {*flow.lasting}:
        message = "a transition with 'dest' starts every timer, and 'restarts' names some"
        remedy = "remove 'dest' or 'restarts'; with 'dest' it names timers that are 'lasting'"
        yield source.at_key((*row.path, "restarts"), message, remedy, code="contradiction")
    # A variant that removes a timer need not change the transitions that restart it.
    for index, timer in enumerate(() if source.inherited(row.path) else row.transition.restarts):
        if timer in flow.timers and timer not in flow.states[row.source].after:
            message = f"timer {quoted(timer)} does not run in state {quoted(row.source)}"
            remedy = f"add 'after: {{{timer}: ...}}' to it, or remove the timer here"
            yield source.at((*row.path, "restarts", index), message, remedy, code="unknown-timer")


def _both(true: Names, false: Names, path: Path, source: Source) -> Iterator[Finding]:
    for index, fact in enumerate(false):
        if fact in true:
            message = f"fact {quoted(fact)} must be true and false at once"
            yield source.at((*path, index), message, "keep one of them", code="contradiction")


def _properties(flow: Flow, source: Source) -> Iterator[Finding]:
    seen: set[str] = set()
    for kind in _PROPERTIES:
        for item in getattr(flow.properties, kind):
            path: Path = ("properties", kind, item.name)
            if item.name in seen:
                message = f"property {quoted(item.name)} is declared twice"
                yield source.at_key(path, message, "rename one of them", code="repeated")
            seen.add(item.name)
            if kind != "leads_to":
                yield from _both(item.when, item.unless, (*path, "unless"), source)
            if not _is_word(item.name):
                message, remedy = f"{quoted(item.name)} is not a valid name", "write_it_like_this"
                yield source.at_key(path, message, remedy, code="name")
    yield from _never(flow, source)


def _never(flow: Flow, source: Source) -> Iterator[Finding]:
    for item in flow.properties.never:
        if item.action is None and item.state is None:
            message = f"property {quoted(item.name)} names neither an action nor a state"
            path: Path = ("properties", "never", item.name)
            yield source.at_key(
                path, message, "add 'action: ...' or 'state: ...'", code="missing-key"
            )
    for name, reason in flow.properties.waived.items():
        if not reason.strip():
            message = f"property {quoted(name)} is waived without a reason"
            where: Path = ("properties", "waived", name)
            yield source.at_key(where, message, "say why: the report repeats it", code="no-reason")
