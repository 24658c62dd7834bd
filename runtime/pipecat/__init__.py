"""`TurnGovernor`: Pipecat pipelines whose turns follow a flow."""

from turnfsm.runtime.conversation.policies import on_interruption, once

from .errors import SpeechInterrupted
from .governor import TurnGovernor

__all__ = ["SpeechInterrupted", "TurnGovernor", "on_interruption", "once"]
