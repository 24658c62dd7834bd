"""Tool calls that the turn's flow can stop waiting for."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from turnfsm.fsm.agenda.entries import CallDetached, ReplyStopped
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import Log

from .open_calls import BLOCKING, RUNNING, UNCOMMITTED, OpenCalls
from .ports import Session, Speech
from .speeches import Speeches
from .tool_call import ToolCall

__all__ = ["ReleasableCalls"]

logger = logging.getLogger("turnfsm")


class ReleasableCalls(OpenCalls):
    """The unfinished calls. The turn waits for some of them, until the flow releases them."""

    def __init__(self, session: Session, ledger: Ledger, log: Log, speeches: Speeches) -> None:
        super().__init__(session, ledger, log)
        self._speeches = speeches

    def speeches_between_steps(self) -> list[Speech]:
        """The replies whose calls have ended, but whose results were not delivered yet."""
        live = [speech for speech in self._speeches.replies if not speech.interrupted]
        rest = [speech for speech in live if self._speeches.between_steps(speech)]
        return [s for s in rest if not (s.finished or self.find(RUNNING, s))]

    # -- all calls together

    def count(self) -> None:
        """Post changes of the calls as a whole, such as that none is running any more."""
        turn, blocking = self.turn, self.blocking
        if blocking and not turn.holds("tools_running"):
            turn.post("tool_started")
        elif not blocking and turn.holds("tools_running"):
            turn.post("tools_drained")
        if turn.holds("result_uncommitted") and not self.find(UNCOMMITTED):
            turn.post("results_committed")

    def cancel_released(self) -> None:
        """Cancel the calls that no turn waits for, except those with the policy hold or finish."""
        for call in self.find(RUNNING):
            if call.state not in BLOCKING and call.policy != "hold":
                call.cancel_tool()

    def leave(self, agent: object) -> None:
        """An agent was replaced after the handoff waited for its calls: the turns of these calls
        are over.

        This has the effect of an interruption; a close cancels the calls. Calls that must not be
        interrupted are excepted.
        """
        calls = [call for call in self.find(BLOCKING) if call.agent is agent]
        held = [call.speech for call in calls if call.policy == "hold"]
        for call in calls:
            if call.speech in held:
                continue
            logger.warning(
                "tool %s (%s) did not end in time; its agent is closed", call.name, call.id
            )
            self._log.add(ReplyStopped(call.speech.id, "agent_left"))
            call.speech.stop("programmatic", force=True)
            for ended in self.find(UNCOMMITTED, call.speech):
                self._post(ended, "turn_over")  # separately: its result will not be delivered
            if self._session.closing:
                call.cancel_tool()

    def left(self, agent: object) -> None:
        """An agent was replaced. The framework requests no reply with the results of its calls."""
        for due in self._log.agenda.obligations:
            call = self._calls.get(due.id)
            if due.background and call is not None and call.agent is agent:
                self._log.add(CallDetached(due.id))

    def unblock(self) -> list[ToolCall]:
        """The turn continues without the calls that it waited for. Posts `tools_released`."""
        calls = self.find(BLOCKING)
        for call in calls:
            self._post(call, "unblocked")
        self.count_released()
        return calls

    def give_up(self) -> None:
        """The turn continues without its calls. For the model, they are still running."""
        for speech, calls in _by_speech(self.unblock()):
            self._answer(calls)
            self.answer_calls_delaying_commit(speech)

    def release(self) -> list[Speech]:
        """The calls of interrupted speeches keep running, and their results are on the agenda.

        Those with the policy cancel are cancelled. Posts `tools_released`. Returns the speeches.
        """
        for call in self.find(("handing_over",)):
            if call.speech.interrupted:
                self._post(call, "turn_over")
        calls = [call for call in self.find(RUNNING) if call.speech.interrupted]
        for call in calls:
            self._post(call, "turn_over")
        for speech, own in _by_speech(calls):
            released = [call for call in own if not call.cancels()]
            self.answer_calls_delaying_commit(speech)
            if released and (agent := released[0].agent) is not None:
                setup = agent.setup  # this model needs an output for every call before it replies
                if setup.keeps_context and not setup.replies_to_results:
                    agent.answer([c.id for c in released if c.state == "detached"])
        self.count_released()
        calls += [call for call in self.find(UNCOMMITTED) if call.waits and call.speech.interrupted]
        return [speech for speech, _ in _by_speech(calls)]

    def lift_holds(self) -> None:
        """The time limit of calls with the policy finish is over."""
        for call in self.find(("held",)):
            self._post(call, "hold_lifted")

    def answer_calls_delaying_commit(self, speech: Speech) -> None:
        """Answer calls that delay the commit of their step.

        The results of a step are committed when its last call has ended or was answered.
        """
        if self.find(UNCOMMITTED, speech):
            self._answer(self.find(("detached",), speech))

    def count_released(self) -> None:
        """Post `tools_released` if the turn waits for no call any more."""
        if self.turn.holds("tools_running") and not self.blocking:
            self.turn.post("tools_released")

    # -- newer calls that correct earlier ones

    def correct_earlier(self, newer: ToolCall) -> None:
        """A call was made. It corrects earlier ones, as the flow declares. Calls of one reply never
        correct each other: the user has not spoken in between."""
        if (correction := self._policies.corrects.get(newer.name)) is None:
            return
        for call in self:
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

    # -- inside

    def _correct(self, call: ToolCall, newer: str) -> None:
        if call.post("correction", by=newer):
            self.answer_calls_delaying_commit(call.speech)
            self.count_released()
        self.forget_settled()

    def _answer(self, calls: Sequence[ToolCall]) -> None:
        if calls and (agent := calls[0].agent) is not None:
            agent.answer([call.id for call in calls])


def _by_speech(calls: Iterable[ToolCall]) -> Iterator[tuple[Speech, list[ToolCall]]]:
    groups: dict[Speech, list[ToolCall]] = {}
    for call in calls:
        groups.setdefault(call.speech, []).append(call)
    yield from groups.items()
