"""The ten properties of a turn, checked against what really happens.

The facts of a flow may be wrong. So the checker tracks what happens in its own facts, the ghosts. A
stale event changes no ghost, so a flow that takes one is found. A fact that has the name of a ghost
but a different value is found as well.
"""

from __future__ import annotations

import attrs

from turnfsm.fsm.flow import Flow

from .parts import World

__all__ = [
    "COMMON",
    "CONFIRMING",
    "HARMLESS",
    "PROPERTIES",
    "REQUESTED",
    "TRUE_FACTS",
    "WAITS_FOR_TOOLS",
    "Builtin",
    "missing",
    "turn_world",
]

_STEP = (
    "start_playout",
    "playout_started",
    "playout_finished",
    "step_progressed",
    "output_held",
    "output_paused",
    "output_released",
    "step_interrupted",
    "step_finished",
    "interruptions_disallowed",
)
_WORLD = World(
    ghosts=(
        "user_speaking",
        "step_running",
        "playout_started",  # audio of this step was played
        "output_held",
        "tools_running",
        "result_uncommitted",
        "turn_open",
        "turn_deferred",  # a committed turn was refused and waits
        "reply_due",  # the results of the turn's calls have arrived, and their step has not begun
        "heard",  # audio is playing
        "step_stopped",  # this step was interrupted, and must not play any more
        "paused",  # the output is paused until it is resumed
        "stopped",  # it was paused in the middle of playout
        "first_sound_ended",  # since the output was held back, a sound of the user has ended
        "unreleased",  # a call blocks, and its release was not requested
        "answered",  # the reply to the committed turn was requested
    ),
    # trigger: (clears, sets, suspended by)
    events={
        "user_started_speaking": ((), ("user_speaking",), ()),
        "user_stopped_speaking": (("user_speaking",), ("first_sound_ended",), ()),
        "step_started": (
            ("playout_started", "output_held", "reply_due", "heard", "step_stopped", "stopped"),
            ("step_running",),
            (),
        ),
        "step_finished": (
            ("step_running", "playout_started", "output_held", "heard", "step_stopped", "stopped"),
            (),
            (),
        ),
        "playout_started": ((), ("playout_started", "heard"), ("step_stopped", "stopped")),
        "playout_finished": (("heard", "stopped"), (), ()),
        "step_interrupted": (("heard",), ("step_stopped",), ()),
        "output_held": (("first_sound_ended",), ("output_held",), ()),
        "output_paused": (("first_sound_ended",), (), ()),
        "output_released": (("output_held",), (), ()),
        "tool_started": ((), ("tools_running", "unreleased"), ()),
        "tools_drained": (("tools_running", "unreleased"), ("reply_due",), ()),
        "tools_released": (("tools_running", "unreleased", "reply_due"), (), ()),
        "tool_ended": ((), ("result_uncommitted",), ()),
        "results_committed": (("result_uncommitted",), (), ()),
        "turn_committed": (
            ("tools_running", "reply_due", "turn_deferred", "answered"),
            ("turn_open",),
            (),
        ),
        "turn_deferred": ((), ("turn_deferred",), ()),
        "reply_requested": (("turn_open",), (), ()),
        "turn_dropped": (("turn_open",), (), ()),
    },
    actions={
        "pause_output": (("heard",), ("paused", "stopped")),
        "hold_output": ((), ("paused",)),
        "resume_output": (("paused", "stopped"), ("heard",)),
        "release_output": (("paused", "stopped"), ()),
        "abandon_step": (
            ("step_running", "playout_started", "output_held", "heard", "step_stopped", "stopped"),
            (),
        ),
        "interrupt_speech": (("heard",), ("step_stopped",)),
        "force_interrupt": (("heard",), ("step_stopped",)),
        "release_tools": (("unreleased",), ()),
        "answer_turn": ((), ("answered",)),
    },
    belongs=dict.fromkeys(_STEP, "step"),
    begun={"step": "step_running"},
)
TRUE_FACTS = _WORLD.ghosts[:9]
"""Names with the same meaning as a fact of a flow and as a ghost."""

REQUESTED = "requested"
"""The ghost of a reply that was requested and whose step has not started; only for the property
`no_silence_longer_than`."""

CONFIRMING = "confirming"
"""The state in which the user is asked whether a tool may run."""

WAITS_FOR_TOOLS = ("tool_running", CONFIRMING)
"""The states in which tool calls block the turn: they run, or the user is asked."""

COMMON = frozenset(_WORLD.events) | {
    *("barge_in", "preemptive_generation", "reply", "start_playout", "next_reply"),
    *("final_transcript", "endpointing_ended", "speech_interrupted", "interruptions_disallowed"),
    *("step_progressed", "turn_replied"),
}
"""The triggers that every turn has. Others are up to the application."""

HARMLESS = ("release_output", "drop_audio")
"""Actions that have no effect if there is nothing to do."""


@attrs.frozen
class Builtin:
    """One of the ten properties.

    Attributes:
        means: Its meaning, in one sentence.
        triggers, states: The names that it needs in a flow.
    """

    name: str
    means: str
    triggers: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


PROPERTIES: dict[str, Builtin] = {
    p.name: p
    for p in (
        Builtin(
            "no_speculation_while_a_tool_runs",
            "No preemptive reply is started while a tool call of the turn runs.",
            ("tool_started", "tools_drained", "tools_released", "turn_committed"),
        ),
        Builtin(
            "no_resume_of_a_silent_step",
            "The output is resumed, and the state is paused, only if audio of this step was heard.",
            ("step_started", "step_finished", "playout_started"),
        ),
        Builtin(
            "no_request_before_the_results",
            "The LLM is not asked while a tool result, or the heard part of an interrupted reply, "
            "is not in the conversation; nor preemptively, while an earlier user message is not.",
            ("tool_ended", "results_committed"),
        ),
        Builtin(
            "every_call_ends_once",
            "A tool call that blocks the turn ends or is released, whatever happens.",
            ("tool_started", "tools_drained", "tools_released"),
            ("listening", "tool_running"),
        ),
        Builtin(
            "an_interruption_settles",
            "After an interruption the floor is free within settle, whatever events come.",
            states=("listening", "interrupted"),
        ),
        Builtin(
            "no_dead_floor",
            "Unless a step continues, timers lead from everywhere to listening, or a timer keeps "
            "reporting the true cause of the wait; if all limits are set, they lead to listening. "
            "A reply that is ready or paused is heard, whatever noises come.",
            states=("listening",),
        ),
        Builtin(
            "one_reply_to_a_turn",
            "The reply to a committed turn is requested once.",
            ("turn_committed", "reply_requested", "turn_dropped"),
        ),
        Builtin(
            "every_turn_is_accounted_for",
            "A committed turn gets a reply or is dropped. If none comes, this is reported; if "
            "`turn_overdue` is set, the turn is dropped then.",
            ("turn_committed", "reply_requested", "turn_dropped"),
            ("listening",),
        ),
        Builtin(
            "no_playout_over_the_user",
            "Playout does not start while the user speaks, unless it is uninterruptible.",
            ("user_started_speaking", "user_stopped_speaking", "step_started", "playout_started"),
        ),
        Builtin(
            "the_agent_state_is_true",
            "The state is speaking if and only if audio is heard; the other states are true, too.",
            ("step_started", "step_finished", "playout_started", "playout_finished"),
            ("listening", "thinking", "tool_running", "speaking", "interrupted"),
        ),
    )
}


def turn_world(flow: Flow) -> World:
    """The world of a conversation, as far as the flow has names for it."""
    if flow.kind != "turn":
        return World()
    belongs = {t: s for t, s in _WORLD.belongs.items() if t in flow.triggers}
    world = attrs.evolve(_WORLD, belongs=belongs)
    return world if flow.properties.no_silence_longer_than is None else _with_requests(world)


def _with_requests(world: World) -> World:
    """A world that knows, too, whether a reply was requested and its step has not started."""
    cleared = {
        name: ((*world.events[name][0], REQUESTED), *world.events[name][1:])
        for name in ("step_started", "turn_committed", "turn_dropped")
    }
    clears, sets, suspends = world.events["reply_requested"]
    requests = {"reply_requested": (clears, (*sets, REQUESTED), suspends)}
    events = {**world.events, **cleared, **requests}
    return attrs.evolve(world, ghosts=(*world.ghosts, REQUESTED), events=events)


def missing(flow: Flow, name: str) -> tuple[str, ...]:
    """The names that a property needs but the flow lacks."""
    body = PROPERTIES[name]
    lacking = [f"trigger {t!r}" for t in body.triggers if t not in flow.triggers]
    return tuple(lacking + [f"state {s!r}" for s in body.states if s not in flow.states])
