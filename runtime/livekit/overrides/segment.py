"""The STT's transcripts since the last final one, and how much of them a commit has used."""

from __future__ import annotations

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
    _taken: str = ""

    def commit(self, text: str) -> None:
        """A turn is committed with this text."""
        if self._heard and text.endswith(self._heard):
            self._taken, self._heard = f"{self._taken} {self._heard}", ""

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
            self._heard = self._taken = ""
        return replace(event, alternatives=[replace(best, text=rest), *others])


def _rest(text: str, taken: str) -> str:
    """The text after the words that were used."""
    words = text.split()
    pairs = zip(words, taken.split(), strict=False)
    same = len(list(takewhile(lambda pair: _spoken(pair[0]) == _spoken(pair[1]), pairs)))
    return " ".join(words[same:]) if same else text


def _spoken(word: str) -> str:
    """Interim transcripts often lack punctuation and capitals."""
    return "".join(letter for letter in word.casefold() if letter.isalnum())
