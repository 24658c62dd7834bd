"""Checks the properties of a flow against a journal, that is, for one conversation.

The rules are those of the checker. The ghosts are derived from the posted triggers and the actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from turnfsm.fsm import Flow
from turnfsm.fsm.check.maker import declared_rules
from turnfsm.fsm.check.parts import Arrival, Bits, Move, Rule, Test
from turnfsm.fsm.check.space import StateSpace
from turnfsm.fsm.check.turn import turn_world
from turnfsm.fsm.check.turn_rules import turn_rules
from turnfsm.fsm.journal import Entry, Journal
from turnfsm.fsm.machine import Program, Taken

__all__ = ["Broken", "Judge", "broken_properties"]

_LATE = 1e-3  # seconds

_MOST_KNOWN = 20_000
"""The maximum number of cached judgements. A conversation repeats few situations."""

_MOST_FLOWS = 8


class _Rulebook:
    """The rules of a flow. Made once, and shared by all conversations with their cache."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.program, world = Program(flow), turn_world(flow)
        self.bits = Bits(self.program, world)
        self.rules = [*declared_rules(flow, self.bits), *turn_rules(flow, self.bits)]
        self.model = StateSpace(self.program, world, self.bits, self.rules)
        self.known: dict[tuple[object, ...], tuple[int, tuple[Rule, ...]]] = {}


_RULEBOOKS: list[_Rulebook] = []


def _rulebook(flow: Flow) -> _Rulebook:
    rulebook = next((book for book in _RULEBOOKS if book.flow is flow), None)
    if rulebook is None:
        rulebook = _Rulebook(flow)
        _RULEBOOKS[:] = [rulebook, *_RULEBOOKS[: _MOST_FLOWS - 1]]
    return rulebook


@attrs.frozen
class Broken:
    """A property that was broken.

    Attributes:
        at: When, in seconds.
        where: The trigger and the state; empty if a state lasted too long.
        property: Its name; ``no_dead_floor`` if a state lasted too long.
        what: What happened, in a sentence.
        timer: The timer that should have left the state; empty if no state lasted too long.
    """

    at: float
    where: str
    property: str
    what: str
    timer: str = ""

    def __str__(self) -> str:
        if not self.where:
            return f"at {self.at:.3f} s: {self.what}"
        return f"at {self.at:.3f} s, {self.where}: {self.property}: {self.what}"


def broken_properties(
    journal: Journal, flow: Flow, timers: Mapping[str, float] | None = None
) -> list[str]:
    """The properties of a flow that a journal breaks.

    Args:
        journal: A whole journal, from its first entry on.
        flow: The flow that made it.
        timers: The session's seconds, which override those of the flow.

    Returns:
        One sentence for each time that a property is broken; empty if none is.

    Example:
        >>> from turnfsm import load_flow, read_journal
        >>> from turnfsm.testing import broken_properties
        >>> broken_properties(read_journal("journal.jsonl"), load_flow("turn"))
        []
    """
    judge = Judge(flow, {**flow.timers, **(timers or {})})
    sentences = [str(broken) for entry in journal.entries for broken in judge.entry(entry)]
    return list(dict.fromkeys(sentences))


class Judge:
    """Follows one conversation, entry by entry, in constant memory.

    Args:
        timers: The seconds of all timers.
    """

    def __init__(self, flow: Flow, timers: Mapping[str, float]) -> None:
        rulebook = _rulebook(flow)
        self.program, self.bits = rulebook.program, rulebook.bits
        self.rules, self.model = rulebook.rules, rulebook.model
        self.known = rulebook.known
        self.limits = {state: _limits(flow, state, timers) for state in flow.states}
        self.node = self.model.initial
        self.tokens: dict[str, Any] = {}
        self.entered = 0.0
        self.restarted: dict[str, float] = {}  # when a timer restarted in the current state

    def has(self, entry: Entry) -> bool:
        """The flow has the state of an entry, its trigger, and the transition that it has taken."""
        verdict, rows = entry.verdict, self.program.rows.get(entry.verdict.state)
        if rows is None or entry.trigger not in self.program.known:
            return False
        taken = (row[5].row for row in rows.get(entry.trigger, ()))
        return not isinstance(verdict, Taken) or verdict.row in taken

    def entry(self, entry: Entry) -> Iterator[Broken]:
        """The broken properties of one entry, and the configuration after it."""
        verdict, arrives, before = entry.verdict, self._arrives(entry), self.node
        row = verdict.row if isinstance(verdict, Taken) else ""
        key = (entry.trigger, verdict.state, row, arrives, entry.facts, before)
        judged = self.known.get(key)
        if judged is None:
            move = self._move(entry, arrives)
            self.node = self.model.after(move, before)
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            judged = self.known[key] = (self.node, tuple(self._broken(move, before)))
        yield from self._overstayed(entry)
        self.node, broken = judged
        if verdict:
            self._begun(entry)
        for rule in broken:
            where = f"{entry.trigger} in {verdict.state}"
            yield Broken(entry.t, where, rule.property, rule.broken)

    def _move(self, entry: Entry, arrives: Arrival) -> Move:
        state, trigger = entry.verdict.state, entry.trigger
        host_facts = self.bits.mask(f for f in entry.facts if f in self.model.flow.host_facts)
        reads = self.bits.mask(self.program.rows[state].asks.get(trigger, ()))
        return Move(state, trigger, arrives, self._taken(entry), host_facts, reads)

    def _taken(self, entry: Entry) -> Taken | None:
        """The program's own verdict object, which the model compares by identity."""
        verdict = entry.verdict
        if not isinstance(verdict, Taken):
            return None
        rows = self.program.rows[verdict.state][entry.trigger]
        return next(row[5] for row in rows if row[5].row == verdict.row)

    def _arrives(self, entry: Entry) -> Arrival:
        world, trigger = self.model.world, entry.trigger
        scope = world.belongs.get(trigger) or self.program.fences.get(trigger)
        if scope is None or scope in self.program.begins.get(trigger, ()):
            return ""
        begun = world.begun.get(scope)
        runs = begun is None or bool(self.node & self.bits.ghosts[begun])
        return "fresh" if runs and entry.of == self.tokens.get(scope) else "stale"

    def _begun(self, entry: Entry) -> None:
        for scope in self.program.begins.get(entry.trigger, ()):
            self.tokens[scope] = entry.of
        if entry.verdict.entered:
            before = {timer: self._started(timer) for timer in entry.verdict.keeps}
            self.entered, self.restarted = entry.t, before
        self.restarted |= dict.fromkeys(entry.verdict.restarts, entry.t)

    def _started(self, timer: str) -> float:
        return self.restarted.get(timer, self.entered)

    def _broken(self, move: Move, before: int) -> Iterator[Rule]:
        unknown = self.bits.host_facts & ~move.read

        def holds(test: Test, node: int) -> bool:
            current = node & ~self.bits.host_facts | move.host_facts
            return not test.mask & unknown and current & test.mask == test.want

        state = self.model.state(self.node)
        for rule in self.rules:
            if rule.judge is None:
                wrong = rule.state in (None, state) and holds(rule.test, self.node)
            else:
                tests = rule.judge(move)
                wrong = tests is not None and holds(tests[0], before) and holds(tests[1], self.node)
            if wrong:
                yield rule

    def _overstayed(self, entry: Entry) -> Iterator[Broken]:
        state = entry.verdict.state
        for timer, seconds in self.limits[state].items():
            held = entry.t - self._started(timer)
            if held > seconds + _LATE:
                sentence = (
                    f"{state} lasted for {held:.3f} s after the start of {timer}, "
                    f"although this timer leaves it after {seconds:g} s"
                )
                yield Broken(entry.t, "", "no_dead_floor", sentence, timer)


def _limits(flow: Flow, state: str, timers: Mapping[str, float]) -> Mapping[str, float]:
    """The timers that leave a state in any case, with their seconds."""
    return {
        row.trigger: timers[row.trigger]
        for row in flow.rows(state)
        if row.timer
        and row.dest != state
        and not row.transition.conditions
        and not row.transition.unless
    }
