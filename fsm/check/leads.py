"""Properties about what timers alone reach, when no event comes any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from turnfsm.fsm.flow import Flow, LeadsTo

from .explore import Exploration
from .liveness import Goal, Quiet, Run
from .space import StateSpace
from .turn import missing

__all__ = ["Outcome", "Wait", "judge", "waits"]


SETTLED = 5.0
"""The most seconds for which an interrupted speech may keep the floor, as in voice frameworks."""


@attrs.frozen
class Wait:
    """From every configuration that `start` accepts, `goal` is reached by timers alone.

    Attributes:
        within: The timer that bounds it; None for any finite time.
        at_most: Seconds that bound it, whatever the timer says.
        one_timer: It is enough that one timer of the state reaches the goal by itself.
    """

    property: str
    promise: str
    start: Callable[[int], bool]
    goal: Goal
    within: str | None
    builtin: bool = True
    at_most: float = float("inf")
    one_timer: bool = False


@attrs.frozen
class Outcome:
    """The result of a wait.

    Attributes:
        detail: The worst case, or why it is broken.
        node: The configuration that breaks it.
        quiet: What happens from there.
        end: The state that no timer leaves.
    """

    detail: str
    node: int | None = None
    quiet: tuple[str, ...] = ()
    end: str | None = None


def waits(model: StateSpace) -> Iterator[Wait]:
    """Every promise of a flow: the declared ones, then those of a turn."""
    flow = model.flow
    for body in flow.properties.leads_to:
        yield _declared(model, body)
    if flow.kind != "turn":
        return
    promises = (_settles, _dead_floor, _goes_on, _overdue, _kept)
    for wait in (wait for promise in promises for wait in promise(model)):
        if wait.property not in flow.properties.waived and not missing(flow, wait.property):
            yield wait


def _declared(model: StateSpace, body: LeadsTo) -> Wait:
    return Wait(
        body.name,
        f"{body.to} is reached",
        _holds(model, body.from_),
        _is(body.to),
        body.within,
        builtin=False,
    )


def _holds(model: StateSpace, state: str) -> Callable[[int], bool]:
    return lambda node: model.state(node) == state


def _is(goal: str) -> Goal:
    return lambda state, actions: state == goal


def _settles(model: StateSpace) -> Iterator[Wait]:
    within = "settle" if "settle" in model.flow.timers else None
    yield Wait(
        "an_interruption_settles",
        "the floor is free",
        _holds(model, "interrupted"),
        lambda state, actions: state in ("listening", "tool_running"),
        within,
        at_most=SETTLED,
    )


def _dead_floor(model: StateSpace) -> Iterator[Wait]:
    final = {name for name, state in model.flow.states.items() if state.final}
    yield Wait(
        "no_dead_floor",
        "listening is reached",
        lambda node: True,
        lambda state, actions: state == "listening" or state in final,
        None,
    )


def _goes_on(model: StateSpace) -> Iterator[Wait]:
    """What waits for a user who then says nothing goes on: it is not lost to another limit."""
    ghosts = model.bits.ghosts
    speaks, held = ghosts["user_speaking"], ghosts["output_held"] | ghosts["paused"]
    for state, action, facts, what in (
        ("paused", "resume_output", 0, "the audio that was cut goes on"),
        ("thinking", "release_output", held, "held output is released"),
    ):
        if any(action in row.transition.actions for row in model.flow.rows(state)):
            yield Wait(
                "no_dead_floor",
                what,
                _quiet_in(model, state, facts, speaks),
                _does(action),
                None,
                one_timer=True,
            )


def _quiet_in(model: StateSpace, state: str, facts: int, speaks: int) -> Callable[[int], bool]:
    return lambda node: model.state(node) == state and node & (facts | speaks) == facts


def _does(action: str) -> Goal:
    return lambda state, actions: action in actions


def _overdue(model: StateSpace) -> Iterator[Wait]:
    bit = model.bits.ghosts["turn_open"]
    yield Wait(
        "every_turn_is_accounted_for",
        "a turn that stays open is dropped",
        lambda node: bool(node & bit),
        lambda state, actions: "drop_turn" in actions,
        None,
    )


def _kept(model: StateSpace) -> Iterator[Wait]:
    """A turn that waits for tool calls to finish does not wait longer than it is told."""
    if not {"turn_kept", "finish_limit"} <= {*model.flow.triggers, *model.flow.timers}:
        return
    bit, waits_in = model.bits.ghosts["turn_waiting"], _holds(model, "tool_running")
    yield Wait(
        "every_turn_is_accounted_for",
        "the floor is free for the turn that waits",
        lambda node: bool(node & bit) and waits_in(node),
        lambda state, actions: "lift_holds" in actions or state == "listening",
        "finish_limit",
    )


def judge(model: StateSpace, found: Exploration, wait: Wait) -> Outcome:
    """The worst run without events, from every configuration in which the wait can begin."""
    quiet = Quiet(model, wait.goal)
    bound = min(wait.at_most, model.flow.timers.get(wait.within or "", float("inf")))
    worst = Run(True, 0.0, ())
    for node in quiet.spots(filter(wait.start, found.links)):
        if wait.one_timer:
            if not quiet.one_timer_reaches(node):
                run = Run(False, float("inf"), (), "no timer of the state does that")
                return _broken(model, wait, node, run, 0)
            continue
        run, host_facts = quiet.worst(node)
        if not run.reached or run.seconds > bound:
            return _broken(model, wait, node, run, host_facts)
        worst = max(worst, run, key=lambda r: r.seconds)
    if not worst.timers:
        return Outcome("")
    return Outcome(f"at most {_sum(model.flow, worst.timers)}")


def _sum(flow: Flow, timers: tuple[str, ...]) -> str:
    total = sum(flow.timers[t] for t in timers)
    return f"{total:g} s ({' + '.join(f'{t} {flow.timers[t]:g}' for t in timers)})"


def _broken(model: StateSpace, wait: Wait, node: int, run: Run, host_facts: int) -> Outcome:
    state = model.state(node)
    if run.reached:
        most = wait.within if run.seconds <= wait.at_most else f"{wait.at_most:g} s"
        why = f"it takes {_sum(model.flow, run.timers)}, more than {most}"
    else:
        why = run.why
    message = f"from {state}, with no further event, it is not certain that {wait.promise}: {why}"
    host = ", ".join(model.program.names(host_facts)) or "nothing"
    facts = ", ".join(model.program.names(node & (1 << len(model.bits.facts)) - 1)) or "none"
    quiet = [f"nothing more happens in {state} (facts: {facts}; the host says yes to: {host})"]
    quiet += [f"{timer} fires" for timer in run.timers]
    return Outcome(message, node, (*quiet, why), run.end)
