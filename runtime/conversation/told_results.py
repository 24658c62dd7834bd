"""Tracks which tool results the user has heard."""

from __future__ import annotations

from collections.abc import Iterable

from turnfsm.runtime.ledger import Ledger

__all__ = ["ToldResults"]

MOST_REPLIES = 64
"""The most replies whose shown results are remembered."""


class ToldResults:
    """A result is told when a reply was heard whose request contained it.

    Other speech tells no result: the words before a call, a `say()` of the tool.

    Args:
        ledger: Where it is recorded.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._shown: dict[str, frozenset[str]] = {}

    def request_made(self, speech: str, calls: Iterable[str]) -> None:
        """The model was asked for a reply, and shown these results."""
        if untold := self._ledger.untold(calls):
            self._shown.pop(speech, None)
            self._shown[speech] = untold
            if len(self._shown) > MOST_REPLIES:
                del self._shown[next(iter(self._shown))]

    def shown_to(self, speech: str) -> frozenset[str]:
        """The results that the model was shown for this speech, and that it may tell."""
        return self._shown.get(speech, frozenset())

    def said(self, speech: str, *, whole: bool) -> None:
        """The user has heard the reply of a speech, or the beginning of it."""
        heard = self._shown.pop(speech, frozenset())
        for call_id in sorted(self._ledger.untold(heard)):
            if (call := self._ledger.find(call_id)) is not None:
                self._ledger.post(call, "told" if whole else "begun", speech=speech)
