"""One tool call, with its own machine of `specs/tool_call.yaml`."""

from __future__ import annotations

from contextvars import Context, copy_context
from typing import Literal

import attrs

from turnfsm.fsm import Verdict
from turnfsm.fsm.flow import Policy
from turnfsm.runtime.ledger import End as LedgerEnd
from turnfsm.runtime.ledger import Ledger, LedgerCall

from .ports import Agent, Speech

__all__ = ["NOTHING_DONE", "UNKNOWN", "End", "ToolCall"]

End = Literal["result", "error", "cancelled"]
"""How a tool ended."""

NOTHING_DONE = "this call was interrupted before it took effect: nothing was done"
UNKNOWN = "this call was interrupted while it waited; it is not known whether it took effect"
CANCELLED = "cancelled: the call was stopped before it had ended"
CANCELLED_WITH_TURN = "cancelled: its turn was interrupted before it had ended"

_SAID = {"say_nothing_done": NOTHING_DONE, "say_unknown": UNKNOWN}


@attrs.define(eq=False)
class ToolCall:
    """An unfinished tool call.

    Attributes:
        entry: The call's entry in the ledger, with its machine.
        speech: Its speech.
        agent: The agent that made it.
        has_output: It has a result that the user may want to hear.
        was_cancelled: It was cancelled. Its end is reported later.
        step_hands_over: It was the last call of its step, and a call of the step has returned an
            agent.
        waits: It waits to learn whether the user objects.
        context: Its context variables. The reply that delivers its result runs with them.
    """

    entry: LedgerCall
    speech: Speech
    agent: Agent | None
    _ledger: Ledger
    has_output: bool = False
    was_cancelled: bool = False
    step_hands_over: bool = False
    waits: bool = False
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
    def how(self) -> LedgerEnd | None:
        """How the tool ended; None while it runs."""
        return self.entry.gave

    @property
    def state(self) -> str:
        """Its state in the flow."""
        return self.entry.state

    @property
    def result_id(self) -> str:
        """The id of its result in the conversation."""
        return self.entry.result_id or self.id

    @property
    def gave_update(self) -> bool:
        """The conversation has an update of the call, or the output that it is still running. The
        result comes later."""
        late = self.entry.machine.holds("in_conversation")
        return self.state in ("answered", "reported") and not late

    @property
    def turn_over(self) -> bool:
        """The turn of the call was interrupted."""
        return self.entry.machine.holds("turn_over")

    @property
    def cancellation(self) -> str | None:
        """The output for the model if the call was cancelled, else None."""
        if not self.was_cancelled and self.how != "cancelled":
            return None
        return CANCELLED_WITH_TURN if self._ends_with_turn else CANCELLED

    @property
    def _ends_with_turn(self) -> bool:
        return self.cancels() and self.turn_over

    def post(self, trigger: str, **data: object) -> Verdict:
        """Decide on a trigger, change the state, and carry the actions out.

        Args:
            data: What the journal records about it.
        """
        answers = {fact: getattr(self, fact)() for fact in self.entry.machine.asks(trigger)}
        verdict = self._ledger.post(self.entry, trigger, answers, **data)
        for action in verdict.actions:
            if action not in _SAID:
                getattr(self, action)()
        return verdict

    def ask(self, request: str) -> Verdict:
        """What `post` would return now. Changes nothing."""
        answers = {fact: getattr(self, fact)() for fact in self.entry.machine.asks(request)}
        return self._ledger.ask(self.entry, request, answers)

    def refusal_of_effect(self) -> str | None:
        """None if the tool may carry out its side effect now; otherwise the output for the
        model."""
        return None if self.post("commit_point") else _said(self.post("effect_refused"))

    def cut_wait(self) -> str | None:
        """The output for the model if an objection ends a wait of the tool, else None."""
        return _said(self.post("wait_cut"))

    # -- host facts

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

    def moot(self) -> str | None:
        """Why the result need not be delivered; None if it must be."""
        if self.cancellation is not None and self._ends_with_turn:
            return "it was cancelled with its turn"
        if not self.has_output:
            return "it gave nothing to say"
        if self.agent is not None and self.agent.setup.replies_to_results:
            return "the model replies to it by itself"
        return None

    def hands_over(self) -> bool:
        """The session hands over to an agent returned by a call of the same step."""
        return self.step_hands_over and self.speech.steps_over

    def talked_over(self) -> bool:
        """The user speaks over the turn, or may soon get an answer to what they said."""
        return self.agent is not None and self.agent.talked_over

    # -- actions

    def hold_turn(self) -> None:
        self.speech.hold(True)

    def release_turn(self) -> None:
        self.speech.hold(False)

    def interrupt_turn(self) -> None:
        """Interrupt the speech, unless another call holds it."""
        if self.speech.interruptible:
            self.speech.stop("audio_activity")

    def cancel_tool(self) -> None:
        if self.agent is not None:
            self.agent.cancel_call(self.id)

    def tell_cancelled(self) -> None:
        """Add an output that says so to the conversation, so that the model knows."""
        if self.agent is not None:
            self.agent.tell_cancelled(self.id, CANCELLED)


def _said(verdict: Verdict) -> str | None:
    return next((_SAID[action] for action in verdict.actions if action in _SAID), None)
