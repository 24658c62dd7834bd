"""A voice that only transcripts show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["TranscribedVoice"]


class TranscribedVoice:
    """The user's voice where neither a VAD nor the STT reports its start.

    It begins with an interim transcript. It ends with the final one, or when no transcript has come
    for so long that none is expected any more.

    Args:
        begins: Called when it begins.
        ends: Called when it ends: whether its words have come.
    """

    def __init__(self, begins: Callable[[], None], ends: Callable[[bool], None]) -> None:
        self._begins, self._ends = begins, ends
        self._silence: asyncio.TimerHandle | None = None

    def heard(self, silence: float) -> None:
        """An interim transcript has come.

        Args:
            silence: Seconds without a transcript after which the voice has ended.
        """
        begins = self._silence is None
        self.give_up()
        loop = asyncio.get_running_loop()
        self._silence = loop.call_later(silence, self._end, False)
        if begins:
            self._begins()

    def recognised(self) -> None:
        """The final transcript has come."""
        if self._silence is not None:
            self._end(True)

    def give_up(self) -> None:
        """Something else reports the voice, or the session has closed."""
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _end(self, recognised: bool) -> None:
        self.give_up()
        self._ends(recognised)
