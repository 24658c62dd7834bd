"""Writes a flow as Promela: Spin then checks the declared properties a second time.

The environment is the most general one: the process ``events`` may deliver any trigger, or none
forever, and every timer is a process of its own. At each decision a host fact may have any value.
Under weak fairness (``pan -f``) only a timer that stays enabled must fire; an event need not come.
When ``quiet`` is true, no more events come and host facts do not change: timers alone must then
reach the goal of a property, however long they take. Times are abstracted away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import attrs

from turnfsm.fsm.check.turn_rules import table
from turnfsm.fsm.errors import FlowError
from turnfsm.fsm.flow import Always, Flow, LeadsTo, Names, Never, Properties, Row
from turnfsm.fsm.program import compile_flow

from .updates import update_of

__all__ = ["claims", "to_promela", "with_turn_claims"]


_SETTLES = LeadsTo("interrupted", "listening", "settle", name="an_interruption_settles")


def with_turn_claims(flow: Flow) -> Properties:
    """The properties that a flow declares; for a turn also built-in ones that it could declare.

    The latter are weaker than the checker's, because they refer to the facts of the flow.
    """
    held = flow.properties
    if flow.kind != "turn":
        return held
    said = {*held.waived, *(p.name for p in held.leads_to)}
    said |= {p.name for p in held.never} | {p.name for p in held.always}
    never = tuple(
        body
        for body in _never(flow)
        if body.name not in said and body.action in flow.actions
        if {*body.when, *body.unless} <= {*flow.facts}
    )
    settles = {"interrupted", "listening"} <= {*flow.states} and "settle" in flow.timers
    leads = (_SETTLES,) if settles and _SETTLES.name not in said else ()
    return attrs.evolve(held, never=(*held.never, *never), leads_to=(*held.leads_to, *leads))


def _never(flow: Flow) -> Iterator[Never]:
    """Without the host fact `user_silent`, the user is never silent within a turn."""
    unasked = {"user_silent"} - {*flow.host_facts}
    for name, rows in table()["rules"].items():
        for row in rows:
            if action := row.get("claim"):
                when, unless = (
                    [f.strip("~!") for f in row.get(key, "").split()] for key in ("when", "unless")
                )
                unless = [fact for fact in unless if fact not in unasked]
                yield Never(action, when=tuple(when), unless=tuple(unless), name=name)


def claims(flow: Flow, properties: Properties | None = None) -> dict[str, bool]:
    """The names of the LTL formulas in a flow's Promela; True where fairness is needed."""
    held = with_turn_claims(flow) if properties is None else properties
    safe = [n.name for n in held.never] + [a.name for a in held.always]
    return dict.fromkeys(safe, False) | dict.fromkeys((p.name for p in held.leads_to), True)


def to_promela(flow: Flow, properties: Properties | None = None) -> str:
    """The flow and its properties, or others in their place, as a model for Spin 6.5.

    Each step prints the row that was taken, so that a trail reads as a path through the flow.

    Raises:
        FlowError: Two names become one as an identifier of Promela.
    """
    return _Writer(flow, with_turn_claims(flow) if properties is None else properties).text()


class _Writer:
    def __init__(self, flow: Flow, properties: Properties) -> None:
        self.flow, self.properties = flow, properties
        self.program = compile_flow(flow)
        self.scopes = dict.fromkeys(self.program.compared.values())
        self.effects = [n for n, action in flow.actions.items() if action.done or action.failed]
        self.judged = [never for never in properties.never if never.action]
        self.word = _words(flow, properties)
        self.frozen = self._frozen()

    def text(self) -> str:
        parts = (self._header(), self._events(), self._effects(), self._timers())
        return "\n".join(line for part in (*parts, self._formulas()) for line in part) + "\n"

    def _header(self) -> Iterator[str]:
        yield f"/* flow {self.word[self.flow.name]} */"
        names = ", ".join(self._state(name) for name in self.flow.states)
        yield f"mtype = {{ {names} }};"
        yield f"mtype state = {self._state(self.flow.initial)};"
        yield "bool quiet = false;"
        flags = [
            *(self._fact(fact) for fact in self.flow.facts),
            *(self._scope(scope) for scope in self.scopes),
            *(self._under_way(action) for action in self.effects),
            *(self._broken(never) for never in self.judged),
        ]
        yield from (f"bool {flag} = false;" for flag in flags)

    def _frozen(self) -> list[str]:
        """The host facts that matter once `quiet` is true: those that timers and effects read."""
        bodies = [self.flow.actions[action] for action in self.effects]
        late = {*self.flow.timers, *(t for body in bodies for t in (body.done, body.failed))}
        read = {f for row in self.flow.rows() if row.trigger in late for f in row.transition.reads}
        return [fact for fact in self.flow.host_facts if fact in read]

    def _events(self) -> Iterator[str]:
        stop = [f"{self._under_way(action)} = true" for action in self.effects]
        stop += [self._choose(fact) for fact in self.frozen]
        steps = [f"atomic {{ !quiet -> {'; '.join(['quiet = true', *stop])} }}"]
        for trigger in self.flow.triggers:
            scope = self.program.compared.get(trigger)
            open_ = "!quiet" + (f" && {self._scope(scope)}" if scope else "")
            steps += self._steps(trigger, open_)
        yield from self._process("events", steps)

    def _effects(self) -> Iterator[str]:
        """An effect that is under way may end while `quiet` is true, or never end."""
        steps: list[str] = []
        for action in self.effects:
            flag, body = self._under_way(action), self.flow.actions[action]
            for trigger in dict.fromkeys(t for t in (body.done, body.failed) if t):
                scope = self.program.compared.get(trigger)
                open_ = f"quiet && {flag}" + (f" && {self._scope(scope)}" if scope else "")
                steps += self._steps(trigger, open_, f"{flag} = false; ")
            # It may also hang: without this step, fairness would make it end.
            steps.append(f"atomic {{ quiet && {flag} -> {flag} = false }}")
        if steps:
            yield from self._process("effects", steps)

    def _timers(self) -> Iterator[str]:
        for timer in self.flow.timers:
            if steps := self._steps(timer, "true"):
                yield from self._process("timer_" + self.word[timer], steps)

    def _process(self, name: str, steps: Iterable[str]) -> Iterator[str]:
        yield f"active proctype {name}() {{"
        yield f"end_{name}: do"
        yield from (f"  :: {step}" for step in steps)
        yield "  od"
        yield "}"

    def _steps(self, trigger: str, open_: str, first: str = "") -> list[str]:
        steps = []
        changes = first or any(update_of(self.program, trigger)[:2])
        for state in self.flow.states:
            held = f"state == {self._state(state)} && {open_}"
            rows = [row for row in self.flow.rows(state) if row.trigger == trigger]
            last = ""
            if changes and trigger in self.program.facts_only(state):
                last = first + self._taken(trigger, state, None)
            if rows:
                steps.append(self._decision(held, rows, first, last))
            elif last:
                steps.append(f"atomic {{ {held} -> {last} }}")
        return steps

    def _decision(self, held: str, rows: list[Row], first: str, last: str) -> str:
        """One atomic step: the host answers, the first row whose guard holds is taken."""
        asked = self._asked(rows[0].source, rows[0].trigger)
        tries = last or "skip"
        for row in reversed(rows):
            taken = first + self._taken(row.trigger, row.source, row)
            tries = f"if :: {self._guard(row)} -> {taken} :: else -> {tries} fi"
        if not asked and last:
            return f"atomic {{ {held} -> {tries} }}"
        if not asked:
            some = " || ".join(f"({self._guard(row)})" for row in rows)
            return f"atomic {{ {held} && ({some}) -> {tries} }}"
        answer = "; ".join(self._choose(fact) for fact in asked)
        forget = "; ".join(f"{self._fact(fact)} = false" for fact in asked)
        ask, done = (f"if :: quiet :: else -> {words} fi" for words in (answer, forget))
        return f"atomic {{ {held} -> {ask}; {tries}; {done} }}"

    def _choose(self, fact: str) -> str:
        return f"if :: {self._fact(fact)} = true :: {self._fact(fact)} = false fi"

    def _guard(self, row: Row) -> str:
        return self._test(row.transition.conditions, row.transition.unless)

    def _test(self, when: Names, unless: Names) -> str:
        wanted = [self._fact(fact) for fact in when] + [f"!{self._fact(fact)}" for fact in unless]
        return " && ".join(wanted) or "true"

    def _taken(self, trigger: str, state: str, row: Row | None) -> str:
        """Update facts, scopes and state, and judge the `never` properties of the actions."""
        update = update_of(self.program, trigger)
        shown = re.sub(r'["\\%]', "_", row.id if row else f"{state}.{trigger}")
        does = [f'printf("{shown}\\n")']
        does += [f"{self._fact(fact)} = false" for fact in update.clears]
        does += [f"{self._fact(fact)} = true" for fact in update.sets]
        does += [f"{self._scope(scope)} = true" for scope in update.begins if scope in self.scopes]
        does += [f"{self._scope(scope)} = false" for scope in update.ends if scope in self.scopes]
        if row is not None:
            actions = row.transition.actions
            does += [f"{self._under_way(a)} = true" for a in actions if a in self.effects]
            does += [
                self._judge(never, row)
                for never in self.judged
                if never.action in actions and never.state in (None, row.source)
            ]
            does += [f"state = {self._state(row.dest)}"]
        return "; ".join(does)

    def _judge(self, never: Never, row: Row) -> str:
        test = self._test(*self._known(never, self._asked(row.source, row.trigger)))
        return f"if :: {test} -> {self._broken(never)} = true :: else fi"

    def _known(self, item: Never | Always, asked: Names = ()) -> tuple[Names, Names]:
        """The facts that a property reads, without host facts that the decision did not read."""
        free = {*self.flow.host_facts} - {*asked}
        when = tuple(fact for fact in item.when if fact not in free)
        return when, tuple(fact for fact in item.unless if fact not in free)

    def _asked(self, state: str, trigger: str) -> Names:
        """The host facts that decide on a trigger in a state."""
        rows = [row for row in self.flow.rows(state) if row.trigger == trigger]
        return tuple(
            f for f in self.flow.host_facts if any(f in row.transition.reads for row in rows)
        )

    def _formulas(self) -> Iterator[str]:
        for never in self.properties.never:
            held = f"state == {self._state(never.state)}" if never.state else "true"
            wrong = f"{held} && {self._test(*self._known(never))}"
            if never.action:
                wrong = self._broken(never)
            yield f"ltl {self.word[never.name]} {{ [] !({wrong}) }}"
        for always in self.properties.always:
            free = self._known(always) != (always.when, always.unless)
            test = "false" if free else self._test(always.when, always.unless)
            held = f"state == {self._state(always.state)}"
            yield f"ltl {self.word[always.name]} {{ [] (({held}) -> ({test})) }}"
        for leads in self.properties.leads_to:
            start = f"state == {self._state(leads.from_)} && quiet"
            goal = f"state == {self._state(leads.to)}"
            yield f"ltl {self.word[leads.name]} {{ [] (({start}) -> <> ({goal})) }}"

    def _state(self, name: str) -> str:
        return "S_" + self.word[name]

    def _fact(self, name: str) -> str:
        return "f_" + self.word[name]

    def _scope(self, name: str) -> str:
        return "scope_" + self.word[name]

    def _under_way(self, action: str) -> str:
        return "under_way_" + self.word[action]

    def _broken(self, never: Never) -> str:
        return "broken_" + self.word[never.name]


def _words(flow: Flow, properties: Properties) -> dict[str, str]:
    """Every name as an identifier. A property's has no prefix, so it must begin with a letter."""
    own = [*claims(flow, properties)]
    names = [*flow.states, *flow.facts, *flow.scopes, *flow.actions, *flow.timers, flow.name]
    words: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in dict.fromkeys([*names, *own]):
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        words[name] = f"p_{word}" if name in own and not word[:1].isalpha() else word
        if taken.setdefault(words[name], name) != name:
            other = taken[words[name]]
            raise FlowError(
                f"{name!r} and {other!r} become the same name in Promela; rename one of them"
            )
    return words
