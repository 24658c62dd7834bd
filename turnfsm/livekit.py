"""LiveKit voice agents whose turns are governed by a flow. Needs `pip install 'turnfsm[livekit]'`.

Example::

    from turnfsm.livekit import TurnSession  # instead of livekit.agents.AgentSession

    session = TurnSession(stt=..., llm=..., tts=..., vad=...)
    await session.start(agent)
"""

from turnfsm.runtime.livekit import (
    SUPPORTED,
    SpeechInterrupted,
    TurnContext,
    TurnSession,
    UnsupportedLiveKit,
    on_interruption,
    repeatable,
)

__all__ = [
    "SUPPORTED",
    "SpeechInterrupted",
    "TurnContext",
    "TurnSession",
    "UnsupportedLiveKit",
    "on_interruption",
    "repeatable",
]


def __dir__() -> list[str]:
    return __all__
