"""Conversations of a Pipecat pipeline in virtual time, governed or with Pipecat alone.

Needs `pip install 'turnfsm[pipecat]'`. docs/testing.md has an example.
"""

from turnfsm.runtime.extras import not_installed

try:
    import pipecat.frames.frames  # noqa: F401
except ModuleNotFoundError as error:
    raise not_installed("turnfsm.testing.pipecat", "pipecat-ai", "pipecat", error) from error

from turnfsm.runtime.testing.pipecat import (
    Loudspeaker,
    Messages,
    Microphone,
    Model,
    Outcome,
    RealtimeServer,
    Request,
    Says,
    Script,
    ScriptedModel,
    ScriptedVAD,
    Stage,
    Tool,
    ToolRun,
    Voice,
    own_strategies,
    play_script,
    said,
    shows,
)

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


def __dir__() -> list[str]:
    return __all__
