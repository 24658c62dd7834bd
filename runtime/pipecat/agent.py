"""The agent of a pipeline: reports its steps, and carries out what the flow decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
from pipecat.frames import frames as f

from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.journal import ReplyText
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.ports import Report, Settings, Speech, UserTurn
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.host.calls import OpenCall
from turnfsm.runtime.host.reply import Reply
from turnfsm.runtime.host.turns import Turn

from .asking import Asking
from .failures import failure_of
from .output import Tap

if TYPE_CHECKING:
    from turnfsm.fsm.audit.properties import Broken

__all__ = ["AgentStateChanged", "PipecatAgent", "Reports"]


@attrs.frozen
class AgentStateChanged:
    """The agent state has changed, from ``old`` to ``new``: listening, thinking or speaking."""

    old: str
    new: str


Reports = Callable[["Report | AgentStateChanged | Broken"], None]
"""What the application is notified with."""


class PipecatAgent(Asking):
    """The session of a pipeline, and its only agent.

    Args:
        settings: The current settings.
        tap: The audio output.
        on_report: Called with the events for the application.
    """

    output: Tap

    def __init__(self, settings: Settings, tap: Tap, on_report: Reports | None) -> None:
        super().__init__()
        self.settings, self.output, self._on_report = settings, tap, on_report
        self._begun = ""  # the latest step that has produced something
        self._worded = ""  # the latest step that has produced text

    # -- what the flow decides

    def may_interrupt(self, reply: Reply) -> bool:
        """While a reply has the floor, the strategy that started the user's turn may forbid it."""
        if _stays_whole(reply):
            return False
        return self.hearing.may_interrupt() or not self.conductor.floor.holds(reply)

    def hang_up(self) -> None:
        """End the pipeline, after everything that was pushed before."""
        self.tasks.start(self.push(f.EndWorkerFrame()))

    def close(self, reason: str = "ended") -> None:
        """The pipeline starts to end: release held and paused audio, and answer no more turns."""
        super().close(reason)
        self.output.release()

    async def add_result(self, call: OpenCall) -> None:
        await self.calls.give(call)

    def add_cancelled_output(self, call: str, text: str) -> None:
        """Do nothing: Pipecat itself adds the cancellation to the context."""
        self.conductor.tools.late_result(Result(call, empty=True))

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        old = self.agent_state
        super().publish(state, heard, at)
        if state != old:
            self.report(AgentStateChanged(old, state))

    def report(self, report: Report | AgentStateChanged) -> None:
        if self._on_report is not None:
            self._on_report(report)

    def tune(self, tuning: Tuning) -> None:
        """Apply the settings of the flow's current state."""
        self.hearing.tuning = tuning
        # without min_words a transcript interrupts if a start strategy has proposed that
        self.settings = attrs.evolve(
            self.settings,
            min_duration=tuning.min_duration or 0.0,
            min_words=max(tuning.min_words or 0, 1),
        )

    @property
    def user_silent(self) -> bool:  # type: ignore[override]
        """The user has paused within their speech, for as long as the current state says."""
        return self.hearing.silent

    @property
    def endpointing(self) -> bool:
        return self.hearing.endpointing

    @property
    def answer_pending(self) -> bool:
        return self.endpointing or (self.own_turns is not None and self.own_turns.pending)

    def take_turn(self, turn: UserTurn) -> None:
        assert isinstance(turn, Turn)
        if not turn.restored:
            self.tasks.start(self.hearing.take(turn))
        elif self.hearing.commit(turn):
            self.context.add_message({"role": "user", "content": turn.new_transcript})
            self.asked(f.LLMContextFrame(self.context), above=True)

    # -- the step that holds the floor

    def tokens_received(self) -> None:
        """The model has begun to respond, or has produced output."""
        if (step := self.step) is not None:
            self._begun = step.id
            self.conductor.requests.tokens_received()

    def text_received(self, text: str) -> None:
        """The model has produced text."""
        self.tokens_received()
        if (step := self.step) is None:
            return
        if self._worded != step.id:
            self._worded = step.id
            self.conductor.record(ReplyText(step.speech.id))
        if self.conductor.speech.needs_text:
            self.conductor.floor.text_received(step.speech, text)

    async def responds(self, reply: Reply, *, text: bool) -> bool:
        """The model has produced text for this reply, or has ended. Returns whether the response
        may be passed on, once the reply has the floor."""
        if text:
            self.conductor.speech.reply_started(reply)
        self.conductor.speech.response_over(reply)
        await self.conductor.until(lambda: reply is not self.waiting)
        return not reply.over

    def response_ended(self, id: str, calls: int) -> None:
        """The model's response for a step is complete, with this number of calls."""
        if (step := self.step) is not None and step.id == id:
            self.conductor.requests.calls_received(step.speech, calls)

    def step_played(self, id: str) -> None:
        """A step was played to the end, or was interrupted and an `InterruptionFrame` follows."""
        if (step := self.step) is not None and step.id == id and not step.speech.interrupted:
            self.step_finished(step)

    def step_finished(self, step: Step) -> None:
        """A step has ended, and its heard part is in the context."""
        self.note_messages()
        super().step_finished(step)

    def interrupted(self) -> None:
        """An interruption has passed through the whole pipeline."""
        self._interrupt_reply(self.step.speech if self.step is not None else None)
        if (step := self.step) is not None and step.speech.interrupted:
            self.step_finished(step)

    def interruption_begins(self) -> None:
        """An interruption is on its way through the pipeline, perhaps one that the flow did not
        choose."""
        self._interrupt_reply(self.waiting)
        self._interrupt_reply(self.own_turns.coming if self.own_turns is not None else None)
        self._interrupt_reply(self.step.speech if self.step is not None else None)

    def _interrupt_reply(self, reply: Speech | None) -> None:
        if isinstance(reply, Reply) and not reply.interrupted and not _stays_whole(reply):
            self.conductor.speech.interrupted_by_code(reply, None)
            reply.interrupted = True
            self.conductor.speech.interrupted(reply, "programmatic")

    def failed(self, frame: f.ErrorFrame) -> None:
        """A processor has failed."""
        step = self.step
        failure = failure_of(frame, step.speech.id if step is not None else None)
        if failure is None:
            return
        self.conductor.outages.failed(failure)
        if failure.part == "llm" and self.waiting is not None:
            self.waiting.failed = True
            self.waiting.end()
            return
        if step is None or not isinstance(step.speech, Reply):
            return
        step.speech.failed = True
        if failure.part == "llm" and self._begun != step.id:
            self.step_finished(step)  # it produces no more frames


def _stays_whole(reply: Reply) -> bool:
    """Pipecat drops none of it at an interruption."""
    return isinstance(reply.of, f.TTSSpeakFrame) and not reply.of.interruptible
