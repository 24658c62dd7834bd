"""Which part of a Pipecat pipeline posts each trigger of a flow, and which carries out each
action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import attrs

from turnfsm.fsm import Flow, HostError, TurnfsmError
from turnfsm.fsm.errors import near
from turnfsm.runtime.conversation.vocabulary import (
    OPTIONAL_TRIGGERS,
    TRIGGERS,
    actions_used,
)

__all__ = ["PARTS", "Parts", "check_flow", "fixed_texts", "not_promised", "unposted"]

PartName = Literal["user", "transport", "model", "output", "assistant"]

_SPECULATION = ("max_retries", "max_speech_duration", "preemptive_tts")
NOT_POSTED = frozenset(
    {"audio_stopped", "audio_resumed", "interruption_detected", "backchannel_detected"}
)
"""A governed pipeline does not see the frames of the user's audio, and has no such detector."""


def _names(text: str) -> list[str]:
    return text.split()


@attrs.frozen
class Part:
    """A part of a pipeline that can be governed: its triggers, its actions, and how it becomes
    governed."""

    triggers: list[str] = attrs.field(converter=_names)
    actions: list[str] = attrs.field(converter=_names)
    remedy: str


PARTS: Mapping[PartName, Part] = {
    "user": Part(
        "user_started_speaking user_stopped_speaking barge_in interim_transcript final_transcript "
        "voice_unrecognised endpointing_ended preemptive_generation turn_committed turn_deferred "
        "hold_turn ignore_turn deferred_turn",
        "answer_turn discard_turn leave_turn",
        "build the aggregators with user_params=governor.user(LLMUserAggregatorParams(...))",
    ),
    "transport": Part(
        "start_playout output_held output_paused output_released",
        "start_output hold_output release_output pause_output resume_output drop_audio",
        "build the transport with params=governor.transport(TransportParams(...))",
    ),
    "model": Part(
        "reply next_reply step_started step_progressed reply_requested reply_ready",
        "request_reply request_with_results request_next_reply interrupt_speech "
        "start_preemptive_generation",
        "put the LLM service between the two aggregators in governor.processors([...])",
    ),
    "output": Part(
        "playout_started playout_finished turn_replied",
        "",
        "put transport.output() behind the TTS service in governor.processors([...])",
    ),
    "assistant": Part(
        "step_finished results_committed",
        "abandon_step",
        "put the assistant aggregator behind the output in governor.processors([...])",
    ),
}

OTHERS = ". What another TurnGovernor governs does not count: one governs all parts of a pipeline"


class Parts:
    """The parts of a pipeline that a governor governs so far."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._governed: set[PartName] = set()

    def add(self, part: PartName) -> None:
        """A part is governed from now on. Each may be only once."""
        if part in self._governed:
            raise TurnfsmError(
                f"the {part} of this TurnGovernor is given twice; a governor has one pipeline with "
                "one LLM service: make another TurnGovernor for another pipeline"
            )
        self._governed.add(part)

    def check(self, *, without: PartName | None = None) -> None:
        """Raise a `HostError` if a part is missing. It names the triggers that nothing posts, the
        actions that nothing carries out, and the remedy.

        Args:
            without: A part that the pipeline does not use.
        """
        used, lacks = actions_used(self._flow), []
        for name, part in PARTS.items():
            if name in self._governed and name != without:
                continue
            triggers = ", ".join(one for one in part.triggers if one in self._flow.triggers)
            actions = ", ".join(one for one in part.actions if one in used)
            lacking = f", and nothing carries out {actions}" if actions else ""
            lacks.append(f"nothing posts {triggers}{lacking}: {part.remedy}")
        if lacks:
            raise HostError(
                f"flow {self._flow.name!r} cannot govern this pipeline. "
                + ". ".join(lacks)
                + OTHERS
            )


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
    if unknown := [repr(name) for name in unposted(flow) if name not in own]:
        raise HostError(
            f"flow {flow.name!r} declares {', '.join(unknown)}, which nothing posts on Pipecat; "
            "post it with governor.turn.post(...) and name it in posts=[...], or take it out"
            + (KEY_OF_AUDIO if "'audio_stopped'" in unknown else "")
        )
    if flow.turn_detection not in (None, "realtime_llm"):
        raise HostError(
            f"flow {flow.name!r} needs turn_detection={flow.turn_detection!r}, which turnfsm does "
            "not offer on Pipecat; use a flow without it, such as 'turn'"
        )
    tunings = [tuning for _, _, tuning, _ in flow.tunings]
    used = {key for one in tunings for key, value in attrs.asdict(one).items() if value is not None}
    if keys := [key for key in _SPECULATION if key in used]:
        raise HostError(
            f"flow {flow.name!r} tunes preemptive replies ({', '.join(keys)}), and on Pipecat only "
            "the STT service does that; take this out of the tuning"
        )
    if flow.overlays:
        raise HostError(
            f"flow {flow.name!r} has overlays, by agent, and a Pipecat pipeline has no agents; "
            "write them as the tuning of states or tools"
        )


def unposted(flow: Flow) -> list[str]:
    """The triggers of a flow that only the application can post."""
    ended = {name for action in flow.actions.values() for name in (action.done, action.failed)}
    posted = {*TRIGGERS, *OPTIONAL_TRIGGERS} - NOT_POSTED | ended
    return [name for name in flow.triggers if name not in posted]


def fixed_texts(flow: Flow) -> list[str]:
    """The actions that say a fixed text."""
    return [name for name, action in flow.actions.items() if action.say]


def not_promised(flow: Flow) -> Iterator[str]:
    """What a realtime service needs for this flow, and what cannot be promised then."""
    if flow.turn_detection is None:
        yield "its turn detection must be off, and the pipeline needs a VAD and an STT"
    else:
        yield "its turn detection must be on"
        yield "it stops when it hears a noise, too, and may answer it; nothing is paused"
        yield "it may mention a result before the flow requests that"
        if flow.tools.confirm:
            yield "'confirm' needs its transcripts, and delays its answer until they come"
    if "yield_floor" in flow.actions:
        yield "refused: such a service cannot wait for a filler ('fillers' in thinking)"
    if texts := fixed_texts(flow):
        yield f"it does not speak fixed texts ({', '.join(texts)}): the pipeline needs a TTS, too"
    if flow.turn_detection is None and "preemptive_generation" in flow.triggers:
        yield "no reply is requested before the turn is committed (preemptive_generation)"
    yield "of an interrupted answer it may believe that more was heard than the user has heard"
