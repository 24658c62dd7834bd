"""One tool call, with its own machine of `specs/tool_call.yaml`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from typing import Literal

import attrs

from turnfsm.fsm import Verdict
from turnfsm.fsm.flow import Confirm, Policy
from turnfsm.runtime.ledger import End as LedgerEnd
from turnfsm.runtime.ledger import Ledger, LedgerCall

from .floor import Floor
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
_WHY = {
    "not_confirmed": "the user was asked whether to do it, and did not answer",
    "not_asked": "the user could not be asked whether to do it",
    "unblocked": "the user was asked whether to do it, and did not answer with a yes",
    "stopped": "the application interrupted the turn before the user had said yes",
    "agent_left": "the conversation moved on before the user had said yes",
}
REPLACED = "the newer call {call} has replaced this one"
_OUTDATED = "{output}\nThis is out of date: {why}. Mention it only if it has changed something."
_OTHERWISE = "the turn was interrupted before the user had said yes"
_BY_WORDS = ("unblocked", "objected")
"""The triggers that end a call because the user did not say yes."""

_SAID = {"report_no_effect": NOTHING_DONE, "report_unknown": UNKNOWN}


@attrs.define(eq=False)
class ToolCall:
    """An unfinished tool call.

    Attributes:
        entry: The call's entry in the ledger, with its machine.
        speech: Its speech.
        agent: The agent that made it.
        has_output: It has a result that the user may want to hear.
        awaits_input: It has ended with a question to the user, and the user has not answered.
        silent: The tool or the application wants no reply to that.
        was_cancelled: It was cancelled. Its end is reported later.
        step_hands_over: It was the last call of its step, and a call of the step has returned an
            agent.
        waits: It waits to learn whether the user objects.
        replaced_by: The newer call that corrects it.
        confirm: What the user is asked before the tool runs; None if it runs at once.
        refused: What the model reads if the user did not say yes, else None.
        refused_by: The trigger by which the call has ended then.
        context: Its context variables. The reply that delivers its result runs with them.
    """

    entry: LedgerCall
    speech: Speech
    agent: Agent | None
    _ledger: Ledger
    _floor: Floor
    _talks_over: Callable[[Agent], bool]
    has_output: bool = False
    awaits_input: bool = False
    silent: bool = False
    was_cancelled: bool = False
    step_hands_over: bool = False
    waits: bool = False
    replaced_by: str | None = None
    confirm: Confirm | None = None
    refused: str | None = None
    refused_by: str | None = None
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
    def how(self) -> LedgerEnd | None:
        """How the tool ended; None while it runs."""
        return self.entry.gave

    @property
    def arguments(self) -> Mapping[str, object]:
        """Its arguments by name."""
        return arguments_of(self.entry.arguments)

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
        if self.refused is not None:
            return self.refused
        if self.replaced_by is not None:
            return f"cancelled: {self._replaced}"
        return CANCELLED_WITH_TURN if self._ends_with_turn else CANCELLED

    @property
    def _replaced(self) -> str:
        return REPLACED.format(call=self.replaced_by)

    def output_of(self, output: str, failed: bool) -> str:
        """What the model reads of an output of the call, or of the error that it has raised."""
        if (said := self.cancellation) is not None:
            return said
        if self.replaced_by is None or failed or not output:
            return output
        return _OUTDATED.format(output=output, why=self._replaced)

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
            if action == "refuse_tool":
                self.refused_by = trigger
                why = self._replaced if self.replaced_by else _WHY.get(trigger, _OTHERWISE)
                self.refused = NOT_CONFIRMED + (self.refused or why)
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
        if self.post("commit_point"):
            return None
        said = _said(self.post("effect_refused"))
        replaced = said == NOTHING_DONE and self.replaced_by is not None
        return f"{self._replaced}: nothing was done" if replaced else said

    def replace(self, newer: str) -> bool:
        """A newer call corrects this one. Returns whether it replaces it."""
        machine = self.entry.machine
        if machine.final:  # nothing is left but to deliver it
            if not machine.holds("past_commit_point"):
                self.replaced_by = newer
        elif self.ask("correction"):
            self.replaced_by = newer
            self.post("correction", by=newer)
        return self.replaced_by == newer

    def cut_wait(self) -> str | None:
        """The output for the model if an objection ends a wait of the tool, else None."""
        return _said(self.post("end_wait"))

    async def allowed(self) -> str | None:
        """Wait until the tool may run.

        Returns:
            None if it may; what the model is to read if it must not.
        """
        await self._decided.wait()
        return self.refused

    @property
    def said_otherwise(self) -> bool:
        """The user has not answered, and the agent says the declared text."""
        declared = self.confirm is not None and bool(self.confirm.otherwise)
        return declared and self.refused_by == "not_confirmed"

    # -- host facts

    def needs_yes(self) -> bool:
        """The flow wants the user to say yes before the tool runs."""
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

    def drop_reason(self) -> str | None:
        """Why the result need not be delivered; None if it must be."""
        if self.replaced_by is not None:
            return self._replaced
        if self.cancellation is not None and self._ends_with_turn:
            return "it was cancelled with its turn"
        if self.refused_by in _BY_WORDS:
            return "the answer to what the user has said instead of yes tells it"
        if self.said_otherwise:
            return "the agent has said it itself"
        if not self.has_output:
            return "it gave nothing to say"
        if self.silent:
            return "the application wants no reply to it"
        if self.agent is not None and self.agent.setup.replies_to_results:
            return "the model replies to it by itself"
        return None

    def hands_over(self) -> bool:
        """The session hands over to an agent returned by a call of the same step."""
        return self.step_hands_over and self._floor.returned_by(self.speech)

    def user_may_object(self) -> bool:
        """The user speaks over the turn, or may soon get an answer to what they said."""
        return self.agent is not None and self._talks_over(self.agent)

    # -- actions

    def run_tool(self) -> None:
        """Let the tool run."""
        self._decided.set()

    def refuse_tool(self) -> None:
        """Let the call end; `refused` says why."""
        self._decided.set()

    def drop_result(self) -> None:
        """Deliver no result. `ToolCalls` takes it off the agenda, with `drop_reason`."""

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

    def add_cancelled_output(self) -> None:
        """Add an output that says so to the conversation, so that the model knows."""
        if self.agent is not None:
            self.agent.add_cancelled_output(self.id, CANCELLED)


def arguments_of(arguments: str) -> Mapping[str, object]:
    """Arguments by name, from JSON; none if it is no JSON of that kind."""
    try:
        found = json.loads(arguments or "{}")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _said(verdict: Verdict) -> str | None:
    return next((_SAID[action] for action in verdict.actions if action in _SAID), None)
