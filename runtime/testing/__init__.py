"""A test kit for voice agents: virtual time, scripted speech, models and audio.

The clock needs nothing but asyncio. The scripted components need the extra `livekit` and are
imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .clock import NothingLeft, VirtualClock, VirtualLoop, VirtualTimeError, VirtualTimeLimit, run
from .paths import play_path
from .properties import broken_properties
from .schedules import PermutedLoop

if TYPE_CHECKING:
    from runtime.livekit.paths import session_paths, walk_path
    from runtime.livekit.testing import (
        Call,
        Event,
        Heard,
        LiveStage,
        Outcome,
        Played,
        Reply,
        Request,
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
        ToolRun,
        Utterance,
        play_script,
    )

    from .script import Script, ScriptError, load_script

__all__ = [
    "Call",
    "Event",
    "Heard",
    "LiveStage",
    "NothingLeft",
    "Outcome",
    "PermutedLoop",
    "Played",
    "Reply",
    "Request",
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
    "ToolRun",
    "Utterance",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTimeError",
    "VirtualTimeLimit",
    "broken_properties",
    "load_script",
    "play_path",
    "play_script",
    "run",
    "session_paths",
    "walk_path",
]


_HOMES = {
    **dict.fromkeys(("Script", "ScriptError", "load_script"), "runtime.testing.script"),
    **dict.fromkeys(("session_paths", "walk_path"), "runtime.livekit.paths"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "runtime.livekit.testing")), name)
