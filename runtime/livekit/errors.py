"""The errors of the LiveKit binding."""

from __future__ import annotations

from livekit.agents import ToolError

from turnfsm.fsm import TurnfsmError

__all__ = ["SpeechInterrupted", "UnsupportedLiveKit"]


class UnsupportedLiveKit(TurnfsmError):
    """The installed livekit-agents is not one that the binding was written for."""


class SpeechInterrupted(ToolError):
    """A tool waited for a speech that will not be played to its end.

    Raised from `TurnContext.commit_point`, and from `RunContext.wait_for_playout` unless the call
    has passed a commit point or its policy is hold or finish: a side effect that follows does not
    happen. A tool that does not catch it ends with this error as its output.

    Attributes:
        speech_id: The speech that was interrupted.
    """

    def __init__(self, speech_id: str, message: str) -> None:
        super().__init__(message)
        self.speech_id = speech_id
