"""The agent of a pipeline: sends its requests, and reports its steps."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import attrs
from pipecat.frames import frames as f
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.journal import ReplyText
from turnfsm.fsm.sound import Sound
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.ports import Report, Settings, Speech, UserTurn
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.host.agent import Host
from turnfsm.runtime.host.calls import OpenCall
from turnfsm.runtime.host.reply import Reply
from turnfsm.runtime.host.turns import Turn

from .calls import PipecatCalls
from .failures import failure_of
from .functions import Functions
from .hearing import Hearing
from .output import Tap
from .passage import Passage, RequestEnd
from .requests import Names, request, text_of
from .speculation import Speculation

if TYPE_CHECKING:
    from turnfsm.fsm.audit.properties import Broken

__all__ = ["AgentStateChanged", "PipecatAgent", "Reports", "StepEnd"]


@attrs.frozen
class AgentStateChanged:
    """The agent state has changed, from ``old`` to ``new``: listening, thinking or speaking."""

    old: str
    new: str


Reports = Callable[["Report | AgentStateChanged | Broken"], None]
"""What the application is notified with."""

Push = Callable[[f.Frame], Coroutine[Any, Any, None]]


@dataclass
class StepEnd(f.DataFrame):
    """Marks the end of a step. When it has passed the assistant aggregator, the heard part of the
    step is in the conversation."""

    step: str


class PipecatAgent(Host):
    """The session of a pipeline, and its only agent.

    A reply's `of` is the context of its request, the application's `TTSSpeakFrame`, or a sound.

    Args:
        settings: The current settings.
        tap: The audio output.
        take: Commits a deferred turn.
        on_report: Called with the events for the application.
    """

    push: Push
    """Pushes a turn's request, or an interruption, towards the model."""

    request: Push
    """Pushes a request from right before the model."""

    say_frame: Push
    """Pushes a frame downstream of the model."""

    context: LLMContext
    """The conversation."""

    hearing: Hearing
    """Reports the user."""

    calls: PipecatCalls

    def __init__(
        self,
        settings: Settings,
        tap: Tap,
        take: Callable[[Turn], Coroutine[Any, Any, None]],
        on_report: Reports | None,
    ) -> None:
        super().__init__()
        self.settings, self.output = settings, tap
        self._take, self._on_report = take, on_report
        self.names = Names()
        self.calls = PipecatCalls(
            self, lambda: self.requested, lambda name: self.functions.registered(name)
        )
        self.functions = Functions(self.calls)
        self._noted: set[str] = set()
        self._latest: str | None = None  # the user's latest message at the latest request
        self.passage = Passage(lambda frame: self.push(frame), lambda: self.requested)
        self.speculation = Speculation(lambda frame: self.push(frame))
        self._begun = ""  # the latest step that has produced something
        self._worded = ""  # the latest step that has produced text
        self._waiting: Reply | None = None  # it has released the floor for a filler
        self._lost = False  # an interruption has ended its response

    def begin(self, epoch: int) -> None:
        """The pipeline starts. The messages in the context are from before.

        Args:
            epoch: The worker's number, which makes the reply ids unique.
        """
        if epoch > 1:
            self.ids = f"reply_{epoch}"
        self._noted = {self.names.of(message) for message in self.context.messages}
        self._latest = self.names.latest(self.context)

    # -- requests of Pipecat

    def asked(self, frame: f.LLMContextFrame, *, above: bool = False) -> None:
        """A request for the model has arrived: to answer a committed turn, or from the
        application.

        Args:
            above: From above the application's processors before the model.
        """
        turn = self.hearing.take_committed()
        latest, last = self.names.latest(frame.context), self.names.last(frame.context)
        typed = last not in (None, self._latest)  # the application has added it
        message = latest if typed or turn is not None else None
        self._latest = latest
        self.note_messages()
        reply = self.ask(self.new_reply(of=frame.context), turn, message)
        if above:
            self.passage.asked(reply)
        if frame.speculation:
            self.passage.ends(latest)
            self.speculation.confirmed(reply)
            self.tasks.start(self._discard_unasked(reply))
        if turn is None:
            self.conductor.reply_requested()

    async def _discard_unasked(self, reply: Reply) -> None:
        await self.conductor.until(lambda: reply.over or self.conductor.floor.holds(reply))
        if reply.over:
            await self.speculation.withdraw(reply)

    # -- what differs between hosts

    async def run_step(self, reply: Reply, step: Step) -> None:
        """Push the request to the model, or the text to the TTS."""
        if reply.text is None:
            if reply.instructions is None:
                self.conductor.speech.response_awaited(reply)
            if not await self.passage.begins(reply, step, self.names.latest(reply.of)):
                await self._send_request(reply, reply.of)
            return
        end, of = StepEnd(step.id), reply.of
        if isinstance(of, Sound):
            pieces = [f.TTSAudioRawFrame(piece, of.rate, 1) for piece in of.pieces()]
            frames = [f.TTSStartedFrame(), *pieces, f.TTSStoppedFrame()]
        else:
            frames = [of or f.TTSSpeakFrame(reply.text)]
            end.interruptible = frames[0].interruptible
        for frame in (*frames, end):
            await self.say_frame(frame)

    async def _send_request(self, reply: Reply, context: LLMContext) -> None:
        self.functions.advertised(context)
        calls = self.calls.open.values()
        context = request(context, reply, self.conductor, self.names, calls)
        if not await self.speculation.answers(reply, context):
            await self.request(f.LLMContextFrame(context))

    async def request_passed(self, frame: f.LLMContextFrame) -> None:
        """A request has passed the application's processors, perhaps after its step."""
        if not self.passage.open or (reply := self.requested) is None:
            self.asked(frame)
            return
        self.passage.ends(self.names.latest(reply.of))
        if not reply.over:
            await self._send_request(reply, frame.context)

    async def request_ended(self, end: RequestEnd) -> None:
        """The application's processors have answered a request, or hold it back, if it has not
        passed."""
        if not self.passage.lacks(end):
            return
        self.passage.ends(self.names.latest(self.context))
        if self._waiting is not None:
            self._waiting.end()
        else:
            await self.request(StepEnd(end.step))

    def interrupt_step(self, reply: Reply) -> None:
        """Interrupt the pipeline; that ends the request, too. If a filler ends because the reply
        behind it is ready, interrupt only what follows the model."""
        if self._waiting and reply.text is not None and reply.interrupted_by == "programmatic":
            self.tasks.start(self.say_frame(f.InterruptionFrame()))
        elif reply is not self._waiting or not self._lost:
            self._lost = True
            self.tasks.start(self.push(f.InterruptionFrame()))

    def yield_floor(self, reply: Reply) -> None:
        """Release the floor. The model's response goes on."""
        self._waiting, self._lost = reply, False
        self.conductor.speech.floor_released(reply)
        reply.task = self.tasks.start(self._continue(reply))

    async def _continue(self, reply: Reply) -> None:
        floor = self.conductor.floor
        await self.conductor.until(lambda: reply.over or floor.step is None)
        self._waiting = None
        if reply.over:
            reply.end()
        elif self._lost:
            reply.continues = True
            self.continue_reply(reply)
        else:
            self.conductor.speech.floor_taken(self, reply, self.output)

    def may_interrupt(self, reply: Reply) -> bool:
        """While a reply has the floor, the strategy that started the user's turn may forbid it."""
        if _stays_whole(reply):
            return False
        return self.hearing.may_interrupt() or not self.conductor.floor.holds(reply)

    def reply(self, instructions: str | None = None) -> Reply:
        return self.ask(self.new_reply(instructions=instructions, of=self.context))

    def hang_up(self) -> None:
        """End the pipeline, after everything that was pushed before."""
        self.tasks.start(self.push(f.EndWorkerFrame()))

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

    def take_turn(self, turn: UserTurn) -> None:
        assert isinstance(turn, Turn)
        if not turn.restored:
            self.tasks.start(self._take(turn))
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

    @property
    def requested(self) -> Reply | None:
        """The reply that is requested from the model."""
        speech = self._waiting or (self.step.speech if self.step is not None else None)
        return speech if isinstance(speech, Reply) else None

    async def responds(self, reply: Reply, *, text: bool) -> bool:
        """The model has produced text for this reply, or has ended. Returns whether the response
        may be passed on, once the reply has the floor."""
        if text:
            self.conductor.speech.reply_started(reply)
        self.conductor.speech.response_over(reply)
        await self.conductor.until(lambda: reply is not self._waiting)
        return not reply.over

    def response_ended(self, id: str, calls: int) -> None:
        """The model's response for a step is complete, with this number of calls."""
        if (step := self.step) is not None and step.id == id:
            self.conductor.requests.calls_received(step.speech, calls)

    def continue_reply(self, reply: Reply) -> None:
        """As `Host.continue_reply`, unless its step goes on after a filler."""
        if reply is not self._waiting:
            super().continue_reply(reply)

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
        self._cut_off(self.step.speech if self.step is not None else None)
        if (step := self.step) is not None and step.speech.interrupted:
            self.step_finished(step)

    def cut_off(self) -> None:
        """An interruption is on its way through the pipeline, perhaps one that the flow did not
        choose."""
        self._cut_off(self._waiting)
        self._cut_off(self.step.speech if self.step is not None else None)

    def _cut_off(self, reply: Speech | None) -> None:
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
        if failure.part == "llm" and self._waiting is not None:
            self._waiting.failed = True
            self._waiting.end()
            return
        if step is None or not isinstance(step.speech, Reply):
            return
        step.speech.failed = True
        if failure.part == "llm" and self._begun != step.id:
            self.step_finished(step)  # it produces no more frames

    def note_messages(self) -> None:
        """Write the new messages into the journal."""
        for message in self.context.messages:
            if (text := text_of(message)) and (name := self.names.of(message)) not in self._noted:
                self._noted.add(name)
                self.conductor.turn.note("message", role=message["role"], text=text)


def _stays_whole(reply: Reply) -> bool:
    """Pipecat drops none of it at an interruption."""
    return isinstance(reply.of, f.TTSSpeakFrame) and not reply.of.interruptible
