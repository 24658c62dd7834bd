"""Which results of tool calls the user has heard of, and which stand in the conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from turnfsm.runtime.ledger import Ledger

__all__ = ["ToldResults"]


class ToldResults:
    """A result is told when a reply was said whose request showed it to the model.

    What is said for another reason tells nothing: the words before a call, a `say()` of the tool.

    Args:
        ledger: Gives the ledger, where this is entered.
        note: Writes into the journal, so that a restart knows it.
    """

    def __init__(self, ledger: Callable[[], Ledger], note: Callable[..., None]) -> None:
        self._ledger = ledger
        self._note = note
        self._shown: dict[str, frozenset[str]] = {}

    def committed(self, calls: Iterable[str]) -> None:
        """Results stand in the conversation."""
        if news := self._ledger().commit(calls):
            self._note("tool_committed", calls=news)

    def request_made(self, speech: str, calls: Iterable[str]) -> None:
        """The model was asked for a reply, and shown these results."""
        if untold := self._ledger().untold(calls):
            self._shown[speech] = untold

    def said(self, speech: str) -> None:
        """The user has heard the reply of a speech."""
        told = self._shown.pop(speech, frozenset())
        if news := self._ledger().tell(sorted(told)):
            self._note("tool_told", calls=news, speech=speech)
        left = ((other, calls - told) for other, calls in self._shown.items())
        self._shown = {other: calls for other, calls in left if calls}
