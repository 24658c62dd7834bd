"""The errors of the LiveKit binding."""

from __future__ import annotations

import logging

from livekit.agents import ToolError
from livekit.agents.log import logger as livekit_logger

__all__ = ["SpeechInterrupted"]


class SpeechInterrupted(ToolError):
    """The user objects to what a tool is about to do, or the application has interrupted it.

    `TurnContext.commit_point` raises it, so that the side effect after it does not happen.
    `RunContext.wait_for_playout` also raises it, unless the call has passed a commit point or its
    policy is hold or finish. An acknowledgement, such as "okay, bye", is no objection; the flow
    lists them. If the tool does not catch the error, its message becomes the output of the call.

    Args:
        speech_id: The id of the speech that was interrupted.
        message: The text.

    Attributes:
        speech_id: As above.
    """

    def __init__(self, speech_id: str, message: str) -> None:
        super().__init__(_Expected(message))
        self.speech_id = speech_id


class _Expected(str):
    """A message for which LiveKit should log no warning."""


class _NoWarning(logging.Filter):
    """LiveKit logs a warning for every `ToolError`, but an interruption by the user is normal."""

    def filter(self, record: logging.LogRecord) -> bool:
        args = record.args if isinstance(record.args, tuple) else ()  # since 1.8.9 it is a field
        error = record.__dict__.get("lk.pii.error")
        return not any(isinstance(value, _Expected) for value in (error, *args))


livekit_logger.addFilter(_NoWarning())
