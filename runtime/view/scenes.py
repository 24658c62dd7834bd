"""Short conversations that the simulator plays with one click."""

from __future__ import annotations

from typing import Any

from turnfsm.fsm.flow import Flow

__all__ = ["scenes_for"]

Press = dict[str, Any]

_HOST = ("results_available", "user_silent", "interruptible", "holdable", "pausable")


def _posts(*triggers: str, host: tuple[str, ...] = (), **more: Any) -> list[Press]:
    return [{"trigger": trigger, "host": [*_HOST, *host], **more} for trigger in triggers]


_SPEAKS = _posts(
    *("user_started_speaking", "user_stopped_speaking", "final_transcript", "turn_committed"),
    *("reply_requested", "step_started", "start_playout", "playout_started", "turn_replied"),
)
"""The user asks, and the agent begins to answer."""

_STOPS = _posts("step_interrupted", "playout_finished", "step_finished", only_in="interrupted")
"""What a host reports after the flow has chosen to interrupt."""


def _over(words: int, host: tuple[str, ...]) -> list[Press]:
    """The user says words while the agent speaks."""
    return [
        *_SPEAKS,
        *_posts("user_started_speaking"),
        *_posts("barge_in", words=words),
        *_posts("output_paused", only_in="paused"),
        *_posts("user_stopped_speaking"),
        *_posts("final_transcript", words=words, host=host),
        *_posts("backchannel_over", only_in="paused", host=host),
        *_STOPS,
    ]


_SCENES: dict[str, list[Press]] = {
    'The user says "okay" while the agent speaks': _over(1, ("backchannel",)),
    'The user says "stop, please" while the agent speaks': _over(2, ("stop_word",)),
    "The user coughs while the agent speaks": [
        *_SPEAKS,
        *_posts("user_started_speaking", "barge_in"),
        *_posts("output_paused", only_in="paused"),
        *_posts("user_stopped_speaking"),
        *_posts("false_interruption", only_in="paused"),
    ],
    "The user speaks while a tool runs": [
        *_SPEAKS,
        *_posts("tool_started", "playout_finished", "step_finished"),
        *_posts("user_started_speaking", "user_stopped_speaking", "final_transcript"),
        *_posts("turn_committed"),
    ],
    "A tool is slow": [
        *_SPEAKS,
        *_posts("tool_started", "playout_finished", "step_finished"),
        *_posts("filler_1", only_in="tool_running", host=("can_say",)),
    ],
    'The user says "hold on"': [
        *_posts("user_started_speaking", "user_stopped_speaking", "final_transcript"),
        *_posts("hold_turn", host=("hold_asked", "only_asked", "can_say")),
        *_posts("hold", only_in="listening", host=("can_say",)),
    ],
}

_NEEDS = {"A tool is slow": "filler_1", 'The user says "hold on"': "hold_turn"}
"""The trigger or timer without which a scene would show nothing of its own."""


def scenes_for(flow: Flow) -> list[dict[str, Any]]:
    """The scenes that a flow can play, each with ``name`` and ``presses`` for `simulate`.

    A trigger or host fact that the flow does not have is left out.

    Args:
        flow: The flow.

    Returns:
        The scenes; none if the flow is not about the turns of a conversation.
    """
    known = {*flow.triggers, *flow.timers}
    if not known >= {press["trigger"] for press in _SPEAKS}:
        return []
    return [
        {"name": name, "presses": [press for press in presses if press["trigger"] in known]}
        for name, presses in _SCENES.items()
        if _NEEDS.get(name, name) in {name, *known}
    ]
