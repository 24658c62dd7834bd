"""`TurnSession`: LiveKit voice agents whose turns follow a flow.

Needs `pip install 'turnfsm[livekit]'`.

Example::

    from turnfsm.livekit import TurnSession  # instead of livekit.agents.AgentSession

    session = TurnSession(stt=..., llm=..., tts=..., vad=...)
    await session.start(agent)
"""

try:
    import livekit.agents  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"turnfsm.livekit needs livekit-agents ({error}): pip install 'turnfsm[livekit]'",
        name=error.name,
    ) from error

from turnfsm.runtime.livekit import (
    SUPPORTED,
    CutOffCall,
    EventRecorder,
    NotMade,
    SpeechInterrupted,
    Telemetry,
    Transcript,
    TurnContext,
    TurnSession,
    UnsupportedLiveKit,
    classifier,
    host_fact,
    on_interruption,
    once,
    recover_with,
    rollout,
    turn_action,
)
from turnfsm.runtime.view.live import LiveView

__all__ = [
    "SUPPORTED",
    "CutOffCall",
    "EventRecorder",
    "LiveView",
    "NotMade",
    "SpeechInterrupted",
    "Telemetry",
    "Transcript",
    "TurnContext",
    "TurnSession",
    "UnsupportedLiveKit",
    "classifier",
    "host_fact",
    "on_interruption",
    "once",
    "recover_with",
    "rollout",
    "turn_action",
]


def __dir__() -> list[str]:
    return __all__
