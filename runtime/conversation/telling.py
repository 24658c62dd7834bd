"""Which reply tells the result of which call."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .open_calls import OpenCalls
from .ports import Speech
from .tool_call import ToolCall

__all__ = ["TellingCalls"]


class TellingCalls(OpenCalls):
    """The calls that are not finished, and the replies that are to tell their results."""

    def reply_requested(self) -> None:
        """A reply is asked for, with all results that are there: LiveKit's ``speech_created``.

        Posts nothing. The reply also tells results that are still owed.
        """
        for call in tuple(self._calls.values()):
            self._post(call, "reply_requested")

    def request_made(self, speech: str, shown: Collection[str], *, answers: bool) -> None:
        """The model is asked for a step of this speech, and shown these results. Posts nothing.

        `answers`: the reply is not only about results.
        """
        for call in self._calls.values():
            if call.speech.id == speech and not self._is_told_elsewhere(call, speech):
                call.told_by = call.speech if call.result_id in shown else None
        others = (call for call in self._calls.values() if not call.is_told_by(speech))
        says = frozenset(shown) - {call.result_id for call in others if call.being_told()}
        self.told.request_made(speech, says, answers=answers)

    def to_tell(self, speech: Speech, shown: Collection[str]) -> list[ToolCall]:
        """Of the calls whose results the request shows: those that this speech is to tell.

        Its own results are told anyway. They are among these if others are: a model that is told
        which results to tell tells no others.
        """
        shown_calls = [call for call in self._calls.values() if call.result_id in shown]
        due = [call for call in shown_calls if call.speech is not speech and call.post("tell")]
        for call in due:
            call.told_by = speech
        own = (call for call in shown_calls if call.speech is speech and call.has_result())
        return [*due, *own] if due else []

    def told_elsewhere(self, speech: str, shown: Collection[str]) -> list[ToolCall]:
        """Of the calls whose results the request of this speech shows: those that another one is
        about to tell. The user would hear of them twice."""
        shown_calls = (call for call in self._calls.values() if call.result_id in shown)
        return [call for call in shown_calls if self._is_told_elsewhere(call, speech)]

    def _is_told_elsewhere(self, call: ToolCall, speech: str) -> bool:
        """A reply that is to tell it was asked for. If it waits for a call of its own, it tells
        nothing before that has ended, but for what the model was shown for its last step."""
        if call.is_told_by(speech) or not call.has_result() or not call.being_told():
            return False
        teller = call.told_by
        return teller is not None and (
            not self.runs_for(teller) or self.told.is_about_to_say(teller.id, call.result_id)
        )

    def asked_about(
        self, speech: Speech, shown: Collection[str], instructions: str
    ) -> frozenset[str]:
        """A reply has instructions of its own: of the results that its request shows, those that it
        says. Other turns' results are passed over, unless the instructions name them."""
        says = frozenset(shown)
        for call in tuple(self._calls.values()):
            if call.result_id in says and call.speech is not speech and call.id not in instructions:
                says -= {call.result_id}
                self._post(call, "passed_over")
            elif call.result_id in says:
                call.told_by = speech
        return says

    def shown(self, calls: Iterable[ToolCall]) -> None:
        """The results of these calls were added to a request. Posts nothing."""
        for call in calls:
            self._post(call, "reply_requested")

    def reply_cut(self, besides: Speech | None = None) -> None:
        """Replies that were to say results were cut before they were heard. Posts nothing: the
        results are owed.

        Args:
            besides: The results of this speech need not be said.
        """
        cut = self.told.awaited
        for call in self._in(("untold",)):
            if call.speech is not besides and call.id in cut:
                self._post(call, "reply_cut")

    def deliver(self) -> list[ToolCall]:
        """The calls whose results are owed, to be told now, with what an answer would tell."""
        due = self.owed
        untold = [call for call in self._in(("untold",)) if call.post("tell")] if due else []
        for call in due:
            self._post(call, "delivered")
        return [*due, *untold]
