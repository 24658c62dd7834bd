"""Tracks which tool results the user has heard."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from turnfsm.runtime.ledger import Ledger

__all__ = ["ToldResults"]

MOST_REPLIES = 64
"""The most replies whose shown results are remembered."""


@attrs.frozen
class _Shown:
    """The untold results that a request showed.

    Attributes:
        answers: The reply is not only about results.
    """

    calls: frozenset[str] = frozenset()
    answers: bool = False

    @property
    def alone(self) -> bool:
        """The reply says one result and nothing else."""
        return len(self.calls) == 1 and not self.answers


class ToldResults:
    """A result is told when a reply was heard to its end whose request contained it. If the user
    interrupts a reply that says one result and nothing else, they have heard what they wanted.

    Other speech tells no result: the words before a call, a `say()` of the tool.

    Args:
        ledger: Where it is recorded.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._shown: dict[str, _Shown] = {}

    def request_made(self, speech: str, calls: Iterable[str], *, answers: bool) -> None:
        """The model was asked for a reply, and shown these results.

        `answers`: the reply is not only about results.
        """
        if untold := self._ledger.untold(calls):
            self._shown.pop(speech, None)
            self._shown[speech] = _Shown(untold, answers)
            if len(self._shown) > MOST_REPLIES:
                del self._shown[next(iter(self._shown))]

    def untold(self, calls: Iterable[str]) -> frozenset[str]:
        """The results of these calls that the user has not heard."""
        return self._ledger.untold(calls)

    def is_told(self, result: str) -> bool:
        """The user has heard a reply that was made with the result of this id."""
        call = self._ledger.find(result)
        return call is not None and result == (call.result_id or call.id) and call.told

    def is_about_to_say(self, speech: str, result: str) -> bool:
        """The model was shown this result for what the user is to hear next of this speech."""
        return result in self._shown.get(speech, _Shown()).calls

    @property
    def awaited(self) -> frozenset[str]:
        """The calls whose results were shown for replies that have not been heard."""
        shown = (call_id for reply in self._shown.values() for call_id in reply.calls)
        return frozenset(call.id for i in shown if (call := self._ledger.find(i)) is not None)

    def said(self, speech: str, *, whole: bool) -> None:
        """The user has heard the reply of a speech, or the beginning of it."""
        heard = self._shown.get(speech, _Shown())
        if not (whole or heard.alone):
            return
        self._shown.pop(speech, None)
        for call_id in sorted(self._ledger.untold(heard.calls)):
            if (call := self._ledger.find(call_id)) is not None:
                self._ledger.post(call, "told" if whole else "begun", speech=speech)
