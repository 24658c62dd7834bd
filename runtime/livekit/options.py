"""The keyword arguments of `AgentSession`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict, TypeVar

from livekit.agents import NOT_GIVEN
from livekit.agents.utils import is_given
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm import Flow

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from livekit import rtc
    from livekit.agents import llm, stt, tts, vad
    from livekit.agents.inference import LLMModels, RealtimeModels, STTModels, TTSModels
    from livekit.agents.llm import mcp
    from livekit.agents.types import NotGivenOr
    from livekit.agents.voice import room_io
    from livekit.agents.voice.agent_session import (
        ExpressiveOptions,
        RecordingOptions,
        SessionConnectOptions,
    )
    from livekit.agents.voice.keyterm_detection import KeytermsOptions, STTContextOptions
    from livekit.agents.voice.tool_executor import ToolHandlingOptions
    from livekit.agents.voice.transcription.text_transforms import TextTransforms
    from livekit.agents.voice.turn import (
        PreemptiveGenerationOptions,
        TurnDetectionMode,
        TurnHandlingOptions,
    )

    from turnfsm.runtime.livekit.stock import AgentSession

__all__ = [
    "SessionOptions",
    "StartOptions",
    "VideoSampler",
    "gives_timeout",
    "let_flow_hear",
    "shows_options_of",
    "with_turn_detection",
]

logger = logging.getLogger("turnfsm")

_Method = TypeVar("_Method", bound=Callable[..., Any])

_TIMEOUT = "false_interruption_timeout"
_DISCARD = "discard_audio_if_uninterruptible"

_DEPRECATED = {_TIMEOUT: (_TIMEOUT, "agent_false_interruption_timeout"), _DISCARD: (_DISCARD,)}
"""Deprecated arguments of the session, by the new argument with the same meaning."""

_BEFORE_HANDLING = (
    *("min_endpointing_delay", "max_endpointing_delay", "preemptive_generation"),
    *("min_interruption_duration", "min_interruption_words", "allow_interruptions"),
    *("resume_false_interruption", *_DEPRECATED[_TIMEOUT], _DISCARD),
)
"""Deprecated arguments that LiveKit does not read if `turn_handling` is given."""


class VideoSampler(Protocol):
    """Decides whether a frame of the user's video is passed on."""

    def __call__(self, frame: rtc.VideoFrame, session: AgentSession[Any]) -> bool: ...


class SessionOptions(TypedDict, Generic[Userdata_T], total=False):
    """The keyword arguments of `AgentSession`, for type checkers and editors.

    A test compares these with LiveKit's signature.
    """

    stt: NotGivenOr[stt.STT[Any] | STTModels | str]
    vad: NotGivenOr[vad.VAD | None]
    llm: NotGivenOr[
        llm.LLM[Any] | llm.RealtimeModel | llm.DuplexModel | LLMModels | RealtimeModels | str
    ]
    tts: NotGivenOr[tts.TTS[Any] | TTSModels | str]
    turn_handling: NotGivenOr[TurnHandlingOptions]
    stt_context_options: NotGivenOr[STTContextOptions]
    tools: NotGivenOr[list[llm.Tool | llm.Toolset]]
    tool_handling: NotGivenOr[ToolHandlingOptions]
    max_tool_steps: int
    use_tts_aligned_transcript: NotGivenOr[bool]
    tts_text_transforms: NotGivenOr[Sequence[TextTransforms] | None]
    min_consecutive_speech_delay: float
    expressive: bool | ExpressiveOptions
    userdata: NotGivenOr[Userdata_T]
    video_sampler: NotGivenOr[VideoSampler | None]
    aec_warmup_duration: NotGivenOr[float | None]
    ivr_detection: bool
    user_away_timeout: float | None
    transcription_timeout: float | None
    session_close_transcript_timeout: float
    conn_options: NotGivenOr[SessionConnectOptions]
    loop: asyncio.AbstractEventLoop | None
    # deprecated by LiveKit, still supported
    preemptive_generation: NotGivenOr[bool | PreemptiveGenerationOptions]
    min_endpointing_delay: NotGivenOr[float]
    max_endpointing_delay: NotGivenOr[float]
    false_interruption_timeout: NotGivenOr[float | None]
    turn_detection: NotGivenOr[TurnDetectionMode]
    discard_audio_if_uninterruptible: NotGivenOr[bool]
    min_interruption_duration: NotGivenOr[float]
    min_interruption_words: NotGivenOr[int]
    allow_interruptions: NotGivenOr[bool]
    resume_false_interruption: NotGivenOr[bool]
    agent_false_interruption_timeout: NotGivenOr[float | None]
    mcp_servers: NotGivenOr[list[mcp.MCPServer]]
    keyterms_options: NotGivenOr[KeytermsOptions]


class StartOptions(TypedDict, total=False):
    """The keyword arguments of `AgentSession.start` except `capture_run`."""

    room: NotGivenOr[rtc.Room]
    room_options: NotGivenOr[room_io.RoomOptions]
    session_host: NotGivenOr[bool]
    record: bool | RecordingOptions
    # deprecated by LiveKit
    room_input_options: NotGivenOr[room_io.RoomInputOptions]
    room_output_options: NotGivenOr[room_io.RoomOutputOptions]


def shows_options_of(original: Callable[..., Any]) -> Callable[[_Method], _Method]:
    """Let `inspect.signature` and `help` show the keywords of LiveKit's method for ``**options``.

    Args:
        original: LiveKit's method, to which ``**options`` are passed on.

    Returns:
        A decorator.
    """

    def decorate(method: _Method) -> _Method:
        own = inspect.signature(method)
        shown = {
            name: parameter
            for name, parameter in own.parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        }
        shown = dict(inspect.signature(original).parameters) | shown
        method.__signature__ = own.replace(parameters=list(shown.values()))  # type: ignore[attr-defined]
        return method

    return decorate


def with_turn_detection(
    flow: Flow, given: SessionOptions[Userdata_T]
) -> SessionOptions[Userdata_T]:
    """The arguments of the application, with manual turn detection if the flow needs it and they
    name none."""
    if flow.turn_detection != "manual" or "turn_detection" in given:
        return given
    handling = given.get("turn_handling", NOT_GIVEN)
    if is_given(handling):
        manual: TurnHandlingOptions = {"turn_detection": "manual", **handling}
        return {**given, "turn_handling": manual}
    if any(is_given(given.get(old, NOT_GIVEN)) for old in _BEFORE_HANDLING):
        return {**given, "turn_detection": "manual"}
    return {**given, "turn_handling": {"turn_detection": "manual"}}


def let_flow_hear(
    flow: Flow, given: Mapping[str, Any], interruption: MutableMapping[str, Any]
) -> None:
    """Let the STT hear the user during uninterruptible speech, if the flow says so.

    If neither the flow nor the application sets this, and the flow makes something of the agent
    uninterruptible, a warning is logged.

    Args:
        flow: The flow. Arguments of the application override it.
        given: The keyword arguments of the session.
        interruption: LiveKit's options made from them.
    """
    if _is_given(_DISCARD, given):
        return
    if not flow.discard_audio_if_uninterruptible:
        interruption[_DISCARD] = False
        return
    texts = [f"text {n!r}" for n, a in flow.actions.items() if a.audible and not a.interruptible]
    texts += [f"{kind} {n!r}" for kind, n, one, _ in flow.tunings if one.interruptible is False]
    if texts and not (flow.source is not None and flow.source.written((_DISCARD,))):
        logger.warning(
            "the user's speech is discarded while the %s makes the agent's speech "
            "uninterruptible: livekit-agents gives the STT silence meanwhile. To answer the user "
            "afterwards, write '%s: false' in the flow %s (the line must be without echo); to "
            "discard it without this warning, write true",
            texts[0],
            _DISCARD,
            flow.name,
        )


def gives_timeout(given: Mapping[str, Any]) -> bool:
    """The application has given a `false_interruption_timeout`."""
    return _is_given(_TIMEOUT, given)


def _is_given(name: str, given: Mapping[str, Any]) -> bool:
    """LiveKit reads its deprecated arguments only if `turn_handling` is not given."""
    if is_given(handling := given.get("turn_handling", NOT_GIVEN)):
        return name in (handling.get("interruption") or {})
    return any(is_given(given.get(old, NOT_GIVEN)) for old in _DEPRECATED[name])
