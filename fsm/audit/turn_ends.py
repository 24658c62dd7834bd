"""How each turn of the user ends in a session that no flow governs."""

from __future__ import annotations

from collections.abc import Callable

from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import (
    Entry,
    PlayoutStarted,
    ReplyScheduled,
    SessionClosed,
    SpeechEnded,
    TurnCommitted,
)
from turnfsm.fsm.agenda.turns import TurnEnd, Turns

__all__ = ["TurnEnds"]

_NO_AGENDA = Agenda()


class TurnEnds:
    """Computes the outcomes of turns from their replies.

    Args:
        ended: Called with each turn that ends.

    Attributes:
        turns: The turns so far.
        due: A reply to the last turn was requested, and nothing of it is heard.
    """

    def __init__(self, ended: Callable[[TurnEnd], None]) -> None:
        self.turns = Turns()
        self.due = False
        self._ended = ended
        self._reply = ""  # the speech that answers the last turn
        self._calls = False  # it has made a call
        self._left = ""  # it has ended after that: the next reply delivers the results

    def committed(self) -> None:
        """A turn is committed."""
        if self._left:
            self._add(SpeechEnded(self._left, newer=True))
        self._left, self._calls = "", False
        self._add(TurnCommitted(self.turns.count + 1))

    def asked(self, speech: str | None) -> None:
        """A reply to the last turn is requested. None: its speech is not known yet."""
        self.due = True
        if speech is not None:
            self.continued(speech)

    def continued(self, speech: str) -> None:
        """This speech answers the last turn."""
        self._reply, self._left = speech, ""
        self._add(ReplyScheduled(self.turns.latest, speech))

    def called(self) -> None:
        """The model makes a call."""
        self._calls |= self.due

    def heard(self) -> None:
        """The reply to the last turn is heard."""
        self.due = False
        self._add(PlayoutStarted(self._reply))

    def done(self, speech: str, interrupted: bool) -> None:
        """A speech has ended."""
        if self.due and self._calls and speech == self._reply:
            self._left = speech
        else:
            self._add(SpeechEnded(speech, interrupted))

    def closed(self) -> None:
        """The session has closed."""
        self._add(SessionClosed())

    def _add(self, entry: Entry) -> None:
        self.turns, ended = self.turns.after(entry, _NO_AGENDA)
        for end in ended:
            self._ended(end)
