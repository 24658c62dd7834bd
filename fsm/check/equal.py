"""Checks whether a changed flow is equivalent to the original."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.machine import Program, Taken

from .explore import Exploration, explore
from .parts import Bits, Move, subsets
from .space import StateSpace
from .turn import HARMLESS, turn_world

__all__ = ["Twin"]


class Twin:
    """A flow with all its reachable configurations, to compare changed ones with.

    If a changed flow gives the same verdicts in each of them, it reaches the same configurations,
    and both flows behave alike in every run.
    """

    def __init__(self, flow: Flow, limit: int) -> None:
        self.flow = flow
        self.model = _whole(flow)
        self.found: Exploration = explore(self.model, limit)

    def why_equal(self, other: Flow) -> str | None:
        if other.initial != self.flow.initial or not self.found.complete:
            return None
        theirs = _whole(other)
        reasons = set()
        for state, trigger in self._differ(other):
            for node in self._nodes(theirs, state, trigger):
                reason = self._alike(theirs, state, trigger, node)
                if reason is None:
                    return None
                reasons.add(reason)
        order = ["an action has nothing to do there", "only the verdict of an event differs"]
        return next((r for r in order if r in reasons), "no reachable configuration differs")

    def _differ(self, other: Flow) -> Iterator[tuple[str, str]]:
        """The pairs of state and trigger that the change can affect."""
        shared = (
            (self.flow.triggers, other.triggers),
            (self.flow.facts, other.facts),
            (self.flow.scopes, other.scopes),
        )
        everywhere = any(own != other for own, other in shared)
        for name, state in self.flow.states.items():
            changed = other.states[name]
            for trigger in (*self.flow.triggers, *self.flow.timers):
                ours = (state.on.get(trigger), state.after.get(trigger), trigger in state.ignores)
                theirs = (
                    changed.on.get(trigger),
                    changed.after.get(trigger),
                    trigger in changed.ignores,
                )
                armed = trigger in self.flow.triggers or trigger in {*state.after, *changed.after}
                if armed and (everywhere or ours != theirs):
                    yield name, trigger

    def _nodes(self, other: StateSpace, state: str, trigger: str) -> Iterator[int]:
        """Reachable configurations of the state, one for each combination that decides
        differently."""
        reads = self.model.reads(state, trigger) | other.reads(state, trigger)
        reads |= ~(-1 << self.model.bits.shift) ^ (1 << len(self.model.bits.facts)) - 1
        seen: set[int] = set()
        for node in self.found.links:
            if self.model.state(node) == state and node & reads not in seen:
                seen.add(node & reads)
                yield node

    def _alike(self, other: StateSpace, state: str, trigger: str, node: int) -> str | None:
        own = list(self.model.arrivals(trigger, node))
        others = list(other.arrivals(trigger, node))
        if [arrives for arrives, _ in own] != [arrives for arrives, _ in others]:
            return None
        reason = ""
        for (arrives, accepted), (_, passes) in zip(own, others, strict=True):
            for host_facts in subsets(
                self.model.host_facts(state, trigger) | other.host_facts(state, trigger)
            ):
                a = self.model.answer(state, trigger, accepted, node | host_facts)
                b = other.answer(state, trigger, passes, node | host_facts)
                if a is b is None:
                    continue
                moves = Move(state, trigger, arrives, a), Move(state, trigger, arrives, b)
                if self.model.after(moves[0], node) != other.after(moves[1], node):
                    return None
                same = self._same(trigger, a, b, node)
                if same is None:
                    return None
                reason = reason or same
        return reason

    def _same(self, trigger: str, a: Taken | None, b: Taken | None, node: int) -> str | None:
        """Why two verdicts that lead to the same configuration are equivalent, or None."""
        request = trigger in self.flow.triggers and self.flow.triggers[trigger].kind == "request"
        if request and (a is None) != (b is None):
            return None
        if (a is not None and a.entered) != (b is not None and b.entered):
            return None
        if any(
            getattr(a, timers, ()) != getattr(b, timers, ()) for timers in ("restarts", "keeps")
        ):
            return None
        own, other = (t.actions if t is not None else () for t in (a, b))
        if own != other:
            idle = {name for name in HARMLESS if not node & self.model.effect_of(name)}
            effective = [[x for x in actions if x not in idle] for actions in (own, other)]
            return "an action has nothing to do there" if effective[0] == effective[1] else None
        if (a is None) != (b is None):
            return "only the verdict of an event differs"
        return ""


def _whole(flow: Flow) -> StateSpace:
    """The model of a flow that tracks every fact, read or not."""
    program, world = Program(flow), turn_world(flow)
    bits = Bits(program, world)
    model = StateSpace(program, world, bits, ())
    model.relevant = (1 << len(bits.facts)) - 1 & ~bits.host_facts
    return model
