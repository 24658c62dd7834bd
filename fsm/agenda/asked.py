"""The last question to the user, and whether what they say now began after they had heard it."""

from __future__ import annotations

import attrs

from .entries import (
    Entry,
    MessageTyped,
    NoiseEnded,
    PlayoutStarted,
    QuestionAsked,
    SpeechFailed,
    SpeechInterrupted,
    StepFinished,
    Transcribed,
    TurnDecided,
    UtteranceEnded,
    VoiceStarted,
)

__all__ = ["Asked"]


@attrs.frozen
class Asked:
    """The last question to the user, computed from the log's entries. A place is the number of an
    entry.

    Attributes:
        place: The place of the last entry.
        question: The speech of the question. `broken`: a part of it will never be heard.
        heard: The place at which the whole question had been played; None before.
        playing: The speech that the user began to hear last.
        voices: The places at which the first voice without a transcript began, and the last voice.
        over: No transcript of these voices is expected any more.
        turn: The place at which the first voice of the current turn began; None before its first
            final transcript.
        leftover: The text of an earlier turn that the current turn begins with.

    Example:
        >>> asked = Asked()
        >>> for entry in (QuestionAsked("q"), PlayoutStarted("q"), StepFinished("q")):
        ...     asked = asked.after(entry)
        >>> asked.early, asked.stale
        (False, False)
        >>> asked = asked.after(PlayoutStarted("reply"))
        >>> asked.early, asked.stale
        (False, True)
    """

    place: int = 0
    question: str = ""
    broken: bool = False
    heard: int | None = None
    playing: str = ""
    voices: tuple[int, ...] = ()
    over: bool = False
    turn: int | None = None
    leftover: str = ""

    @property
    def early(self) -> bool:
        """The user has not heard the whole question, or had begun to speak before its end."""
        if self.heard is None:
            return True
        began = self.turn if self.turn is not None else next(iter(self.voices), None)
        return began is not None and began < self.heard

    @property
    def answered(self) -> bool:
        """The user has spoken since the question was requested."""
        return bool(self.voices)

    @property
    def stale(self) -> bool:
        """The user has heard something else since the question."""
        return self.heard is not None and not self.begun

    @property
    def begun(self) -> bool:
        """The user has begun to hear the question, and has heard nothing else since."""
        return bool(self.question) and self.playing == self.question

    def after(self, entry: Entry) -> Asked:
        """The question after one more entry."""
        place = self.place + 1
        now = attrs.evolve(self, place=place)
        match entry:
            case QuestionAsked(speech):
                return attrs.evolve(now, question=speech, broken=False, heard=None, voices=())
            case PlayoutStarted(speech):
                return attrs.evolve(now, playing=speech)
            case StepFinished(speech) if speech == self.question and not self.broken:
                return attrs.evolve(now, heard=place)
            case SpeechInterrupted(speech) | SpeechFailed(speech) if speech == self.question:
                return attrs.evolve(now, broken=True, heard=None)
            case VoiceStarted():
                earlier = () if self.over else self.voices[:1]
                return attrs.evolve(now, voices=(*earlier, place), over=False)
            case Transcribed():
                began = next(iter(self.voices), place) if self.turn is None else self.turn
                return attrs.evolve(now, turn=began, voices=self.voices[-1:])
            case UtteranceEnded():  # a late transcript is that of the last voice
                return attrs.evolve(now, voices=self.voices[-1:], over=True)
            case NoiseEnded():
                return attrs.evolve(now, voices=())
            case TurnDecided(leftover):
                return attrs.evolve(now, turn=None, leftover=leftover)
            case MessageTyped():
                return attrs.evolve(now, turn=None, voices=(), leftover="")
        return self
