"""The tool calls that are not finished, and questions about all of them together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from typing import Any

from turnfsm.fsm.flow import Tools
from turnfsm.runtime.ledger import Ledger, LedgerCall
from turnfsm.runtime.turn import TurnRuntime

from .policies import is_once
from .ports import Session, Speech
from .told_results import ToldResults
from .tool_call import ToolCall

__all__ = ["BLOCKING", "HOLDING", "RUNNING", "UNCOMMITTED", "OpenCalls"]

logger = logging.getLogger("turnfsm")

BLOCKING = ("held", "running")
HOLDING = ("held", "handing_over")
RUNNING = ("called", "held", "running", "detached", "answered", "reported", "cancelling")
AWAITED = ("called", "held", "running", "detached", "cancelling")
UNCOMMITTED = ("ended", "given", "handing_over")


class OpenCalls:
    """The calls that are not finished, by id."""

    turn: TurnRuntime

    def __init__(self, session: Session, ledger: Ledger) -> None:
        self._session = session
        self._ledger = ledger
        self._calls: dict[str, ToolCall] = {}
        self._speeches: dict[str, Speech] = {}  # those that may repeat a call
        self.told = ToldResults(ledger)

    def get(self, call_id: str) -> ToolCall | None:
        """The call of this id; None if it is finished."""
        return self._calls.get(call_id)

    def waits_for_identical(self, name: str, arguments: str, turn: str) -> bool:
        """The tool runs once in a turn, and an identical call of this turn has not ended."""
        return self._is_once(name) and self._ledger.is_under_way(name, arguments, turn)

    def identical(self, call_id: str, name: str, arguments: str, turn: str) -> LedgerCall | None:
        """The identical call whose result answers this one; see `Ledger.answer`."""
        agent = self._session.activity
        shown = agent.shown_results if agent is not None else ()
        made, once = (call_id, name, arguments, turn), self._is_once(name)
        known = self._ledger.answer(*made, shown, once=once)
        if known is not None:
            logger.info(
                "tool %s (%s) does not run: the identical call %s answers it",
                name, call_id, known.id,
            )  # fmt: skip
        return known

    def _is_once(self, name: str) -> bool:
        agent = self._session.activity
        tool = agent.tool(name) if agent is not None else None
        return is_once(name, tool, self._policies)

    def was_answered(self, call_id: str) -> bool:
        """The model was told that the call still runs.

        Its result comes later, apart from the step.
        """
        call = self._calls.get(call_id)
        return call is not None and call.state == "answered"

    def uncommitted(self) -> list[ToolCall]:
        """The calls that have ended, and whose results are not in the conversation yet."""
        return self._in(UNCOMMITTED)

    def detached_tasks(self) -> list[asyncio.Task[Any]]:
        """The tasks of speeches whose turn is over and that still wait for their calls."""
        speeches = {call.speech for call in self._calls.values() if call.turn_over}
        return [task for speech in speeches for task in speech.tasks if not task.done()]

    @property
    def blocking(self) -> bool:
        """The turn of the current agent waits for a call."""
        agent = self._session.activity
        return any(call.agent is agent for call in self._in(BLOCKING))

    @property
    def any_runs(self) -> bool:
        """A call runs."""
        return bool(self._in(RUNNING))

    @property
    def held(self) -> bool:
        """A call keeps its turn from being interrupted."""
        return bool(self._in(HOLDING))

    @property
    def results_at_hand(self) -> bool:
        """Every result that the conversation does not have yet can be added to a request."""
        return all(call.speech.finished for call in self._in(("ended",)))

    @property
    def owed(self) -> list[ToolCall]:
        """The calls whose results are in the conversation and must still be told."""
        return self._in(("owed",))

    def untold_of(self, speech: str, step: Collection[str]) -> frozenset[str]:
        """The results that the next step of this speech is to say.

        Args:
            speech: Its id.
            step: The results of the step before. Late ones of its calls are said with them.
        """
        late = (call.result_id for call in self._in(("untold",)) if call.is_left_to(speech))
        return self.told.untold((*step, *late))

    def speeches_between_steps(self) -> list[Speech]:
        """The speeches whose calls have ended, and that have yet to say the results."""
        open_ = (speech for speech in self._speeches.values() if not speech.interrupted)
        return [s for s in open_ if s.steps_over and not (s.finished or self.runs_for(s))]

    def runs_for(self, speech: Speech) -> bool:
        """A call of this speech runs."""
        return any(call.speech is speech for call in self._in(RUNNING))

    def step_hands_over(self, last: ToolCall) -> bool:
        """This was the last call of its speech, and one of them has returned an agent. LiveKit
        reports the ends of calls one by one; what has returned in the same moment counts."""
        step = [call for call in self._calls.values() if call.speech is last.speech]
        gave = [call.returned for call in step if call.state in AWAITED and call is not last]
        if None in gave:
            return False
        ended = [call for call in step if call is last or call.state in UNCOMMITTED]
        return "agent" in gave or any(call.entry.handoff for call in ended)

    def runs_besides(self, speech: Speech, call_id: str) -> bool:
        """This call runs, and is not of this speech."""
        call = self._calls.get(call_id)
        return call is not None and call.speech is not speech and call.state in RUNNING

    def released_with(self, speech: Speech) -> bool:
        """A call of this speech was released: nobody waits for the speech."""
        return any(call.speech is speech and call.turn_over for call in self._calls.values())

    def hold_up(self, calls: Collection[str]) -> bool:
        """The turn waits for one of these calls, or one must not be interrupted."""
        running = [call for call in self._in(RUNNING) if call.id in calls]
        return any(call.state in BLOCKING or call.policy == "hold" for call in running)

    def runs_of(self, agent: object) -> bool:
        """A call of this agent runs."""
        return any(call.agent is agent for call in self._in(RUNNING))

    @property
    def _policies(self) -> Tools:
        return self.turn.flow.tools

    def _in(self, states: Sequence[str]) -> list[ToolCall]:
        return [call for call in self._calls.values() if call.state in states]

    def _post(self, call: ToolCall, trigger: str, **data: Any) -> None:
        call.post(trigger, **data)
        if call.settled and self._calls.get(call.id) is call:
            del self._calls[call.id]

    def forget_settled(self) -> None:
        """Drop the owed results that the user has heard by now."""
        settled = [call.id for call in self._calls.values() if call.settled]
        for call_id in settled:
            del self._calls[call_id]
