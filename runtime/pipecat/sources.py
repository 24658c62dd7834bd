"""Which part of a Pipecat pipeline posts each trigger of a flow, and which carries out each
action."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from turnfsm.fsm import Flow, HostError
from turnfsm.fsm.errors import near
from turnfsm.runtime.conversation.vocabulary import (
    OPTIONAL_TRIGGERS,
    TRIGGERS,
    actions_used,
)

__all__ = ["Part", "check_flow", "check_parts"]

Part = Literal["user", "transport", "model", "output", "assistant"]
"""The parts of a pipeline that can be governed: the user aggregator's strategies, the filter of the
audio output, and the gates around the model, the output transport and the assistant aggregator."""

NOT_POSTED = frozenset(
    {"audio_stopped", "audio_resumed", "interruption_detected", "backchannel_detected"}
)
"""A governed pipeline does not see the frames of the user's audio, and has no such detector."""

TRIGGERS_OF: Mapping[Part, Collection[str]] = {
    "user": (
        *("user_started_speaking", "user_stopped_speaking", "barge_in", "final_transcript"),
        *("interim_transcript", "endpointing_ended", "turn_committed", "turn_deferred"),
        *("hold_turn", "ignore_turn", "deferred_turn", "voice_unrecognised"),
        "preemptive_generation",
    ),
    "transport": ("start_playout", "output_held", "output_paused", "output_released"),
    "model": (
        "reply",
        "next_reply",
        "step_started",
        "step_progressed",
        "reply_requested",
        "reply_ready",
    ),
    "output": ("playout_started", "playout_finished", "turn_replied"),
    "assistant": ("step_finished", "results_committed"),
}

ACTIONS_OF: Mapping[Part, Collection[str]] = {
    "user": ("answer_turn", "discard_turn", "leave_turn"),
    "transport": (
        *("start_output", "hold_output", "release_output", "pause_output", "resume_output"),
        "drop_audio",
    ),
    "model": (
        *("request_reply", "request_with_results", "request_next_reply", "interrupt_speech"),
        "start_preemptive_generation",
    ),
    "output": (),
    "assistant": ("abandon_step",),
}

REMEDIES: Mapping[Part, str] = {
    "user": "build the aggregators with user_params=governor.user(LLMUserAggregatorParams(...))",
    "transport": "build the transport with params=governor.transport(TransportParams(...))",
    "model": "put the LLM service between the two aggregators in governor.processors([...])",
    "output": "put transport.output() behind the TTS service in governor.processors([...])",
    "assistant": "put the assistant aggregator behind the output in governor.processors([...])",
}


OTHERS = ". What another TurnGovernor governs does not count: one governs all parts of a pipeline"


KEY_OF_AUDIO = (
    " (the key no_audio of not_heard declares the triggers audio_stopped and audio_resumed)"
)


def check_flow(
    flow: Flow, posts: Iterable[str] | None = None, own_actions: Iterable[str] = ()
) -> None:
    """Refuse a flow that could not run on Pipecat.

    Args:
        posts: The triggers that the application posts itself; None: not known.
        own_actions: The actions and host facts that nothing implements.

    Raises:
        HostError: It could not run. The message names the trigger, action or state, and a remedy.
    """
    own = tuple(flow.triggers if posts is None else posts)
    for name in own:
        if name not in flow.triggers:
            raise HostError(
                f"posts names the trigger {name!r}, which flow {flow.name!r} does not declare; "
                f"{near(name, flow.triggers)}"
            )
    if missing := [repr(name) for name in own_actions]:
        raise HostError(
            f"flow {flow.name!r} needs {', '.join(missing)}, which nobody carries out or answers; "
            "give TurnGovernor actions=, an object with a method of each name"
        )
    ended = {name for action in flow.actions.values() for name in (action.done, action.failed)}
    posted = {*TRIGGERS, *OPTIONAL_TRIGGERS} - NOT_POSTED | {*own, *ended}
    if unknown := [repr(name) for name in flow.triggers if name not in posted]:
        raise HostError(
            f"flow {flow.name!r} declares {', '.join(unknown)}, which nothing posts on Pipecat; "
            "post it with governor.turn.post(...) and name it in posts=[...], or take it out"
            + (KEY_OF_AUDIO if "'audio_stopped'" in unknown else "")
        )
    if flow.turn_detection is not None:
        raise HostError(
            f"flow {flow.name!r} needs turn_detection={flow.turn_detection!r}, which turnfsm does "
            "not offer on Pipecat; use a flow without it, such as 'turn'"
        )
    tunings = (*(state.tuning for state in flow.states.values()), *flow.tools.tuning.values())
    if any(t.max_retries is not None or t.max_speech_duration is not None for t in tunings):
        raise HostError(
            f"flow {flow.name!r} limits preemptive replies (max_retries, max_speech_duration), and "
            "on Pipecat only the STT service does that; take them out of the tuning"
        )


def check_parts(flow: Flow, governed: Collection[Part]) -> None:
    """Refuse a pipeline that cannot post a trigger of the flow, or carry out an action.

    Args:
        governed: The governed parts.

    Raises:
        HostError: A part is missing. The message names the triggers and actions, and the remedy.
    """
    used = actions_used(flow)
    lacks = []
    for part, remedy in REMEDIES.items():
        if part not in governed:
            triggers = [name for name in TRIGGERS_OF[part] if name in flow.triggers]
            actions = [name for name in ACTIONS_OF[part] if name in used]
            lacking = f"nothing posts {', '.join(triggers)}"
            if actions:
                lacking += f", and nothing carries out {', '.join(actions)}"
            lacks.append(f"{lacking}: {remedy}")
    if lacks:
        raise HostError(
            f"flow {flow.name!r} cannot govern this pipeline. " + ". ".join(lacks) + OTHERS
        )
