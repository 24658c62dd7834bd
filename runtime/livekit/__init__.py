"""`TurnSession`: LiveKit voice agents whose turns follow a flow."""

from turnfsm.runtime.conversation.custom import host_fact, turn_action
from turnfsm.runtime.conversation.policies import on_interruption, once, recover_with
from turnfsm.runtime.cut_off_call import CutOffCall, NotMade
from turnfsm.runtime.observe.telemetry import Telemetry

from .contract import SUPPORTED
from .errors import SpeechInterrupted, UnsupportedLiveKit
from .event_recorder import EventRecorder
from .overrides import TurnContext
from .session import TurnSession

__all__ = [
    "SUPPORTED",
    "CutOffCall",
    "EventRecorder",
    "NotMade",
    "SpeechInterrupted",
    "Telemetry",
    "TurnContext",
    "TurnSession",
    "UnsupportedLiveKit",
    "host_fact",
    "on_interruption",
    "once",
    "recover_with",
    "turn_action",
]
