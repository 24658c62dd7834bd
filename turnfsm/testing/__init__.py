"""A test kit for voice agents: virtual time, scripted speech, models and audio.

`turnfsm.testing.plugin` has the pytest fixture `virtual_time`, `turnfsm.testing.scenarios` plays
YAML scenarios. The scripted parts need `pip install 'turnfsm[livekit]'`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnfsm.fsm.audit.properties import broken_properties
from turnfsm.runtime.extras import not_installed
from turnfsm.runtime.testing.clock import (
    DeadlockError,
    VirtualClock,
    VirtualLoop,
    VirtualTimeError,
    VirtualTimeLimit,
    run,
)
from turnfsm.runtime.testing.schedules import PermutedLoop

if TYPE_CHECKING:
    from turnfsm.runtime.testing.livekit import (
        REQUEST_FORMATS,
        Call,
        Heard,
        LiveStage,
        Outcome,
        Played,
        Reply,
        Request,
        RequestEntry,
        ScriptedAudioInput,
        ScriptedAudioOutput,
        ScriptedLLM,
        ScriptedRealtime,
        ScriptedSTT,
        ScriptedTTS,
        ScriptedUser,
        ScriptedVAD,
        Speech,
        Stage,
        TimelineEntry,
        ToolRun,
        Utterance,
        formatted_request,
        play_script,
        realtime_request,
        request_problems,
    )
    from turnfsm.runtime.testing.script import Script
    from turnfsm.runtime.testing.script_file import ScriptError, load_script

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
    "play_script",
    "realtime_request",
    "request_problems",
    "run",
]


_HOMES = {"Script": "script", "ScriptError": "script_file", "load_script": "script_file"}


def __getattr__(name: str) -> Any:
    # On first use: the clock needs no LiveKit, the scripted parts do.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(f"turnfsm.runtime.testing.{_HOMES.get(name, 'livekit')}")
    except ModuleNotFoundError as error:
        raise not_installed(
            f"turnfsm.testing.{name}", "livekit-agents", "livekit", error
        ) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return __all__
