"""The STT's transcripts since the last final one, and how much of them a commit has used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import attrs
from livekit.agents.stt import SpeechEvent, SpeechEventType

__all__ = ["Segment"]

_TRANSCRIPTS = (
    SpeechEventType.INTERIM_TRANSCRIPT,
    SpeechEventType.PREFLIGHT_TRANSCRIPT,
    SpeechEventType.FINAL_TRANSCRIPT,
)


@attrs.define
class Segment:
    """A segment of an STT stream: it has interim transcripts, and ends with a final one.

    A commit that gets no final transcript in time uses the interim one. The next transcripts repeat
    its words, and LiveKit would add them twice.
    """

    _heard: str = ""
    _taken: tuple[str, ...] = ()  # the words of each commit

    def commit(self, text: str) -> None:
        """A turn is committed with this text."""
        if self._heard and text.endswith(self._heard):
            self._taken, self._heard = (*self._taken, self._heard), ""

    def without_taken(self, event: SpeechEvent) -> SpeechEvent:
        """The event without the words that a commit has used.

        If the STT has corrected one of these words, the text from there on stays: the committed
        turn cannot be changed, so the correction becomes part of the next turn.
        """
        if event.type not in _TRANSCRIPTS or not event.alternatives:
            return event
        best, *others = event.alternatives
        rest = self._heard = _rest(best.text, self._taken)
        if event.type is SpeechEventType.FINAL_TRANSCRIPT:
            self._heard, self._taken = "", ()
        return replace(event, alternatives=[replace(best, text=rest), *others])


def _rest(text: str, taken: Sequence[str]) -> str:
    """The text after the words that commits have used. If the final transcript of earlier words
    never came, the text begins with those of a later commit."""
    words = [_spoken(word) for word in text.split()]
    for first in range(len(taken)):
        used = map(_spoken, " ".join(taken[first:]).split())
        pairs = zip(words, used, strict=False)
        if same := len([*takewhile(lambda pair: pair[0] == pair[1], pairs)]):
            return " ".join(text.split()[same:])
    return text


def _spoken(word: str) -> str:
    """Interim transcripts often lack punctuation and capitals."""
    return "".join(letter for letter in word.casefold() if letter.isalnum())
