"""What a step says, and how far it was heard."""

from __future__ import annotations

import asyncio
import re

__all__ = ["Saying"]

_QUESTION = ("?", "\uff1f", "\u061f")
_LAST_SENTENCE = re.compile(
    r"[^.!?\u3002\uff01\uff1f\u061f\u0964]+[.!?\u3002\uff01\uff1f\u061f\u0964]*\s*$"
)


class Saying:
    """The text and the audio of a step, as they come, and how much of the audio was heard.

    Example:
        >>> from turnfsm.runtime.conversation.saying import Saying
        >>> saying = Saying()
        >>> saying.text_came("At eight. Shall I book it?")
        >>> saying.audio_came(3.0)
        >>> saying.asks
        False
    """

    def __init__(self) -> None:
        self._text = ""
        self._seconds = self._heard = 0.0
        self._since: float | None = None

    def text_came(self, text: str) -> None:
        """The step says this, too."""
        self._text += text

    def audio_came(self, seconds: float) -> None:
        """The output has got audio."""
        self._seconds += seconds

    def begin(self) -> None:
        """It is heard, or heard again."""
        if self._since is None:
            self._since = _now()

    def pause(self) -> None:
        """It is not heard any more."""
        self._heard, self._since = self._heard_for, None

    @property
    def asks(self) -> bool:
        """The last sentence so far is a question, and it was begun to be heard.

        A sentence takes its share of the audio, by letters. While audio is still to come, the share
        that was heard is taken for larger than it is.
        """
        text = self._text.rstrip()
        last = _LAST_SENTENCE.search(text) if text.endswith(_QUESTION) else None
        if last is None or not self._seconds:
            return False
        return self._heard_for / self._seconds >= last.start() / len(text)

    @property
    def _heard_for(self) -> float:
        return self._heard + (_now() - self._since if self._since is not None else 0.0)


def _now() -> float:
    return asyncio.get_running_loop().time()
