"""LiveKit's AudioRecognition with one change: a voice does not cancel a manual commit."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents.voice.audio_recognition import (
    AudioRecognition,
    _EndOfTurnInfo,
    _EndOfTurnMetrics,
)

__all__ = ["GovernedRecognition", "turn_of"]


class GovernedRecognition(AudioRecognition):
    """An AudioRecognition in which a voice does not cancel a manual commit.

    LiveKit cancels an open end-of-turn decision when voice is heard. That is right for a decision
    after silence, and wrong for a turn that the application has committed (livekit/agents#7010).
    """

    _committing = False
    _commit: asyncio.Task[None] | None = None
    _promised: asyncio.Future[str] | None = None

    def _run_eou_detection(self, *args: Any, **kwargs: Any) -> None:
        self._committing = kwargs.get("trigger") == "manual"
        try:
            super()._run_eou_detection(*args, **kwargs)
        finally:
            self._committing = False

    def _commit_user_turn(self, **how: Any) -> asyncio.Future[str]:
        self._promised = super()._commit_user_turn(**how)
        return self._promised

    def _clear_user_turn(self) -> None:
        self._cancel_commit()
        self._end_wait_for_words()
        super()._clear_user_turn()

    def _end_wait_for_words(self) -> None:
        # A commit that still waits for words would end the next turn.
        if self._promised is not None and not self._promised.done():
            self._promised.set_result("")  # the application may wait for it
            if self._commit_user_turn_atask is not None:
                self._commit_user_turn_atask.cancel()

    @property
    def _end_of_turn_task(self) -> Any:
        task: Any = self.__dict__.get("_end_of_turn_task")
        if self._commit is not None and not self._commit.done() and task.done():
            # Voice has cancelled the shield, not the commit inside it.
            task = self.__dict__["_end_of_turn_task"] = asyncio.shield(self._commit)
        return task

    @_end_of_turn_task.setter
    def _end_of_turn_task(self, task: Any) -> None:
        # A decision that takes the place of a commit is the commit, with the words that have come
        # since: both would end the same turn, the second one without words.
        replaces = self._cancel_commit()
        self._commit = task if replaces or self._committing else None
        self.__dict__["_end_of_turn_task"] = task if self._commit is None else asyncio.shield(task)

    def _cancel_commit(self) -> bool:
        commit, self._commit = self._commit, None
        return commit is not None and commit.cancel()

    def take_uncommitted_transcript(self) -> _EndOfTurnInfo | None:
        """The recognised words that are in no committed turn, as a turn."""
        words, self._audio_transcript = self._audio_transcript, ""
        if not words:
            return None
        sure = self._final_transcript_confidence
        return turn_of(words, sum(sure) / len(sure) if sure else 0.0)

    @property
    def uncommitted_words(self) -> str:
        """The recognised words that are in no committed turn."""
        return self._audio_transcript

    def resume_with(self, words: str) -> None:
        """Begin with words that the agent before has recognised; they are committed later."""
        self._audio_transcript = words

    @property
    def commits_by_itself(self) -> bool:
        """Turn detection is not manual."""
        return bool(self._turn_detection_mode != "manual")


def turn_of(words: str, confidence: float) -> _EndOfTurnInfo:
    """A turn of the user, as LiveKit describes it."""
    return _EndOfTurnInfo(
        skip_reply=False,
        new_transcript=words,
        transcript_confidence=confidence,
        metrics=_EndOfTurnMetrics(None, None, None, None),
    )
