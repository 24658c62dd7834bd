"""The text and audio of a step, and how much of it was heard."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from itertools import pairwise

from .pauses import Pause, Pauses, Sound

__all__ = ["Saying"]

_QUESTION = ("?", "\uff1f", "\u061f")
_LAST_SENTENCE = re.compile(
    r"[^.!?\u3002\uff01\uff1f\u061f\u0964]+[.!?\u3002\uff01\uff1f\u061f\u0964]*\s*$"
)
_END_OF_SENTENCE = re.compile(
    r"[.!?\u061f\u0964]+[\"')\]\u201d\u2019]*(?=\s)|[\u3002\uff01\uff1f]+"
)
_NEAR = 0.8
"""The most seconds between the estimated end of a sentence and the pause in the audio."""
_BETWEEN = 0.2
"""Seconds to add to the estimated end of a sentence if the audio has no pauses."""


class Saying:
    """The text and the audio of a step, as they arrive, and how much of the audio was heard.

    Example:
        >>> from turnfsm.runtime.conversation.saying import Saying
        >>> saying = Saying()
        >>> saying.text_received("At eight. Shall I book it?")
        >>> saying.audio_came(3.0)
        >>> saying.asks
        False
    """

    def __init__(self) -> None:
        self._text = ""
        self._pauses = Pauses()
        self._seconds = self._heard = 0.0
        self._since: float | None = None

    def text_received(self, text: str) -> None:
        """Add text."""
        self._text += text

    def audio_came(self, seconds: float, sound: Sound | None = None) -> None:
        """Add audio that the output has received.

        Args:
            seconds: Its duration.
            sound: Its samples, if known.
        """
        self._seconds += seconds
        if sound is not None:
            self._pauses.came(sound)

    def begin(self) -> None:
        """Playout starts, or continues."""
        if self._since is None:
            self._since = _now()

    def pause(self) -> None:
        """Playout stops."""
        self._heard, self._since = self._heard_for, None

    @property
    def text(self) -> str:
        """Its text so far."""
        return self._text

    @property
    def asks(self) -> bool:
        """The last sentence so far is a question, and the user has heard its beginning."""
        return self._text.rstrip().endswith(_QUESTION) and self.ending

    @property
    def ending(self) -> bool:
        """The user has heard the beginning of the last sentence so far.

        A sentence's part of the audio is estimated from its number of letters. While audio is still
        to come, this overestimates how much was heard.
        """
        text = self._text.rstrip()
        last = _LAST_SENTENCE.search(text)
        if last is None or not self._seconds:
            return False
        return self._heard_for / self._seconds >= last.start() / len(text)

    @property
    def last_sentence(self) -> str:
        """The last sentence of which the user has heard the beginning; empty if there is none."""
        text = self._text.rstrip()
        heard = len(text) * min(self._heard_for / self._seconds, 1.0) if self._seconds else 0.0
        ends = [match.end() for match in _END_OF_SENTENCE.finditer(text)]
        begun = [span for span in pairwise((0, *ends, len(text))) if span[0] < heard]
        return text[slice(*begun[-1])].strip() if begun else ""

    @property
    def between_sentences(self) -> bool:
        """Playout is between two sentences.

        The end of a sentence is the pause in the audio that is nearest to the estimate. If the
        audio has no pauses, the estimate alone counts.
        """
        heard = self._heard_for
        return any(gap.start <= heard <= gap.end for gap in self._gaps())

    def _gaps(self) -> Iterator[Pause]:
        pauses = list(self._pauses)
        for match in _END_OF_SENTENCE.finditer(self._text.rstrip()):
            end = self._seconds * match.end() / len(self._text.rstrip())
            if not pauses:
                yield Pause(end, end + _BETWEEN)
                continue
            nearest = min(pauses, key=lambda pause: abs((pause.start + pause.end) / 2 - end))
            if nearest.start - _NEAR <= end <= nearest.end + _NEAR:
                yield nearest

    @property
    def _heard_for(self) -> float:
        return self._heard + (_now() - self._since if self._since is not None else 0.0)


def _now() -> float:
    return asyncio.get_running_loop().time()
