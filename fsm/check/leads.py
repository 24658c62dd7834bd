"""Properties about waits: how long they last at most, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from turnfsm.fsm.flow import NEVER, Flow, LeadsTo, Names, in_words

from .explore import Exploration
from .parts import Edge
from .restless import Goal, Over, Restless, Run, Wait
from .space import StateSpace
from .turn import COMMON, WAITS_FOR_TOOLS, missing

__all__ = [
    "Outcome",
    "comes",
    "either",
    "holds",
    "judge",
    "ready_reply",
    "settles",
    "total",
    "waits",
]

REPORT = "report_wait"
"""The action that reports a long wait."""

SETTLED = 5.0
"""The most seconds for which an interrupted speech may keep the floor, as in voice frameworks."""

_HOST = ("output_held", "output_paused", "output_released")
# A step continues: the floor is held for a reason.
_GOES_ON = (
    *("step_started", "step_progressed", "playout_started", "playout_finished"),
    *("tool_started", "tools_drained"),
)
# The user has said something, or the step is over: the wait is no longer about the reply.
_ENDS = (
    *("final_transcript", "turn_committed", "interruptions_disallowed", "playout_started"),
    *("playout_finished", "step_interrupted", "step_finished", "step_started"),
)


@attrs.frozen
class Outcome:
    """The result of a wait.

    Attributes:
        detail: The worst case, or why it is broken.
        seconds: The worst case.
        timers: The timers that add up to it.
        node: The configuration that breaks it.
        moves: The moves from there, with the configuration before each.
        quiet: More sentences about it.
        end: The state that no timer leaves.
        again: The moves that can be repeated forever.
    """

    detail: str
    seconds: float = 0.0
    node: int | None = None
    moves: tuple[tuple[int, Edge], ...] = ()
    quiet: tuple[str, ...] = ()
    end: str | None = None
    again: tuple[tuple[int, Edge], ...] = ()
    timers: Names = ()


def waits(model: StateSpace) -> Iterator[Wait]:
    """Every promise of a flow: the declared ones, then those of a turn."""
    flow = model.flow
    for body in flow.properties.leads_to:
        yield _declared(model, body)
    if flow.kind != "turn":
        return
    promises = (settles, _dead_floor, _goes_on, _overdue, _kept)
    for wait in (wait for promise in promises for wait in promise(model)):
        if wait.property not in flow.properties.waived and not missing(flow, wait.property):
            yield wait


def _declared(model: StateSpace, body: LeadsTo) -> Wait:
    return Wait(
        body.name,
        f"{body.to} is reached",
        holds(model, body.from_),
        lambda state, actions: state == body.to,
        comes(*body.until),
        body.within,
        builtin=False,
    )


def holds(model: StateSpace, state: str) -> Callable[[int], bool]:
    """Whether a configuration is in a state."""
    return lambda node: model.state(node) == state


def comes(*triggers: str) -> Over:
    """Whether a move is by one of these triggers, unless it is stale or refused."""
    return lambda move: (
        move.trigger in triggers and move.arrives != "stale" and move.taken is not None
    )


def settles(model: StateSpace) -> Iterator[Wait]:
    """An interrupted step gives the floor back."""
    within = "settle" if "settle" in model.flow.timers else None
    yield Wait(
        "an_interruption_settles",
        "the floor is free",
        holds(model, "interrupted"),
        lambda state, actions: state in ("listening", *WAITS_FOR_TOOLS),
        comes("step_started"),
        within,
        at_most=SETTLED,
    )


def _dead_floor(model: StateSpace) -> Iterator[Wait]:
    final = {name for name, state in model.flow.states.items() if state.final}
    wait = Wait(
        "no_dead_floor",
        "listening is reached",
        lambda node: True,
        lambda state, actions: state == "listening" or state in final,
        either(comes(*_GOES_ON, *_HOST), _does_move("resume_output"), _is_added(model)),
    )
    yield from _ends_or_is_reported(model, wait)


def _ends_or_is_reported(model: StateSpace, wait: Wait) -> Iterator[Wait]:
    """The wait ends if the limits are set. If one is not, the wait is reported: `turn_floor` proves
    that a report is true, and does not leave the state."""
    if REPORT not in model.flow.actions:
        yield wait
        return
    goal, promise = wait.goal, f"{wait.promise}, or what is waited for is reported"
    ends: Goal = lambda state, actions: goal(state, actions) or REPORT in actions  # noqa: E731
    # A limit of the session ends one wait, and another wait begins.
    limits = [timer for timer, seconds in model.flow.timers.items() if seconds == NEVER]
    yield attrs.evolve(wait, promise=promise, goal=ends, over=either(wait.over, comes(*limits)))
    yield attrs.evolve(wait, limited=True)


def _is_added(model: StateSpace) -> Over:
    """A trigger that the flow adds: its poster continues with something."""
    added = {*model.flow.triggers} - COMMON
    return lambda move: move.trigger in added


def either(*tests: Over) -> Over:
    return lambda move: any(test(move) for test in tests)


def _does_move(action: str) -> Over:
    return lambda move: action in move.actions


def _goes_on(model: StateSpace) -> Iterator[Wait]:
    yield from (wait for _, wait in ready_reply(model))


def ready_reply(model: StateSpace) -> Iterator[tuple[str, Wait]]:
    """The states that hold back audio: it is played in the end.

    Noises may keep coming. Only the time without a sound counts.
    """
    ghosts = model.bits.ghosts
    held = ghosts["output_held"] | ghosts["paused"]
    for state, action, facts, promise in (
        ("paused", "resume_output", 0, "the paused audio goes on"),
        ("thinking", "release_output", held, "held output is released"),
    ):
        if any(action in row.transition.actions for row in model.flow.rows(state)):
            yield (
                state,
                Wait(
                    "no_dead_floor",
                    promise,
                    _held_in(model, state, facts),
                    _does(action),
                    either(comes(*_ENDS, *_HOST), _leaves(state)),
                    free=ghosts["user_speaking"],
                    reads=facts,
                ),
            )


def _held_in(model: StateSpace, state: str, facts: int) -> Callable[[int], bool]:
    return lambda node: model.state(node) == state and node & facts == facts


def _leaves(state: str) -> Over:
    return lambda move: move.dest != state


def _does(action: str) -> Goal:
    return lambda state, actions: action in actions


def _overdue(model: StateSpace) -> Iterator[Wait]:
    bit = model.bits.ghosts["turn_open"]
    ends = ("reply_requested", "turn_dropped")
    wait = Wait(
        "every_turn_is_accounted_for",
        "a turn that stays open is dropped",
        lambda node: bool(node & bit),
        lambda state, actions: "drop_turn" in actions,
        either(comes(*_GOES_ON, *_HOST, *ends), _does_move("resume_output"), _is_added(model)),
        reads=bit,
    )
    yield from _ends_or_is_reported(model, wait)


def _kept(model: StateSpace) -> Iterator[Wait]:
    """A turn that waits for tool calls to finish waits no longer than its timer."""
    if not {"turn_deferred", "finish_limit"} <= {*model.flow.triggers, *model.flow.timers}:
        return
    bit = model.bits.ghosts["turn_deferred"]
    yield Wait(
        "every_turn_is_accounted_for",
        "the floor is free for the turn that waits",
        lambda node: bool(node & bit) and model.state(node) in WAITS_FOR_TOOLS,
        lambda state, actions: "lift_holds" in actions or state == "listening",
        comes("step_started", "tool_started", "tools_drained"),
        "finish_limit",
        reads=bit,
    )


def judge(model: StateSpace, exploration: Exploration, wait: Wait) -> Outcome:
    """The longest wait, from every configuration in which it can begin."""
    longest = Restless(model, exploration, wait).longest(filter(wait.start, exploration.links))
    if longest is None:
        return Outcome("")
    node, run = longest
    if run.seconds > min(wait.at_most, model.flow.timers.get(wait.within or "", float("inf"))):
        return _broken(model, wait, node, run)
    if run.seconds == float("inf"):
        return _broken(model, wait, node, run)
    if not run.timers:
        return Outcome("")
    if unset := [timer for timer in run.timers if model.flow.timers[timer] == NEVER]:
        limits = ", ".join(dict.fromkeys(unset))
        detail = f"ends by itself only if limits are set ({limits})"
    else:
        reported = "reported after " if wait.promise.endswith("is reported") else ""
        detail = f"{reported}at most {total(model.flow, run.timers)}"
    return Outcome(detail, run.seconds, timers=run.timers)


def total(flow: Flow, timers: Names) -> str:
    """The seconds of some timers, and their sum."""
    parts = (f"{t} {in_words(flow.timers[t]).removesuffix(' s')}" for t in timers)
    return f"{in_words(sum(flow.timers[t] for t in timers))} ({' + '.join(parts)})"


def _broken(model: StateSpace, wait: Wait, node: int, run: Run) -> Outcome:
    state = model.state(node)
    if run.seconds < float("inf"):
        most = wait.within if run.seconds <= wait.at_most else f"{wait.at_most:g} s"
        reason = f"it takes {total(model.flow, run.timers)}, more than {most}"
    else:
        reason = run.why
    message = f"from {state} it is not certain that {wait.promise}: {reason}"
    quiet = [f"{timer} fires" for timer in run.timers]
    if run.end is None and run.loop:
        done = len(run.loop) - run.first
        quiet.append(f"the last {'move' if done == 1 else f'{done} moves'} can repeat forever")
    again = () if run.end else run.loop[run.first :]
    notes = (*quiet, reason)
    return Outcome(message, run.seconds, node, run.loop, notes, run.end, again, run.timers)
