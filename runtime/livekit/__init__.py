"""`TurnSession`: LiveKit voice agents whose turns are governed by a flow."""

from ._contract import SUPPORTED
from ._seams import TurnContext
from .errors import SpeechInterrupted, UnsupportedLiveKit
from .policy import on_interruption, repeatable
from .session import TurnSession

__all__ = [
    "SUPPORTED",
    "SpeechInterrupted",
    "TurnContext",
    "TurnSession",
    "UnsupportedLiveKit",
    "on_interruption",
    "repeatable",
]
