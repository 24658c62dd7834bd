"""`TurnSession`: LiveKit voice agents whose turns follow a flow.

Needs `pip install 'turnfsm[livekit]'`.

Example::

    from turnfsm.livekit import TurnSession  # instead of livekit.agents.AgentSession

    session = TurnSession(stt=..., llm=..., tts=..., vad=...)
    await session.start(agent)
"""

from turnfsm.runtime.extras import not_installed

try:
    import livekit.agents  # noqa: F401
except ModuleNotFoundError as error:
    raise not_installed("turnfsm.livekit", "livekit-agents", "livekit", error) from error

from turnfsm.runtime.conversation.classifying import Transcript, classifier
from turnfsm.runtime.conversation.custom import host_fact, turn_action
from turnfsm.runtime.conversation.policies import on_interruption, once, recover_with
from turnfsm.runtime.livekit.context import TurnContext
from turnfsm.runtime.livekit.errors import SpeechInterrupted
from turnfsm.runtime.livekit.event_recorder import EventRecorder
from turnfsm.runtime.livekit.rollout import rollout
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.smart_turn import SmartTurn
from turnfsm.runtime.livekit_contract import SUPPORTED, UnsupportedLiveKit
from turnfsm.runtime.observe.telemetry import Telemetry
from turnfsm.runtime.orphaned_call import NotMade, OrphanedCall
from turnfsm.runtime.view.live import LiveView

__all__ = [
    "SUPPORTED",
    "EventRecorder",
    "LiveView",
    "NotMade",
    "OrphanedCall",
    "SmartTurn",
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
