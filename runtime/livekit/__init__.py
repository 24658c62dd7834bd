"""`TurnSession`: LiveKit voice agents whose turns are governed by a flow."""

from turnfsm.runtime.conversation.custom import host_fact, turn_action
from turnfsm.runtime.conversation.policies import on_interruption, repeatable

from .contract import SUPPORTED
from .errors import SpeechInterrupted, UnsupportedLiveKit
from .overrides import TurnContext
from .session import TurnSession

__all__ = [
    "SUPPORTED",
    "SpeechInterrupted",
    "TurnContext",
    "TurnSession",
    "UnsupportedLiveKit",
    "host_fact",
    "on_interruption",
    "repeatable",
    "turn_action",
]
