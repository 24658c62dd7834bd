"""Newer calls that correct earlier ones, as declared by `tools: corrects` or the framework."""

from __future__ import annotations

from .releasing import ReleasableCalls
from .tool_call import ToolCall

__all__ = ["Corrections"]


class Corrections:
    """Replaces calls by newer ones.

    Args:
        calls: The unfinished calls.
    """

    def __init__(self, calls: ReleasableCalls) -> None:
        self._calls = calls

    def made(self, newer: ToolCall) -> None:
        """A call was made. It corrects earlier ones, as the flow declares. Calls of one reply never
        correct each other: the user has not spoken in between."""
        if (correction := self._calls.turn.flow.tools.corrects.get(newer.name)) is None:
            return
        for call in self._calls:
            if call.name != newer.name or call.speech is newer.speech:
                continue
            if correction.applies(call.arguments, newer.arguments):
                self._correct(call, newer.id)

    def replaced(self, call_id: str, newer: str) -> None:
        """The framework is about to cancel a call that a newer one replaces.

        Posts `tools_released` if the turn waits for no call any more.
        """
        if (call := self._calls.get(call_id)) is not None:
            self._correct(call, newer)

    def _correct(self, call: ToolCall, newer: str) -> None:
        if call.post("correction", by=newer):
            self._calls.answer_calls_delaying_commit(call.speech)
            self._calls.count_released()
        self._calls.forget_settled()
