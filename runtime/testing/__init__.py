"""A test kit for voice agents: virtual time, scripted speech, models and audio.

The clock needs nothing but asyncio. The scripted components need the extra `livekit` and are
imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .clock import NothingLeft, VirtualClock, VirtualLoop, VirtualTimeError, VirtualTimeLimit, run
from .schedules import PermutedLoop

if TYPE_CHECKING:
    from runtime.livekit.testing import (
        Call,
        Event,
        Heard,
        Outcome,
        Played,
        Reply,
        Request,
        ScriptedAudioInput,
        ScriptedAudioOutput,
        ScriptedLLM,
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
    "load_script",
    "play_script",
    "run",
]


_SCRIPT = {"Script", "ScriptError", "load_script"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "runtime.testing.script" if name in _SCRIPT else "runtime.livekit.testing"
    return getattr(import_module(home), name)
