"""The errors of the LiveKit binding."""

from __future__ import annotations

import logging

from livekit.agents import ToolError
from livekit.agents.log import logger as livekit_logger

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
        super().__init__(_Expected(message))
        self.speech_id = speech_id


class _Expected(str):
    """What a tool says of an interruption; nobody needs to be warned of it."""


class _NoWarning(logging.Filter):
    """LiveKit warns of every `ToolError`; that the user interrupts is ordinary."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not isinstance(record.__dict__.get("lk.pii.error"), _Expected)


livekit_logger.addFilter(_NoWarning())
