"""A test kit for voice agents: virtual time, scripted speech, models and audio.

`turnfsm.testing.plugin` has the pytest fixture `virtual_time`, `turnfsm.testing.scenarios` plays
YAML scenarios. The scripted parts need `pip install 'turnfsm[livekit]'`.
"""

from typing import TYPE_CHECKING, Any

from turnfsm.runtime import testing as _testing

if TYPE_CHECKING:
    from turnfsm.runtime.testing import (
        REQUEST_FORMATS,
        Call,
        DeadlockError,
        Heard,
        LiveStage,
        Outcome,
        PermutedLoop,
        Played,
        Reply,
        Request,
        RequestEntry,
        Script,
        ScriptedAudioInput,
        ScriptedAudioOutput,
        ScriptedLLM,
        ScriptedRealtime,
        ScriptedSTT,
        ScriptedTTS,
        ScriptedUser,
        ScriptedVAD,
        ScriptError,
        Speech,
        Stage,
        TimelineEntry,
        ToolRun,
        Utterance,
        VirtualClock,
        VirtualLoop,
        VirtualTimeError,
        VirtualTimeLimit,
        broken_properties,
        formatted_request,
        load_script,
        play_path,
        play_script,
        realtime_request,
        request_problems,
        run,
        session_paths,
        walk_path,
    )

__all__ = [
    "REQUEST_FORMATS",
    "Call",
    "DeadlockError",
    "Heard",
    "LiveStage",
    "Outcome",
    "PermutedLoop",
    "Played",
    "Reply",
    "Request",
    "RequestEntry",
    "Script",
    "ScriptError",
    "ScriptedAudioInput",
    "ScriptedAudioOutput",
    "ScriptedLLM",
    "ScriptedRealtime",
    "ScriptedSTT",
    "ScriptedTTS",
    "ScriptedUser",
    "ScriptedVAD",
    "Speech",
    "Stage",
    "TimelineEntry",
    "ToolRun",
    "Utterance",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTimeError",
    "VirtualTimeLimit",
    "broken_properties",
    "formatted_request",
    "load_script",
    "play_path",
    "play_script",
    "realtime_request",
    "request_problems",
    "run",
    "session_paths",
    "walk_path",
]


def __getattr__(name: str) -> Any:
    # On first use: the clock needs no LiveKit, the scripted parts do.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_testing, name)


def __dir__() -> list[str]:
    return __all__
