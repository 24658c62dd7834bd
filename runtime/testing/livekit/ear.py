"""The input buffer of a scripted model that hears the user itself."""

from __future__ import annotations

from math import inf
from typing import Literal

from livekit import rtc

from .user import FRAME, ScriptedUser, code_of, offset_of

__all__ = ["Ear"]


class Ear:
    """The part of each utterance that was heard since the last `take`.

    Args:
        user: The user.
        silence: Seconds of silence that end speech.
    """

    def __init__(self, user: ScriptedUser, silence: float) -> None:
        self._user, self._silence = user, silence
        self._heard: dict[int, tuple[float, float]] = {}
        self._speaking = False
        self._quiet = 0.0

    def hear(self, frame: rtc.AudioFrame) -> Literal["starts", "ends", ""]:
        """Take a frame. Returns whether speech starts or ends with it."""
        code = code_of(frame)
        if code:
            at = offset_of(frame)
            start, _ = self._heard.get(code, (at, at))
            self._heard[code] = (start, round(at + FRAME, 6))  # where the next frame begins
        self._quiet = 0.0 if code else self._quiet + frame.duration
        if code and not self._speaking:
            self._speaking = True
            return "starts"
        if self._speaking and self._quiet >= self._silence:
            self._speaking = False
            return "ends"
        return ""

    def take(self) -> tuple[str, float]:
        """Empty the buffer. Returns the text, and the delay of its transcript."""
        words, delays = [], [0.0]
        for code, (start, end) in self._heard.items():
            utterance = self._user.utterance(code)
            # The last frame may hold less than FRAME of the sound.
            whole = end >= utterance.duration
            words.append(utterance.words_between(start, inf if whole else end))
            delays.append(utterance.stt_delay or 0.0)
        self.clear()
        return " ".join(filter(None, words)), max(delays)

    def clear(self) -> None:
        self._heard.clear()
