"""One tool call, with its own machine of `specs/tool_call.yaml`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from typing import Literal

import attrs

from turnfsm.fsm import Verdict
from turnfsm.fsm.agenda.entries import CallCancelled, ResultDropped, ResultReady
from turnfsm.fsm.flow import Confirm, Policy
from turnfsm.runtime.ledger import Ledger, LedgerCall
from turnfsm.runtime.log import Log

from .ports import Agent, Speech

__all__ = [
    "CANCELLED",
    "NOTHING_DONE",
    "NOT_CONFIRMED",
    "UNKNOWN",
    "End",
    "ToolCall",
    "arguments_of",
]

End = Literal["result", "error", "cancelled"]
"""How a tool ended."""

NOTHING_DONE = "this call was interrupted before it took effect: nothing was done"
UNKNOWN = "this call was interrupted while it waited; it is not known whether it took effect"
CANCELLED = "cancelled: the call was stopped before it had ended"
CANCELLED_WITH_TURN = "cancelled: its turn was interrupted before it had ended"

NOT_CONFIRMED = "the tool did not run, and nothing was done: "
_REASONS = {
    "not_confirmed": "the user was asked whether to do it, and did not answer",
    "not_asked": "the user could not be asked whether to do it",
    "unblocked": "the user was asked whether to do it, and did not answer with a yes",
    "stopped": "the application interrupted the turn before the user had said yes",
    "agent_left": "the conversation moved on before the user had said yes",
}
REPLACED = "the newer call {call} has replaced this one"
_OUTDATED = "{output}\nThis is out of date: {why}. Mention it only if it has changed something."
_DEFAULT_REASON = "the turn was interrupted before the user had said yes"
_OUTPUTS = {"report_no_effect": NOTHING_DONE, "report_unknown": UNKNOWN}


@attrs.define(eq=False)
class ToolCall:
    """An unfinished tool call.

    Attributes:
        entry: The call's entry in the ledger, with its machine.
        speech: Its speech.
        agent: The agent that made it.
        confirm: The question before the tool runs; None if it runs at once.
        refused: The output for the model if the user did not say yes, else None.
        waits: It waits to learn whether the user objects.
        context: Its context variables. The reply that delivers its result runs with them.
    """

    entry: LedgerCall
    speech: Speech
    agent: Agent | None
    confirm: Confirm | None
    _ledger: Ledger
    _log: Log
    _talks_over: Callable[[Agent], bool]
    refused: str | None = None
    waits: bool = False
    _decided: asyncio.Event = attrs.field(factory=asyncio.Event, repr=False)
    context: Context = attrs.field(factory=copy_context, repr=False)

    @property
    def id(self) -> str:
        """Its id in the conversation."""
        return self.entry.id

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.entry.name

    @property
    def policy(self) -> Policy:
        """What an interruption does to the call."""
        return self.entry.policy

    @property
    def arguments(self) -> Mapping[str, object]:
        """Its arguments by name."""
        return arguments_of(self.entry.arguments)

    @property
    def state(self) -> str:
        """Its state in the flow."""
        return self.entry.state

    @property
    def turn_over(self) -> bool:
        """The turn of the call was interrupted."""
        return self.entry.machine.holds("turn_over")

    @property
    def awaits_input(self) -> bool:
        """The tool's question to the user has no answer yet."""
        return self.entry.machine.holds("awaits_input")

    @property
    def replaced_by(self) -> str | None:
        """The newer call that corrects it."""
        return self.entry.replaced_by

    @property
    def on_agenda(self) -> bool:
        """Its result must be delivered, now or later."""
        return self._log.agenda.find("result", self.id) is not None

    @property
    def cancellation(self) -> str | None:
        """The output for the model if the call was cancelled, else None."""
        return self.output_if_cancelled if self.entry.gave == "cancelled" else None

    @property
    def output_if_cancelled(self) -> str:
        """The output for the model if the call is cancelled now."""
        if self.refused is not None:
            return self.refused
        if self.replaced_by is not None:
            return f"cancelled: {self._replaced}"
        return CANCELLED_WITH_TURN if self.ends_with_turn else CANCELLED

    @property
    def _replaced(self) -> str:
        return REPLACED.format(call=self.replaced_by)

    def output_of(self, output: str, failed: bool) -> str:
        """The text for the model: an output of the call, or the error that it raised."""
        if (cancelled := self.cancellation) is not None:
            return cancelled
        if self.replaced_by is None or failed or not output:
            return output
        return _OUTDATED.format(output=output, why=self._replaced)

    @property
    def ends_with_turn(self) -> bool:
        """Its turn is over, and its policy is cancel."""
        return self.cancels() and self.turn_over

    def post(self, trigger: str, hands_over: bool = False, /, **data: object) -> Verdict:
        """Decide on a trigger, change the state, and carry out the actions.

        Args:
            hands_over: The call has ended, and the session hands over to an agent that a call of
                its step has returned.
            data: Details for the journal.
        """
        verdict = self._ledger.post(self.entry, trigger, self._answers(trigger, hands_over), **data)
        for action in verdict.actions:
            if action == "refuse_tool":
                why = data.get("why") or (
                    self._replaced if self.replaced_by else _REASONS.get(trigger)
                )
                self.refused = f"{NOT_CONFIRMED}{why or _DEFAULT_REASON}"
            if action not in _OUTPUTS:
                getattr(self, action)()
        return verdict

    def ask(self, request: str) -> Verdict:
        """What `post` would return now. Changes nothing."""
        return self._ledger.ask(self.entry, request, self._answers(request))

    def _answers(self, trigger: str, hands_over: bool = False) -> Mapping[str, bool]:
        asked = self.entry.machine.asks(trigger)
        answers = {fact: getattr(self, fact)() for fact in asked if fact != "hands_over"}
        return answers | {"hands_over": hands_over} if "hands_over" in asked else answers

    def refusal_of_effect(self) -> str | None:
        """None if the tool may carry out its side effect now; otherwise the output for the
        model."""
        if self.post("commit_point"):
            return None
        output = _output_of(self.post("effect_refused"))
        replaced = output == NOTHING_DONE and self.replaced_by is not None
        return f"{self._replaced}: nothing was done" if replaced else output

    def cut_wait(self) -> str | None:
        """The output for the model if an objection ends a wait of the tool, else None."""
        return _output_of(self.post("end_wait"))

    async def allowed(self) -> str | None:
        """Wait until the tool may run.

        Returns:
            None if it may, else the output for the model.
        """
        await self._decided.wait()
        return self.refused

    # -- host facts

    def needs_yes(self) -> bool:
        """The tool needs the user's yes."""
        return self.confirm is not None

    def turn_stands(self) -> bool:
        """The speech was not interrupted."""
        return not self.speech.interrupted

    def protected(self) -> bool:
        """The speech may not be interrupted."""
        return not self.speech.interruptible

    def replaced(self) -> bool:
        """Another agent is active, or about to be."""
        return self.agent is None or self.agent.phase == "leaving"

    def cancels(self) -> bool:
        """The policy is cancel."""
        return self.policy == "cancel"

    def holds(self) -> bool:
        """The policy is hold or finish."""
        return self.policy in ("hold", "finish")

    def finishes(self) -> bool:
        """The policy is finish."""
        return self.policy == "finish"

    def says_otherwise(self) -> bool:
        """The agent says a declared text if the user does not answer."""
        return self.confirm is not None and bool(self.confirm.otherwise)

    def user_may_object(self) -> bool:
        """The user speaks over the turn, or may soon get an answer."""
        return self.agent is not None and self._talks_over(self.agent)

    # -- its result

    def arrived(self, *, empty: bool) -> None:
        """Its output has arrived. Decide whether to deliver it.

        Args:
            empty: It has no text.
        """
        update = self.state in ("answered", "reported") and not self.entry.committed
        if update or self.awaits_input:
            return  # the result follows
        cancelled = self.cancellation is not None and self.ends_with_turn
        if empty and not cancelled:
            self.drop("it gave nothing to say")
        elif self.agent is not None and self.agent.setup.replies_to_results:
            self.drop("the model replies to it by itself")
        else:
            self._log.add(ResultReady(self.id, cancelled))

    def drop(self, reason: str) -> None:
        """Its result need not be delivered, now or later."""
        self._log.add(ResultDropped(self.id, reason))

    # -- actions

    def run_tool(self) -> None:
        """Let the tool run."""
        self._decided.set()

    def refuse_tool(self) -> None:
        """Let the call end; `refused` says why."""
        self._decided.set()

    def drop_result(self) -> None:
        if self.replaced_by is not None:
            self.drop(self._replaced)
        elif self.state == "unanswered":
            self.drop("the agent says it itself")
        else:
            self.drop("the reply to the user's other answer covers it")

    def drop_question(self) -> None:
        self.drop("the user has answered its question")

    def hold_turn(self) -> None:
        self.speech.hold(True)

    def release_turn(self) -> None:
        self.speech.hold(False)

    def interrupt_turn(self) -> None:
        """Interrupt the speech, unless another call holds it."""
        if self.speech.interruptible:
            self.speech.stop("audio_activity")

    def cancel_tool(self) -> None:
        if self.ends_with_turn:
            self._log.add(CallCancelled(self.id))
        if self.agent is not None:
            self.agent.cancel_call(self.id)

    def add_cancelled_output(self) -> None:
        """Tell the model, with an output in the conversation."""
        if self.agent is not None:
            self.agent.add_cancelled_output(self.id, CANCELLED)


def arguments_of(arguments: str) -> Mapping[str, object]:
    """Arguments by name, from JSON; none if it is not a JSON object."""
    try:
        found = json.loads(arguments or "{}")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _output_of(verdict: Verdict) -> str | None:
    return next((_OUTPUTS[action] for action in verdict.actions if action in _OUTPUTS), None)
