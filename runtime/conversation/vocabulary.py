"""The names that a flow must declare to govern a session."""

from __future__ import annotations

from pathlib import Path

from turnfsm.fsm import Flow, HostError, load_flow
from turnfsm.fsm.memo import once_for_each_flow

__all__ = [
    "ACTIONS",
    "FACTS",
    "OPTIONAL_TRIGGERS",
    "TRIGGERS",
    "actions_used",
    "check_vocabulary",
    "flow_for",
]

TRIGGERS = (
    *("user_started_speaking", "user_stopped_speaking", "barge_in", "final_transcript"),
    *("endpointing_ended", "turn_committed", "turn_deferred", "turn_dropped"),
    *("reply_requested", "turn_replied", "newer_result", "turn_too_short", "deferred_turn"),
    *("preemptive_generation", "reply", "next_reply", "proceed", "message_answered"),
    *("step_started", "start_playout", "playout_started", "playout_finished"),
    *("output_held", "output_paused", "output_released", "step_progressed", "step_interrupted"),
    "step_finished",
    *("speech_interrupted", "interruptions_disallowed"),
    *("tool_started", "tool_ended", "results_committed", "tools_drained", "tools_released"),
)
"""The triggers that the conversation posts."""

OPTIONAL_TRIGGERS = (
    *("interim_transcript", "hold_turn", "ignore_turn", "reply_ready", "user_typed"),
    *("question_due", "question_over", "yes_said", "other_answer", "application_interrupts"),
    *("voice_unrecognised", "audio_stopped", "audio_resumed"),
    *("interruption_detected", "backchannel_detected"),
)
"""The triggers that it posts only to a flow that declares them."""

FACTS = ("tools_running", "output_held", "result_uncommitted", "turn_open", "user_speaking")
"""The facts that it reads."""

ACTIONS = ("answer_turn", "request_reply", "start_output", "release_tools", "abandon_step")
"""The actions that every conversation needs."""


_MOST = 8  # names in a message


@once_for_each_flow
def actions_used(flow: Flow) -> frozenset[str]:
    """The actions of all transitions."""
    return frozenset(action for row in flow.rows() for action in row.transition.actions)


def check_vocabulary(flow: Flow, what: str) -> None:
    """Refuse a flow that lacks names, instead of failing in the middle of a conversation.

    Args:
        flow: The flow.
        what: What the flow governs, for the message, such as ``a TurnSession``.

    Raises:
        HostError: Names are missing; the message lists the first ones.
    """
    if lacks := _lacks(flow):
        more = f" and {len(lacks) - _MOST} more" if len(lacks) > _MOST else ""
        raise HostError(
            f"flow {flow.name!r} cannot govern {what}: it lacks the {', '.join(lacks[:_MOST])}"
            f"{more}; write 'extends: turn', which has them all"
        )


def flow_for(flow: Flow | str | Path, what: str) -> Flow:
    """Load a flow, and check that it has all names that a conversation needs.

    Args:
        flow: A flow, the name of a shipped one, or a path.
        what: As for `check_vocabulary`.

    Raises:
        FlowError: The flow cannot be used.
        HostError: As `check_vocabulary`.
    """
    flow = flow if isinstance(flow, Flow) else load_flow(flow)
    check_vocabulary(flow, what)
    return flow


@once_for_each_flow
def _lacks(flow: Flow) -> list[str]:
    used = actions_used(flow)
    return [
        *(f"trigger {name!r}" for name in TRIGGERS if name not in flow.triggers),
        *(f"fact {name!r}" for name in FACTS if name not in flow.facts),
        *(f"action {name!r} in a transition" for name in ACTIONS if name not in used),
    ]
