"""Rules on the agent state: it matches what the user hears, and states and facts are true."""

from __future__ import annotations

from collections.abc import Iterator

from .maker import Maker, on
from .parts import Rule
from .turn import TRUE_FACTS, WAITS_FOR_TOOLS

__all__ = ["agent_state_is_true"]

_STEP_ENDS = frozenset({"thinking", "speaking", "paused"})


def agent_state_is_true(make: Maker) -> Iterator[Rule]:
    """speaking if and only if audio is heard; states and facts are true."""
    audible = {row.dest for row in make.flow.rows() if row.trigger == "playout_started"}
    for name, body in make.flow.states.items():
        if body.agent_state == "speaking":
            remedy = f"write 'agent_state: listening' in {name!r}" if name not in audible else ""
            yield make.held(name, "though no audio is heard", unless=["~heard"], remedy=remedy)
            yield make.held(name, "while the output stands still", ["~paused"])
        else:
            remedy = f"write 'agent_state: speaking' in {name!r}" if name in audible else ""
            yield make.held(name, "while audio is heard", ["~heard"], remedy=remedy)
    for state in WAITS_FOR_TOOLS:
        yield make.held(state, "though no tool call runs", unless=["~tools_running"])
    yield make.held("thinking", "for a step that was interrupted", ["~step_stopped"])
    yield make.held("interrupted", "though no step is there", unless=["~step_running"])
    yield make.held("interrupted", "though nothing was interrupted", unless=["~step_stopped"])
    for state in ("listening", *WAITS_FOR_TOOLS):
        yield make.held(state, "while a step holds the floor", ["~step_running"])
        yield make.held(state, "while the output stands still", ["~paused"])
    yield make.move(
        "the output stands still though nothing of it waits to go on",
        on(source="paused", dest="thinking"),
        ["~paused"],
    )
    yield make.move(
        "step_started is ignored: events of the step that has begun are taken for those of another",
        on("step_started", taken=False),
    )
    yield make.move(
        "a step begins while the output stands still",
        on("step_started"),
        ["~paused"],
    )
    yield from _after_a_step(make)
    yield from _facts(make)
    yield make.move(
        "an event of a step that is over is not treated as stale",
        lambda m: m.arrives == "stale" and (m.actions != () or m.dest != m.source or m.entered),
    )


def _after_a_step(make: Maker) -> Iterator[Rule]:
    elsewhere = {*make.flow.states} - {*WAITS_FOR_TOOLS}
    yield make.move(
        "tool_running is not entered though a tool call of the turn runs",
        on("step_finished", source=_STEP_ENDS, dest=elsewhere, fresh=True),
        ["~tools_running"],
    )
    for trigger, states in (("step_finished", _STEP_ENDS), ("tools_drained", WAITS_FOR_TOOLS)):
        yield make.move(
            "the floor is given up though the results wait for their reply",
            on(trigger, source=states, dest="listening", fresh=trigger == "step_finished"),
            ["~reply_due"],
        )
    yield make.move(
        "thinking is held though no step is about to begin",
        on("step_finished", dest="thinking", fresh=True),
        unless=["~reply_due"],
    )
    asks = {"answer_turn", "request_reply", "request_next_reply"}
    yield make.move(
        "thinking is entered though no step is about to begin",
        lambda m: m.dest == "thinking" != m.source and not asks & {*m.actions},
        unless=["~step_running", "~reply_due"],
    )
    yield make.move(
        "thinking is entered though no step is about to begin",
        on(source="listening", dest="thinking", lacks=asks),
        unless=["~step_running"],
    )
    yield make.move(
        "thinking is entered for no step though a tool call of the turn runs on",
        on(source=WAITS_FOR_TOOLS, dest="thinking"),
        ["~tools_running"],
        ["~step_running"],
    )
    others = {*make.flow.triggers} - {"turn_committed"}
    yield make.move(
        "tool_running is left though a tool call of the turn runs on",
        on(others, source=WAITS_FOR_TOOLS, dest="listening"),
        ["~tools_running"],
    )
    yield make.move(
        "the timers of the step before run on",
        on(
            ("step_started", "step_finished"),
            source={*_STEP_ENDS, "interrupted"},
            fresh=True,
            entered=False,
        ),
    )


def _facts(make: Maker) -> Iterator[Rule]:
    for fact in TRUE_FACTS:
        if fact in make.flow.facts and fact not in make.flow.host_facts:
            lies, hides = (
                f"{fact} is true although it is not so",
                f"{fact} is false although it is so",
            )
            yield make.held(None, f"the fact {lies}", [fact], [f"~{fact}"])
            yield make.held(None, f"the fact {hides}", [f"~{fact}"], [fact])
