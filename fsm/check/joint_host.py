"""Applies the rows of a flow to the events of the joint world, and the actions of its host.

This host is honest: it posts only what has happened. Host facts that the small world knows have
their true value; the others may have any value at every decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.agenda.settlement import Ending
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.machine import Program, Taken

from .cone import Choice, Effect, bits_that_matter
from .joint_parts import Here, Op, Outcome, Step, View
from .parts import Bits, World, subsets
from .space import StateSpace

__all__ = ["JointHost"]

_FALSE = (
    *("message_pending", "empty_transcript", "effect_pending", "tools_held", "model_replies"),
    *("transcript_pending", "manual_turns", "acknowledged", "deferred_turn_blocked"),
)
_TRUE = ("can_regenerate",)
_SEEN = ("tools_running", "result_uncommitted", "output_held")
"""The facts of the flow that the host reads."""
_KNOWN = (
    *("agenda_open", "interruption_open", "endpointing", "answer_pending", "user_may_continue"),
    "results_available",
)


class JointHost:
    """A flow of kind `turn`, and an honest host.

    Args:
        flow: The flow.
        timed: Also track the facts that only decide when a timer fires.
    """

    def __init__(self, flow: Flow, *, timed: bool = False) -> None:
        self.flow = flow
        self.bits = Bits(Program(flow), World())
        self.space = StateSpace(Program(flow), World(), self.bits, ())
        self._host = {n: self.bits.facts[n] for n in flow.host_facts}
        self._known = self._mask(*_FALSE, *_TRUE, *_KNOWN)
        self._true = self._mask(*_TRUE)
        self.timing = self._only_timing()
        self._timing = 0 if timed else self.timing
        above = -1 << self.bits.shift
        self._masks = [bits & ~self._timing | above for bits in self._cone()]
        self._hosts: dict[tuple[bool, bool, bool, bool], int] = {}
        self._answers: dict[tuple[int, str, int], tuple[tuple[int, Taken | None], ...]] = {}

    def state(self, here: Here) -> str:
        return self.space.state(here.node)

    def holds(self, here: Here, fact: str) -> bool:
        """Whether a fact that a guard reads is true."""
        return bool(here.node & self.space.relevant & self.bits.facts.get(fact, 0))

    def waits(self, here: Here, r: int) -> bool:
        """The turn waits for a call of this reply."""
        return r >= 0 and not (r == here.floor and here.ended_by is not None)

    def blocked(self, here: Here, view: View) -> bool:
        return any(self.waits(here, r) for _, r in view.runs)

    def post(self, here: Here, view: View, trigger: str) -> tuple[tuple[int, Taken | None], ...]:
        """The flow's possible verdicts, each with the configuration after it."""
        undecided = view.undecided and not here.transcript
        knows = view.open, undecided, here.deciding, view.partial
        host = self._hosts.get(knows)
        if host is None:
            answers = zip(
                _KNOWN,
                (view.open, undecided, *[here.deciding] * 3, not view.partial),
                strict=True,
            )
            true = self._mask(*(name for name, holds in answers if holds))
            host = self._hosts[knows] = self._true | true
        key = here.node, trigger, host
        verdicts = self._answers.get(key)
        if verdicts is None:
            verdicts = self._answers[key] = tuple(dict.fromkeys(self._answered(*key)))
        return verdicts

    def asked(
        self,
        text: str,
        here: Here,
        view: View,
        request: str,
        turns: int = 1,
        ops: tuple[Op, ...] = (),
    ) -> Iterator[Step]:
        """A request, if it is granted and has an effect."""
        if request not in self.flow.triggers:
            return
        for node, taken in self.post(here, view, request):
            if taken is not None and (taken.actions or node != here.node):
                granted = here._replace(node=node)
                for there, done in self.carried(granted, view, taken, turns):
                    yield Step(text, there, (*ops, *done))

    def happens(
        self, text: str, here: Here, view: View, event: str, ops: tuple[Op, ...] = ()
    ) -> Iterator[Step]:
        """An event that has happened, whether the flow takes it or not."""
        for there, done in self._reported(here, view, event):
            yield Step(text, there, (*ops, *done))

    def carried(self, here: Here, view: View, taken: Taken | None, turns: int = 1) -> list[Outcome]:
        """The host's actions, and the events that it reports for them."""
        outcomes: list[Outcome] = [(here, ())]
        by: Ending = "user"
        for action in taken.actions if taken is not None else ():
            by = "result" if action == "supersede_reply" else by
            outcomes = [
                (after, (*ops, *more))
                for there, ops in outcomes
                for after, more in self._does(there, view, action, by, turns)
            ]
        return outcomes

    def interrupt(self, here: Here, view: View, by: Ending) -> list[Outcome]:
        if here.floor < 0 or here.ended_by is not None:
            return [(here, ())]
        ops: tuple[Op, ...] = (("begin", here.floor),) if here.audio == "heard" else ()
        ops = (*ops, ("interrupt", here.floor, by))
        outcomes = self._reported(here._replace(ended_by=by), view, "step_interrupted")
        return [(there, (*ops, *more)) for there, more in outcomes]

    # -- inside

    def _mask(self, *names: str) -> int:
        return sum(self._host.get(name, 0) for name in names)

    def _only_timing(self) -> int:
        """The facts that only decide when a timer fires. Timers fire at any moment here, so these
        facts may have any value."""
        read = timing = 0
        for rows in self.space.program.rows.values():
            for trigger, alternatives in rows.items():
                body = self.flow.triggers.get(trigger)
                for mask, _want, _keep, _set, _dest, taken in alternatives:
                    idle = not (taken.entered or taken.actions)
                    if body is None or (body.kind == "event" and idle):
                        timing |= mask
                    else:
                        read |= mask
        return timing & ~read & self.space.relevant

    def _cone(self) -> list[int]:
        """For each state the bits that can matter to the host or to a wait."""
        space, bits = self.space, self.bits
        seen = sum(bits.facts.get(name, 0) for name in _SEEN) & space.relevant
        seen |= sum(bits.scopes.values())
        choices = [
            Choice(
                space.index[state],
                space.reads(state, trigger),
                tuple(self._effects(state, trigger)),
            )
            for state, rows in space.program.rows.items()
            for trigger in rows
        ]
        matter = bits_that_matter(choices, dict.fromkeys(space.index.values(), seen))
        return [matter[state] for state in space.index.values()]

    def _effects(self, state: str, trigger: str) -> Iterator[Effect]:
        """The possible effects of a trigger. Whether an event is taken or only changes facts makes
        no difference."""
        body = self.flow.triggers.get(trigger)
        answers = body is None or body.kind == "request"
        for *_, taken in self.space.program.rows[state][trigger]:
            keep, set_ = self.space.commit(state, taken)
            acts = taken.entered or bool(taken.actions) or bool(taken.restarts)
            dest = self.space.index[taken.dest]
            yield Effect(dest, keep & ~set_, ~keep | set_, answers or acts)

    def _answered(self, node: int, trigger: str, host: int) -> Iterator[tuple[int, Taken | None]]:
        space, state = self.space, self.space.state(node)
        scope = space.program.compared.get(trigger)
        if scope is not None and not node & self.bits.scopes[scope]:
            yield node, None  # its step is over
            return
        free = space.host_facts(state, trigger) & ~self._known
        for facts in subsets(free | space.reads(state, trigger) & self._timing):
            taken = space.answer(state, trigger, True, node | host | facts)
            if taken is None:
                yield node, None
            else:
                keep, set_ = space.commit(state, taken)
                there = node & keep | set_
                yield there & self._masks[there >> self.bits.shift], taken

    def _does(self, here: Here, view: View, action: str, by: Ending, turns: int) -> list[Outcome]:
        match action:
            case "interrupt_speech":
                return self.interrupt(here, view, by)
            case "force_interrupt":
                return self.interrupt(here, view, "limit")
            case "abandon_step" if here.floor >= 0:
                over: Op = ("end", here.floor, here.ended_by or "user")
                return [(here.without_reply(), (over,))]
            case "answer_turn":
                answered = here._replace(committed=here.committed + turns)
                gone = [r for r in view.live if r != here.floor]
                return [(answered, (("commit",), *(("end", r, "user") for r in gone)))]
            case "take_deferred_turn" if here.deferred:
                return self._taken_again(here, view)
            case "note_noise":
                return [(here, (("noise",),))]
            case "request_next_reply" if (view.open or view.undecided) and view.free >= 0:
                return [(here, (("deliver", view.free),))]
            case "hold_output":
                return self._reported(here, view, "output_held")
            case "pause_output":
                return self._reported(here, view, "output_paused")
            case "release_output" if self.holds(here, "output_held"):
                return self._reported(here, view, "output_released")
            case "release_tools" if not self.blocked(here, view):
                return self._tools_released(here, view)
            case "unblock_tools":
                return self._tools_released(here, view)
            case "give_up_tools":
                gone_on = [n for n, r in view.runs if self.waits(here, r)]
                ops: tuple[Op, ...] = tuple(("detach", n) for n in gone_on)
                return [(there, (*ops, *m)) for there, m in self._tools_released(here, view)]
        return [(here, ())]

    def _taken_again(self, here: Here, view: View) -> list[Outcome]:
        """The deferred turn is committed; if that is refused, it is still deferred."""
        outcomes: list[Outcome] = []
        for node, taken in self.post(here, view, "turn_committed"):
            if taken is None:
                outcomes.append((here._replace(node=node), ()))
            else:
                committed = here._replace(node=node, deferred=0)
                outcomes += self.carried(committed, view, taken, here.deferred)
        return outcomes

    def _tools_released(self, here: Here, view: View) -> list[Outcome]:
        if not self.holds(here, "tools_running"):
            return [(here, ())]
        return self._reported(here, view, "tools_released")

    def _reported(self, here: Here, view: View, event: str) -> list[Outcome]:
        if event not in self.flow.triggers:
            return [(here, ())]
        return [
            outcome
            for node, taken in self.post(here, view, event)
            for outcome in self.carried(here._replace(node=node), view, taken)
        ]
