"""A recogniser whose manual commits are carried out, whatever is heard meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents.voice.audio_recognition import AudioRecognition

__all__ = ["GovernedRecognition"]


class GovernedRecognition(AudioRecognition):
    """LiveKit cancels an open end-of-turn decision when voice is heard. That is right for a
    decision that silence triggered, and wrong for a turn that the application has committed
    (livekit/agents#7010)."""

    _committing = False

    def _run_eou_detection(self, *args: Any, **kwargs: Any) -> None:
        self._committing = kwargs.get("trigger") == "manual"
        try:
            super()._run_eou_detection(*args, **kwargs)
        finally:
            self._committing = False

    @property
    def _end_of_turn_task(self) -> Any:
        return self.__dict__.get("_end_of_turn_task")

    @_end_of_turn_task.setter
    def _end_of_turn_task(self, task: Any) -> None:
        # What LiveKit cancels is then the shield, not the commit behind it.
        self.__dict__["_end_of_turn_task"] = asyncio.shield(task) if self._committing else task
