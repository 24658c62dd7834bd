"""`TurnSession`: LiveKit voice agents whose turns are governed by a flow."""

from .errors import SpeechInterrupted, UnsupportedLiveKit
from .session import TurnSession

__all__ = ["SpeechInterrupted", "TurnSession", "UnsupportedLiveKit"]
