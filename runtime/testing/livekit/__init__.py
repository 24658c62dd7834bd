"""Scripted components that replace microphone, VAD, STT, LLM, TTS and audio output."""

from turnfsm.runtime.testing.heard import Heard, TimelineEntry
from turnfsm.runtime.testing.script_checks import Played

from .duplex import ScriptedDuplex
from .ears import ScriptedSTT, ScriptedVAD
from .live import LiveStage
from .outcome import Outcome, Speech, ToolRun
from .player import play_script
from .realtime import ScriptedRealtime
from .requests import (
    REQUEST_FORMATS,
    RequestEntry,
    formatted_request,
    realtime_request,
    request_problems,
)
from .scripted_llm import Call, Reply, Request, ScriptedLLM
from .speaker import ScriptedAudioOutput
from .stage import Stage
from .user import ScriptedAudioInput, ScriptedUser, Utterance
from .voice import ScriptedTTS

__all__ = [
    "REQUEST_FORMATS",
    "Call",
    "Heard",
    "LiveStage",
    "Outcome",
    "Played",
    "Reply",
    "Request",
    "RequestEntry",
    "ScriptedAudioInput",
    "ScriptedAudioOutput",
    "ScriptedDuplex",
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
    "formatted_request",
    "play_script",
    "realtime_request",
    "request_problems",
]
