"""The table of the ten properties of a turn, `turn_rules.yaml`, and the rules in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.load.yaml12 import read_table

from .maker import TESTS, about_moves, about_states
from .parts import Bits, Rule
from .turn import TRUE_FACTS, missing

__all__ = ["filled", "has", "table", "turn_rules"]

_Values = Mapping[str, str]


@cache
def table() -> Mapping[str, Any]:
    """The table: names, and for each property its rules and its waits."""
    read: Mapping[str, Any] = read_table(Path(__file__).with_suffix(".yaml"))
    return read


def has(flow: Flow, names: str) -> bool:
    """Whether a flow has all that a row of the table needs."""
    if not names:
        return True
    rows = {f"{row.source}.{name}" for row in flow.rows() for name in row.transition.actions}
    rows |= {f"{row.source}.{row.trigger}" for row in flow.rows() if row.timer}
    known = {*flow.host_facts, *flow.actions, *flow.triggers, *flow.timers, *rows}
    return known.issuperset(names.split())


def turn_rules(flow: Flow, bits: Bits) -> Iterator[Rule]:
    """The rules of every claimed property whose names the flow has."""
    if flow.kind != "turn":
        return
    maker = _Maker(flow, bits)
    for name, rows in table()["rules"].items():
        if name not in flow.properties.waived and not missing(flow, name):
            for row in rows:
                yield from maker.rules(name, row)


class _Maker:
    def __init__(self, flow: Flow, bits: Bits) -> None:
        self.flow, self.bits = flow, bits
        self.names: _Values = table()["names"]
        self.host_facts = {*flow.host_facts}

    def rules(self, property: str, row: Mapping[str, Any]) -> Iterator[Rule]:
        without = row.get("needs_not", "")
        if not has(self.flow, row.get("needs", "")) or (without and has(self.flow, without)):
            return
        for values in self._each(row.get("each", "")):
            whole = filled(row, {**self.names, **values})
            facts = " ".join(whole.get(key, "") for key in ("when", "unless")).split()
            if all(fact[:-1] in self.host_facts for fact in facts if fact.endswith("!")):
                yield self._rule(property, whole)

    def _each(self, each: str | _Values) -> Iterator[_Values]:
        if not each:
            yield {}
        elif isinstance(each, str):
            yield from _COMPUTED[each](self.flow)
        else:
            for key, values in filled(each, self.names).items():
                yield from ({key: value} for value in values.split())

    def _rule(self, property: str, row: Mapping[str, Any]) -> Rule:
        after = self.bits.test(self._facts(row, "when"), self._facts(row, "unless"))
        broken = row.get("broken", "")
        if "state" in row:
            state = None if row["state"] == "all" else row["state"]
            sentence = f"{state} is held {broken}" if state else broken
            remedy = row.get("remedy", "")
            return about_states(property, sentence, state, after, builtin=True, remedy=remedy)
        before = self.bits.test(self._facts(row, "before"), self._facts(row, "before_not"))
        where = self._where(row)
        if "action" in row:
            where["does"], broken = (row["action"],), f"{row['action']} is chosen {broken}"
        elif granted := row.get("granted"):
            where |= {"trigger": (granted,), "taken": True}
            broken = f"{granted} is granted without {' or '.join(where['lacks'])}"
        elif refused := row.get("refused"):
            where |= {"trigger": (refused,), "taken": False, "fresh": True}
            where["source"] = [n for n, s in self.flow.states.items() if refused not in s.refuses]
            broken = f"{refused} is refused {broken}"
        return about_moves(property, broken, where, before, after, builtin=True)

    def _where(self, row: Mapping[str, Any]) -> dict[str, Any]:
        tests = {key: value for key, value in row.items() if key in TESTS}
        where = {k: v.split() if isinstance(v, str) else v for k, v in tests.items()}
        if "except" in row:
            where["except"] = self._where(row["except"])
        if "timer" in row:
            where["trigger"] = self.flow.timers if row["timer"] else self.flow.triggers
        if "heeded" in row:
            states = self.flow.states.items()
            where["source"] = [n for n, s in states if not {*where["trigger"]} & {*s.ignores}]
        return where

    def _facts(self, row: Mapping[str, Any], key: str) -> Iterator[str]:
        for fact in row.get(key, "").split():
            name = fact.strip("!=")
            if fact[0] == "~" or name in (self.flow.facts if fact[0] == "=" else self.host_facts):
                yield name


def filled(row: Mapping[str, Any], values: _Values) -> dict[str, Any]:
    """A row with values in place of the names in braces."""
    texts = {key: text.format_map(values) for key, text in row.items() if isinstance(text, str)}
    return {**row, **texts}


# -- what `each` may name


def _published(flow: Flow, *, speaking: bool) -> Iterator[_Values]:
    """The states that publish `speaking`, or all others."""
    audible = {row.dest for row in flow.rows() if row.trigger == "playout_started"}
    right = "listening" if speaking else "speaking"
    for name, body in flow.states.items():
        if (body.agent_state == "speaking") == speaking:
            remedy = f"write 'agent_state: {right}' in {name!r}"
            yield {"state": name, "remedy": remedy if (name in audible) != speaking else ""}


def _decided_by_a_transcript(flow: Flow) -> list[str]:
    """The states with playing or paused audio in which the transcript decides whether it stops."""
    if "backchannel" not in flow.host_facts:
        return []
    rows = [row for row in flow.rows() if row.trigger == "final_transcript"]
    stops = {row.source for row in rows if "interrupt_speech" in row.transition.actions}
    return sorted(stops & {"speaking", "paused"})


def _timers_that_let_go(flow: Flow) -> Iterator[_Values]:
    """The timers after which a state releases the audio that it holds back."""
    letting = {"release_output", "resume_output"}
    for state, held in (("paused", ""), ("thinking", "~output_held ~paused")):
        rows = [row for row in flow.rows(state) if row.timer]
        names = (row.trigger for row in rows if letting & {*row.transition.actions})
        yield from ({"state": state, "timer": t, "held": held} for t in dict.fromkeys(names))


def _limits_of_a_step(flow: Flow) -> Iterator[_Values]:
    limits = {*table()["names"]["limits"].split(), "report_after"}
    for state in ("thinking", "speaking"):
        armed = flow.states[state].after if state in flow.states else ()
        yield from ({"state": state, "timer": timer} for timer in sorted(limits & {*armed}))


_COMPUTED: Mapping[str, Callable[[Flow], Iterator[_Values]]] = {
    "published_as_speaking": lambda flow: _published(flow, speaking=True),
    "published_as_silent": lambda flow: _published(flow, speaking=False),
    "decided_by_a_transcript": lambda flow: (
        {"state": state} for state in _decided_by_a_transcript(flow)
    ),
    "audible_until_a_transcript": lambda flow: iter(
        [{"states": " ".join(_decided_by_a_transcript(flow))}]
    ),
    "timers_that_let_go": _timers_that_let_go,
    "limits_of_a_step": _limits_of_a_step,
    "facts_that_are_ghosts": lambda flow: (
        {"fact": fact} for fact in TRUE_FACTS if fact in flow.facts and not flow.facts[fact].host
    ),
}
