"""The words that a flow shares with the binding: what it must declare to govern a session."""

from __future__ import annotations

from turnfsm.fsm import Flow, HostError

__all__ = ["ACTIONS", "FACTS", "TRIGGERS", "check_vocabulary"]

TRIGGERS = (
    *("user_started_speaking", "user_stopped_speaking", "barge_in", "final_transcript"),
    *("endpointing_ended", "turn_committed", "turn_kept", "turn_replied", "turn_dropped"),
    *("preemptive_generation", "reply", "owed_reply"),
    *("step_started", "start_playout", "playout_started", "playout_finished"),
    *("output_held", "output_released", "step_progressed", "step_interrupted"),
    "step_finished",
    *("speech_interrupted", "interruptions_disallowed"),
    *("tool_started", "tool_ended", "results_committed", "tools_drained", "tools_released"),
)
"""What the binding reports and asks."""

FACTS = ("tools_running", "output_held", "result_uncommitted", "user_speaking")
"""What the binding looks at."""

ACTIONS = ("answer_turn", "request_reply", "start_output", "release_tools", "abandon_step")
"""Without these no turn is answered, heard or brought to its end."""


def check_vocabulary(flow: Flow) -> None:
    """Refuse a flow that would fail in mid-conversation.

    Raises:
        HostError: The flow lacks words, with all of them.
    """
    used = {action for row in flow.rows() for action in row.transition.actions}
    lacks = [
        *(f"trigger {word!r}" for word in TRIGGERS if word not in flow.triggers),
        *(f"fact {word!r}" for word in FACTS if word not in flow.facts),
        *(f"use of the action {word!r}" for word in ACTIONS if word not in used),
    ]
    if lacks:
        raise HostError(
            f"flow {flow.name!r} cannot govern a TurnSession, it lacks the {', '.join(lacks)}; "
            "begin it with 'extends: turn', which has them all"
        )
