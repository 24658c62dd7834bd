"""The unfinished tool calls, and questions about all of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from turnfsm.fsm.flow import Tools
from turnfsm.runtime.ledger import Ledger, LedgerCall
from turnfsm.runtime.log import Log
from turnfsm.runtime.turn import TurnRuntime

from .policies import is_once
from .ports import Agent, Session, Speech
from .tool_call import ToolCall

__all__ = ["AWAITS_YES", "BLOCKING", "HOLDING", "OPEN", "RUNNING", "UNCOMMITTED", "OpenCalls"]

logger = logging.getLogger("turnfsm")

AWAITS_YES = ("asking",)
"""The states of a call that waits until the user has said yes."""

BLOCKING = (*AWAITS_YES, "unanswered", "held", "running")
"""Its turn waits for it."""

HOLDING = ("held", "handing_over")
"""It makes its turn uninterruptible."""

RUNNING = (*BLOCKING, "refused", "called", "detached", "answered", "reported", "cancelling")
"""Its tool has not ended."""

_AWAITED = tuple(state for state in RUNNING if state not in ("answered", "reported"))

UNCOMMITTED = ("ended", "given", "handing_over")
"""It has ended, but its result is not in the conversation yet."""

OPEN = (*RUNNING, *UNCOMMITTED)


class OpenCalls:
    """The unfinished calls, by id."""

    turn: TurnRuntime

    def __init__(self, session: Session, ledger: Ledger, log: Log) -> None:
        self._session = session
        self._ledger = ledger
        self._calls: dict[str, ToolCall] = {}
        self._log = log

    def __iter__(self) -> Iterator[ToolCall]:
        return iter(tuple(self._calls.values()))

    def get(self, call_id: str) -> ToolCall | None:
        """The unfinished call with this id, or None."""
        return self._calls.get(call_id)

    def find(self, states: Collection[str], speech: Speech | None = None) -> list[ToolCall]:
        """The calls in these states, in the order in which they were made; only those of this
        speech, if one is given."""
        found = [call for call in self._calls.values() if call.state in states]
        return found if speech is None else [call for call in found if call.speech is speech]

    def waits_for_identical(self, name: str, arguments: str, turn: str, tool: object) -> bool:
        """The tool runs once in a turn, and an identical call of this turn is still running."""
        once = is_once(name, tool, self._policies)
        return once and self._ledger.is_under_way(name, arguments, turn)

    def identical(
        self,
        call_id: str,
        name: str,
        arguments: str,
        turn: str,
        tool: object,
        shown: Collection[str],
    ) -> LedgerCall | None:
        """The identical call whose result answers this one; see `Ledger.answer`.

        Args:
            tool: The tool, which may be marked with `once`.
            shown: The ids of the results in the agent's conversation.
        """
        made, once = (call_id, name, arguments, turn), is_once(name, tool, self._policies)
        first = self._ledger.answer(*made, shown, once=once)
        if first is not None:
            logger.info(
                "tool %s (%s) does not run: the identical call %s answers it",
                name, call_id, first.id,
            )  # fmt: skip
        return first

    def was_answered(self, call_id: str) -> bool:
        """The call has the output "still running".

        Its result comes later, separately from the step.
        """
        return any(call.id == call_id for call in self.find(("answered",)))

    @property
    def blocking(self) -> bool:
        """The turn of the current agent waits for a call."""
        agent = self._session.activity
        return any(call.agent is agent for call in self.find(BLOCKING))

    def blocks(self, tools: Collection[str]) -> bool:
        """The turn of the current agent waits for a call of one of these tools."""
        agent = self._session.activity
        return any(call.agent is agent and call.name in tools for call in self.find(BLOCKING))

    @property
    def any_waits(self) -> bool:
        """A tool waits until it is known whether the user objects."""
        return any(call.waits for call in self)

    @property
    def results_available(self) -> bool:
        """All results outside the conversation can be added to a request."""
        return all(call.speech.finished for call in self.find(("ended",)))

    @property
    def pending(self) -> list[ToolCall]:
        """The calls whose results will start a reply when the floor is free."""
        due = (self._calls.get(o.id) for o in self._log.agenda.open if o.kind == "result")
        return [call for call in due if call is not None]

    def entries(self, calls: Iterable[str]) -> list[LedgerCall]:
        """The ledger entries of these calls."""
        found = (self._ledger.find(id) for id in calls)
        return [call for call in found if call is not None]

    @property
    def due_results(self) -> dict[str, str]:
        """The calls whose results the user has not heard, by the ids of the results in a
        conversation.

        The output "still running" is not a result: it has the call's id, and the late result
        another.
        """
        due = (o.id for o in self._log.agenda.obligations if o.kind == "result" and o.ready)
        return {call.result_id or call.id: call.id for call in self.entries(due)}

    def with_results(self, results: Collection[str]) -> list[str]:
        """The calls with these results, as far as the user has not heard them.

        Args:
            results: The ids of results in a conversation.
        """
        return [call for result, call in self.due_results.items() if result in results]

    def is_delivered(self, result: str) -> bool:
        """The user has heard the result of this id."""
        call = self._ledger.find(result)
        if call is None or result != (call.result_id or call.id) or call.gave is None:
            return False
        return self._log.agenda.find("result", call.id) is None

    def undelivered_of(self, speech: str, step: Collection[str]) -> frozenset[str]:
        """The results that the next step of this speech should deliver.

        Args:
            speech: Its id.
            step: The results of the previous step. Late results of its calls are delivered with
                them.
        """
        due = (o for o in self._log.agenda.obligations if o.kind == "result")
        late = {o.id for o in due if (o.by or o.made_by) == speech}
        results = self.due_results.items()
        return frozenset(result for result, id in results if result in step or id in late)

    def talks_over(self, agent: Agent) -> bool:
        """The model of an agent hears the user, is about to answer by itself, or will soon be asked
        to. The model of a departing agent is not asked."""
        if not agent.setup.answers_by_itself:
            return False
        asked = bool(self._log.agenda.unclaimed) and agent.phase != "leaving"
        return self.turn.holds("user_speaking") or agent.answer_pending or asked

    def step_hands_over(
        self, last: ToolCall, returned: Mapping[str, Literal["agent", "other"]]
    ) -> bool:
        """This was the last call of its speech, and one of the calls has returned an agent. Calls
        that end together are reported one by one; all count."""
        awaited = (call for call in self.find(_AWAITED, last.speech) if call is not last)
        returns = [returned.get(call.id) for call in awaited]
        if None in returns:
            return False
        ended = (last, *self.find(UNCOMMITTED, last.speech))
        return "agent" in returns or any(call.entry.handoff for call in ended)

    def released_with(self, speech: Speech) -> bool:
        """A call of this speech was released, or its handoff is pending, so nothing waits for the
        speech."""
        calls = (call for call in self if call.speech is speech)
        return any(call.turn_over or (speech.interrupted and call.waits) for call in calls)

    def hold_up(self, calls: Collection[str]) -> bool:
        """The turn waits for one of these calls, or one must not be interrupted."""
        running = [call for call in self.find(RUNNING) if call.id in calls]
        return any(call.state in BLOCKING or call.policy == "hold" for call in running)

    @property
    def _policies(self) -> Tools:
        return self.turn.flow.tools

    def _post(self, call: ToolCall, trigger: str) -> None:
        call.post(trigger)
        self.forget_settled()

    def forget_settled(self) -> None:
        """Drop the finished calls whose results are not on the agenda any more."""
        for call in self.find(("committed",)):
            if not call.on_agenda:
                call.post("settled")
                del self._calls[call.id]
