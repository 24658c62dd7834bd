"""All tool calls of a session, as the adapter reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import attrs

from turnfsm.fsm.agenda.entries import CallDetached, CallInBackground, CallMade, ReplyStopped
from turnfsm.fsm.flow import Confirm, Policy
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import Log

from .open_calls import AWAITS_YES, OPEN, RUNNING, UNCOMMITTED
from .policies import policy_of
from .ports import Agent, Session, Speech
from .releasing import ReleasableCalls
from .speeches import Speeches
from .tool_call import End, ToolCall, arguments_of

__all__ = ["Result", "ToolCalls"]

NOTHING: Mapping[str, Literal["agent", "other"]] = {}


@attrs.frozen
class Result:
    """The result of a call.

    Attributes:
        empty: It has no text, such as the result of a handoff.
    """

    call: str
    empty: bool = False


class ToolCalls(ReleasableCalls):
    """The unfinished tool calls, each with its own machine.

    Args:
        moved: Called after an event that may unblock a request.
        policy: Returns the policy that the settings in force have for a tool.
    """

    def __init__(
        self,
        session: Session,
        ledger: Ledger,
        log: Log,
        speeches: Speeches,
        moved: Callable[[], None],
        policy: Callable[[str], Policy | None],
    ) -> None:
        super().__init__(session, ledger, log, speeches)
        self._moved = moved
        self._policy = policy

    # -- reports of the adapter

    def started(
        self,
        call_id: str,
        name: str,
        arguments: str,
        speech: Speech,
        agent: Agent | None,
        tool: object,
    ) -> None:
        """A tool has begun. Posts `tool_started` if the turn waits for the call, or
        `speech_interrupted` if its turn is over.

        Args:
            tool: The agent's tool, which may be marked with a policy; None if it has none.
        """
        self.forget_settled()
        policy = self._policy(name) or policy_of(name, tool, self._policies)
        entry = self._ledger.enter(call_id, name, arguments, speech.id, policy)
        confirm = self.confirmation(name, arguments)
        call = self._calls[call_id] = ToolCall(
            entry, speech, agent, confirm, self._ledger, self._log, self.talks_over
        )
        self._log.add(CallMade(call_id, speech.id))
        call.post("started")
        self.correct_earlier(call)
        if speech.interrupted:
            self.turn.post("speech_interrupted", speech=speech.id)
        else:
            self.count()
        self.refuse_left()

    def confirmation(self, name: str, arguments: str) -> Confirm | None:
        """The question before this call runs its tool; None if it runs at once."""
        confirm = self._policies.confirm.get(name)
        return confirm if confirm and confirm.applies(arguments_of(arguments)) else None

    def confirm(self, call: ToolCall) -> None:
        """The user has said yes: the tool runs."""
        self._post(call, "confirmed")

    def refuse(self, call: ToolCall, by: str, why: str | None = None) -> None:
        """The tool does not run. Posts `tools_released` if the turn waits for no call any more.

        Args:
            by: The trigger of `specs/tool_call.yaml`.
            why: The reason for the model; by default that of the trigger.
        """
        call.post(by, **({"why": why} if why else {}))
        self.forget_settled()
        self.count_released()
        self._moved()

    def refuse_left(self) -> None:
        """Refuse calls that wait for a yes if their agent is replaced or the session closes."""
        for call in self.find(AWAITS_YES):
            if call.replaced() or self._session.closing:
                self.refuse(call, "agent_left")

    def reported(self, call_id: str) -> None:
        """A tool has sent an update, and continues in the background.

        Posts `tools_drained` if the turn waits for no other call.
        """
        if (call := self._calls.get(call_id)) is not None:
            self._post(call, "reported")
            self._log.add(CallInBackground(call_id))
            self.count()

    def ended(
        self,
        call_id: str,
        how: End,
        output: str | None,
        *,
        result_id: str,
        returned: Mapping[str, Literal["agent", "other"]] = NOTHING,
    ) -> None:
        """A tool has ended.

        Posts `tool_ended`, unless the result comes separately from its step, and `tools_drained` if
        it was the last call.

        Args:
            how: How it ended.
            output: Its output, as text.
            result_id: The id of its result in the conversation.
            returned: The return values of other tools whose ends are about to be reported.
        """
        call = self._calls.get(call_id)
        data: dict[str, object] = {"how": how, "output": output}
        if result_id != call_id:
            data |= {"id": result_id}
            if call is not None and call.state == "reported":
                # it is in the conversation already
                call.post("late_result")
                call.arrived(empty=not output)
        if call is not None:
            returns = self._speeches.between_steps(call.speech)
            hands_over = returns and self.step_hands_over(call, returned)
            call.post("interrupt_held_turn", hands_over)
            call.post("ended", hands_over, **data)
            self.forget_settled()
            if call.state in UNCOMMITTED:
                self.turn.post("tool_ended", call=call_id)
            self.answer_calls_delaying_commit(call.speech)
        elif (entry := self._ledger.find(call_id)) is not None:
            self._ledger.post(entry, "ended", None, **data)
        self.count()
        self._moved()

    def given(self, results: Iterable[Result]) -> None:
        """Outputs have arrived. Posts nothing; a waiting request is retried.

        They are committed after their step was played.
        """
        for result in results:
            if (call := self._calls.get(result.call)) is not None:
                self._post(call, "given")
                if not result.empty:  # a handoff is only known when it is committed
                    call.arrived(empty=False)
        self._moved()

    def committed(self, results: Iterable[Result]) -> None:
        """Outputs are in the conversation.

        Posts `results_committed` when all are there.
        """
        for result in results:
            if (call := self._calls.get(result.call)) is not None:
                call.arrived(empty=result.empty)
                self._post(call, "committed")
            elif (entry := self._ledger.find(result.call)) is not None:
                self._ledger.post(entry, "committed")  # answered with the result of another call
        self.count()
        self._moved()

    def executed(self, speech: Speech, silent: Iterable[str] = ()) -> None:
        """All calls of a step have ended. If one of them has returned an agent, the handoff
        begins.

        Args:
            silent: The calls whose results need no reply.
        """
        for id in silent:
            self.wants_no_reply(id)
        calls = self.find(("handing_over",), speech)
        for call in calls:
            self._post(call, "executed")
        if calls:
            self.count()
            self._moved()

    def overtaken_by(self, answer: Speech) -> None:
        """A realtime model with turn detection answers the user by itself. Posts nothing."""
        for call in self:
            if call.speech is not answer:
                self._post(call, "overtaken")
        self._moved()

    def late_result(self, result: Result) -> None:
        """The late result of an answered call is in the conversation.

        Posts `next_reply` when the floor is free.
        """
        if (call := self._calls.get(result.call)) is not None:
            call.post("late_result")
            call.arrived(empty=result.empty)
            self.forget_settled()
            self._moved()

    # -- requests of the adapter

    def wants_no_reply(self, call_id: str) -> None:
        """The tool or the application wants no reply to this result. Posts nothing."""
        if (call := self._calls.get(call_id)) is not None:
            call.drop("the application wants no reply to it")

    def input_required(self, call_id: str, question: str) -> None:
        """The tool has asked the user, and the next message is its output. The call stays on the
        agenda until then. Posts nothing."""
        if (call := self._calls.get(call_id)) is not None:
            call.post("input_required", text=question)

    def input_given(self) -> None:
        """A message of the user is in the conversation. Posts nothing: the reply to it also answers
        the tools' questions."""
        for call in self:
            if call.awaits_input:
                call.post("input_given")
        self.forget_settled()

    def may_hand_over(self, call_id: str, speech: Speech) -> bool:
        """The session may hand over to the agent that the tool has returned."""
        entry, stands = self._ledger.find(call_id), not speech.interrupted
        if entry is None or entry.state in ("committed", "closed"):
            return stands or (entry is not None and entry.interrupts)
        call = self._calls.get(entry.id)
        facts = {"turn_stands": stands, "replaced": call is None or call.replaced()}
        return bool(self._ledger.post(entry, "hand_over", facts))

    def may_answer(self, call_id: str) -> bool:
        """The call may get the output that it is still running."""
        call = self._calls.get(call_id)
        if call is None or not call.post("report_running"):
            return False
        self._log.add(CallDetached(call_id))
        return True

    def cut_wait(self, call_id: str) -> str | None:
        """The interruption ends a wait of this call; then its result is not delivered.

        Returns:
            The output for the model; None if the tool keeps waiting.
        """
        call = self._calls.get(call_id)
        output = call.cut_wait() if call is not None else None
        if call is not None and output is not None:
            call.drop("the interruption ended a wait of the tool")
        return output

    def outlives_agent(self, call_id: str) -> bool:
        """The call keeps running when a handoff stops waiting for it."""
        call = self._calls.get(call_id)
        return not self._session.closing and call is not None and call.policy != "cancel"

    def objected(self, besides: str | None) -> None:
        """The user objects to the calls of all speeches except this one."""
        for call in self.find(OPEN):
            if call.speech.id != besides:
                self._post(call, "objected")
        self._moved()

    def stopped(self, speech: Speech) -> None:
        """The application has interrupted a speech."""
        for call in self.find(OPEN, speech):
            self._post(call, "stopped")
        self._moved()

    def interrupts(self, call_id: str) -> None:
        """A tool is about to interrupt its own turn.

        No call holds the turn from now on. If the interrupted reply was to deliver a result of
        another turn, another reply delivers it. Posts nothing; `speech_interrupted` may follow.
        """
        if (own := self._calls.get(call_id)) is not None:
            for call in self.find(RUNNING, own.speech):
                self._post(call, "interrupts" if call is own else "parallel_call_interrupts")
            self._log.add(ReplyStopped(own.speech.id, "tool", call_id))

    def names_of(self, calls: Iterable[str]) -> list[str]:
        """These calls, each with its name and id."""
        return [f"{entry.name} ({entry.id})" for entry in self.entries(calls)]
