"""Scripted parts of a Pipecat pipeline, and a stage that plays a conversation in virtual time."""

from .outcome import Outcome, Request, ToolRun
from .parts import (
    Loudspeaker,
    Messages,
    Microphone,
    Model,
    Says,
    ScriptedModel,
    ScriptedVAD,
    Voice,
    said,
    shows,
)
from .player import play_script
from .realtime import RealtimeServer
from .stage import Script, Stage, Tool, own_strategies

__all__ = [
    "Loudspeaker",
    "Messages",
    "Microphone",
    "Model",
    "Outcome",
    "RealtimeServer",
    "Request",
    "Says",
    "Script",
    "ScriptedModel",
    "ScriptedVAD",
    "Stage",
    "Tool",
    "ToolRun",
    "Voice",
    "own_strategies",
    "play_script",
    "said",
    "shows",
]
