"""The agent of a pipeline, with its replies from the request to the end of the last step."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from pipecat.frames.frames import (
    DataFrame,
    EndWorkerFrame,
    ErrorFrame,
    Frame,
    InterruptionFrame,
    LLMContextFrame,
    TTSSpeakFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.ports import Phase, Setup, UserTurn
from turnfsm.runtime.conversation.tool_calls import Result

from .calls import Calls
from .failures import failure_of
from .hearing import Hearing, Turn
from .output import Tap
from .reply import Reply
from .requests import Names, request, text_of
from .tasks import Tasks

__all__ = ["PipecatAgent", "StepEnd"]

Push = Callable[[Frame], Coroutine[Any, Any, None]]


@dataclass
class StepEnd(DataFrame):
    """Marks the end of a step. When it has passed the assistant aggregator, the heard part of the
    step is in the conversation."""

    step: str


class PipecatAgent:
    """The only agent of a session. It sends requests to the model when the flow allows it, one step
    at a time.

    Args:
        conductor: Gets the reports.
        hearing: Reports the user.
        tap: The audio output.
        take: Commits a deferred turn.
    """

    phase: Phase = "present"
    setup = Setup()
    user_silent = False

    ask: Push
    """Pushes a request, or an interruption, to the model."""

    say: Push
    """Pushes a frame downstream of the model."""

    context: LLMContext
    """The conversation."""

    def __init__(
        self,
        conductor: Conductor,
        hearing: Hearing,
        tap: Tap,
        take: Callable[[Turn], Coroutine[Any, Any, None]],
    ) -> None:
        self._conductor, self._hearing, self._tap, self._take = conductor, hearing, tap, take
        self.names = Names()
        self.calls = Calls(conductor, self._results_there)
        self.calls.agent = self
        self._count = 0
        self._ids = "reply"
        self._noted: set[str] = set()
        self._heard = self._begun = ""  # the latest step that was heard, or has produced something
        self._tasks = Tasks()

    async def aclose(self) -> None:
        """The pipeline has ended: end all waits."""
        await self._tasks.aclose()

    def begin(self, epoch: int) -> None:
        """The pipeline starts. The messages in the context are from before.

        Args:
            epoch: The worker's number, which makes the reply ids unique.
        """
        if epoch > 1:
            self._ids = f"reply_{epoch}"
        self._noted = {self.names.of(message) for message in self.context.messages}

    # -- requests of Pipecat

    def asked(self, frame: LLMContextFrame) -> None:
        """A request for the model has arrived: to answer a committed turn, or from the
        application."""
        turn = self._hearing.take_committed()
        said = self.names.latest(frame.context) if turn is not None else None
        if turn is not None:
            self._conductor.stop_older_replies()
        self.note_messages()
        reply = self._new(context=frame.context)
        self._conductor.replies.asked(
            reply, self, [said] if said is not None else [], instructed=False
        )
        if said is not None:
            self._conductor.turns.reply_asked(reply, said)
            self._conductor.turns.message_added(said)
        self._conductor.speech_scheduled(turn, reply, self)
        if turn is not None:
            self._conductor.turn_task_ended(turn)
        else:
            self._conductor.reply_requested()
        self._tasks.start(self._request(reply))

    def speaks(self, frame: TTSSpeakFrame) -> Reply:
        """The application says a fixed text."""
        reply = self._new(said=frame)
        self._conductor.speech_scheduled(None, reply, self)
        self._tasks.start(self._speak(reply))
        return reply

    # -- the port

    def reply(self, instructions: str | None = None) -> Reply:
        """Request a reply from the model."""
        reply = self._new(context=self.context, instructions=instructions)
        self._conductor.replies.asked(reply, self, [], instructed=instructions is not None)
        self._conductor.speech_scheduled(None, reply, self)
        self._tasks.start(self._request(reply))
        return reply

    def speak(self, text: str, *, interruptible: bool = True) -> Reply:
        """Say a text."""
        reply = self.speaks(TTSSpeakFrame(text))
        if not interruptible:
            reply.hold(True)
        return reply

    def hang_up(self) -> None:
        """End the pipeline, after everything that was pushed before."""
        self._tasks.start(self.ask(EndWorkerFrame()))

    def cancel_call(self, call: str) -> None:
        """Cancel a running tool."""
        self.calls.cancel(call)

    def answer(self, calls: Sequence[str]) -> None:
        """Continue without these calls."""
        self.calls.answer(calls)

    def add_cancelled_output(self, call: str, text: str) -> None:
        """Do nothing: Pipecat itself adds the cancellation to the context."""
        self._conductor.tools.late_result(Result(call, empty=True))

    @property
    def deciding(self) -> bool:
        """Endpointing is running."""
        return self._hearing.deciding

    @property
    def answer_pending(self) -> bool:
        """A transcript may still be committed."""
        return self._hearing.deciding

    def take_turn(self, turn: UserTurn) -> None:
        """Commit a deferred turn."""
        assert isinstance(turn, Turn)
        if not turn.restored:
            self._tasks.start(self._take(turn))
        elif self._hearing.commit(turn):
            self.context.add_message({"role": "user", "content": turn.new_transcript})
            self.asked(LLMContextFrame(self.context))

    # -- the step that holds the floor

    @property
    def step(self) -> Step | None:
        """The step that holds the floor."""
        return self._conductor.floor.step

    def tokens_received(self) -> None:
        """The model has begun to respond, or has produced output."""
        if (step := self.step) is not None:
            self._begun = step.id
            self._conductor.tokens_received()

    def text_received(self, text: str) -> None:
        """The model has produced text."""
        self.tokens_received()
        if self.step is not None and self._conductor.needs_text:
            self._conductor.floor.text_received(self.step.speech, text)

    def response_ended(self, id: str, calls: int) -> None:
        """The model's response for a step is complete, with this number of calls."""
        if (step := self.step) is not None and step.id == id:
            self._conductor.calls_received(step.speech, calls)

    def heard(self) -> None:
        """The step starts to play."""
        self._heard = self.step.id if self.step is not None else ""

    def step_ended(self, id: str) -> None:
        """A step was played to the end, or was interrupted and its `InterruptionFrame` follows."""
        if (step := self.step) is not None and step.id == id and not step.speech.interrupted:
            self._give_back(step)

    def interrupted(self) -> None:
        """An interruption has passed through the whole pipeline."""
        self.cut_off()
        if (step := self.step) is not None and step.speech.interrupted:
            self._give_back(step)

    def cut_off(self) -> None:
        """An interruption is on its way through the pipeline."""
        if (step := self.step) is not None and isinstance(step.speech, Reply):
            step.speech.cut_off()

    def failed(self, frame: ErrorFrame) -> None:
        """A processor has failed."""
        step = self.step
        failure = failure_of(frame, step.speech.id if step is not None else None)
        if failure is None:
            return
        self._conductor.outages.failed(failure)
        if step is None or not isinstance(step.speech, Reply):
            return
        step.speech.failed = True
        if failure.part == "llm" and self._begun != step.id:
            self._give_back(step)  # it produces no more frames

    def note_messages(self) -> None:
        """Write the new messages into the journal."""
        for message in self.context.messages:
            if (text := text_of(message)) and (name := self.names.of(message)) not in self._noted:
                self._noted.add(name)
                self._conductor.turn.note("message", role=message["role"], text=text)

    # -- inside

    def _new(self, **what: Any) -> Reply:
        self._count += 1
        ends = (self._cut, self._left, self._hearing.may_interrupt)
        return Reply(f"{self._ids}_{self._count}", self._conductor, *ends, **what)

    def _cut(self) -> None:
        self._tasks.start(self.ask(InterruptionFrame()))

    def _left(self, reply: Reply) -> None:
        if (step := self.step) is not None and step.speech is reply:
            self._give_back(step)

    async def _request(self, reply: Reply) -> None:
        conductor, floor = self._conductor, self._conductor.floor
        conductor.reply_began(reply)  # the model is asked when it has the floor
        while not reply.interrupted:
            await conductor.until(lambda: reply.interrupted or floor.step is None)
            if not reply.interrupted:
                await conductor.may_request(reply)
                if conductor.keeping is not None:
                    await conductor.keeping.before_reply()
                if floor.step is None:
                    break
        if reply.interrupted:
            reply.end()
            return
        self._take_floor(reply)
        frame = LLMContextFrame(request(reply, conductor, self.names, self.calls.came))
        await self.ask(frame)

    async def _speak(self, reply: Reply) -> None:
        floor = self._conductor.floor
        await self._conductor.until(lambda: reply.interrupted or floor.step is None)
        if reply.interrupted:
            reply.end()
            return
        step = self._take_floor(reply)
        assert reply.said is not None
        end = StepEnd(step)
        end.interruptible = reply.said.interruptible
        await self.say(reply.said)
        await self.say(end)

    def _take_floor(self, reply: Reply) -> str:
        reply.goes_on = reply.failed = False
        self._conductor.floor_taken(self, reply, self._tap)
        return self.step.id if self.step is not None else ""

    def _give_back(self, step: Step) -> None:
        reply = step.speech
        assert isinstance(reply, Reply)
        self.note_messages()
        if self._heard == step.id:
            whole = not (reply.interrupted or reply.failed)
            self._conductor.reply_heard(reply.id, whole=whole)
        self._conductor.floor_released(reply)
        if reply.interrupted or not reply.calls:
            self._results_there(reply)

    def _results_there(self, reply: Reply) -> None:
        """A reply waits for no result any more: it says the results, or ends."""
        if reply.finished or self._conductor.floor.holds(reply):
            return  # after its step has returned the floor
        if reply.goes_on and not reply.interrupted:
            self._tasks.start(self._request(reply))
        else:
            reply.end()
