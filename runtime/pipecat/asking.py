"""Sends the requests of a pipeline to the model, each through the application's processors."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from pipecat.frames import frames as f
from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.fsm.sound import Sound
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.wording import UNLESS_DELIVERED
from turnfsm.runtime.host.agent import Host
from turnfsm.runtime.host.reply import Reply

from .calls import PipecatCalls
from .edits import Edits, Message
from .functions import Functions
from .hearing import Hearing
from .own_turns import OwnTurns
from .requests import Names, edited, request, text_of
from .speculation import Speculation

__all__ = ["Asking", "RequestEnd", "SaidBefore", "StepEnd"]

Push = Callable[[f.Frame], Coroutine[Any, Any, None]]


@dataclass
class StepEnd(f.DataFrame):
    """Marks the end of a step. When it has passed the assistant aggregator, the heard part of the
    step is in the conversation."""

    step: str


@dataclass
class RequestEnd(f.DataFrame):
    """Follows a request through the processors. If one of them answers the request itself, or holds
    it back, this arrives alone."""

    step: str


@dataclass
class SaidBefore(f.DataFrame):
    """What a processor says before the model is asked, or instead."""

    frame: f.TTSSpeakFrame


class Asking(Host):
    """The half of a pipeline's agent that asks: for each step it pushes the request to the model,
    or the text to the TTS.

    Each message of the user passes the application's processors before the model once: Pipecat
    requests the answer to a tool's result from behind them.

    A reply's `of` is the conversation, the application's `TTSSpeakFrame`, or a sound.

    Attributes:
        waiting: The reply that has released the floor for a filler, while its model responds.
        spoken: The messages of committed turns. A model that hears the user gets their audio.
        own_turns: The turns that the model detects itself, if it does.
        from_above: The frames, by id, that have come to the model. It makes all others.
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

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.calls = PipecatCalls(
            self, lambda: self.requested, lambda name: self.functions.registered(name)
        )
        self.functions = Functions(self.calls)
        self.waiting: Reply | None = None
        self.own_turns: OwnTurns | None = None
        self.speculation = Speculation(lambda frame: self.push(frame))
        self.spoken: set[str] = set()
        self.from_above: WeakValueDictionary[int, f.Frame] = WeakValueDictionary()
        self._noted: set[str] = set()  # messages that are in the journal
        self._latest: str | None = None  # the user's latest message at the latest request
        self._above: WeakSet[Reply] = WeakSet()  # requested from above the processors
        self._passing: Step | None = None  # its request passes the processors
        self._passed: str | None = None  # the user's latest message that has passed them
        self._sent: tuple[Message, ...] = ()  # the messages that the processors got last
        self._edits: Edits | None = None  # what they have made of these
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

    @property
    def requested(self) -> Reply | None:
        """The reply that the model generates, or is asked for."""
        coming = self.own_turns.coming if self.own_turns is not None else None
        speech = coming or self.waiting or (self.step.speech if self.step is not None else None)
        return speech if isinstance(speech, Reply) else None

    @property
    def held_requests(self) -> Sequence[Reply]:
        """The replies whose request is held back."""
        return [reply for reply in self._held if reply.text is None]

    @property
    def held_texts(self) -> Sequence[Reply]:
        """The texts that are held back."""
        return [reply for reply in self._held if reply.text is not None]

    @property
    def _held(self) -> Iterable[Reply]:
        return (r for r in self.replies if r.task is not None and not r.task.done())

    # -- requests of Pipecat

    def asked(self, frame: f.LLMContextFrame, *, above: bool = False) -> Reply:
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
        if turn is not None and latest is not None:
            self.spoken.add(latest)
        self.note_messages()
        reply = self.ask(self.new_reply(of=frame.context), turn, message)
        if above:
            self._above.add(reply)
        if frame.speculation:
            self._passage_over(frame.context)
            self.speculation.confirmed(reply)
            self.tasks.start(self._discard_unasked(reply))
        if turn is None:
            self.conductor.reply_requested()
        return reply

    def user_heard(self, context: LLMContext) -> None:
        """The message of a turn that the model has heard, and answers by itself, is in the
        context."""
        self._latest = self.names.latest(context)
        if self._latest is not None:
            self.spoken.add(self._latest)
        self.note_messages()

    async def may_request(self, reply: Reply) -> None:
        """As `Host.may_request`. A model that answers by itself answers the user first."""
        if (turns := self.own_turns) is not None:
            await self.conductor.until(lambda: reply.over or not turns.busy)
        await super().may_request(reply)

    async def _discard_unasked(self, reply: Reply) -> None:
        await self.conductor.until(lambda: reply.over or self.conductor.floor.holds(reply))
        if reply.over:
            await self.speculation.withdraw(reply)

    def note_messages(self) -> None:
        """Write the new messages into the journal."""
        for message in self.context.messages:
            if (text := text_of(message)) and (name := self.names.of(message)) not in self._noted:
                self._noted.add(name)
                self.conductor.turn.note("message", role=message["role"], text=text)

    # -- a step has the floor

    async def run_step(self, reply: Reply, step: Step) -> None:
        """Push the request to the model, or the text to the TTS, or let an answer pass that the
        model gives by itself."""
        if self.own_turns is not None and self.own_turns.takes_floor(reply):
            await self.own_turns.release()
            return
        if reply.text is not None:
            await self._say(reply, step)
            return
        if reply.instructions is None:
            self.conductor.speech.response_awaited(reply)
        passed = reply not in self._above and self.names.latest(reply.of) in (None, self._passed)
        if passed or self._delivers(reply):
            await self._send_request(reply)
            return
        self._above.discard(reply)
        self._passing, self._sent = step, (*reply.of.messages,)
        await self.push(f.LLMContextFrame(reply.of))
        await self.push(RequestEnd(step.id))

    def _delivers(self, reply: Reply) -> bool:
        """It has made calls. With their results Pipecat requests from behind the processors."""
        return any(call.turn == reply.id for call in self.conductor.ledger)

    async def _say(self, reply: Reply, step: Step) -> None:
        end, of = StepEnd(step.id), reply.of
        if isinstance(of, Sound):
            pieces = [f.TTSAudioRawFrame(piece, of.rate, 1) for piece in of.pieces()]
            frames = [f.TTSStartedFrame(), *pieces, f.TTSStoppedFrame()]
        else:
            frames = [of or f.TTSSpeakFrame(reply.text)]
            end.interruptible = frames[0].interruptible
        for frame in (*frames, end):
            await self.say_frame(frame)

    async def _send_request(self, reply: Reply) -> None:
        self.functions.advertised(reply.of)
        edits = None if self._delivers(reply) else self._edits
        calls = self.calls.open.values()
        context = request(reply.of, reply, self.conductor, self.names, calls, edits)
        if not await self.speculation.answers(reply, context):
            await self.request(f.LLMContextFrame(context))

    # -- the request passes the application's processors

    @property
    def passing(self) -> Step | None:
        """The step whose request passes. What the processors say now belongs to it."""
        step = self._passing
        return step if step is not None and step.speech is self.requested else None

    def _passage_over(self, context: LLMContext) -> None:
        self._passing, self._passed = None, self.names.latest(context)

    async def request_passed(self, frame: f.LLMContextFrame) -> None:
        """A request has passed, perhaps after its step."""
        context, sent = frame.context, self._sent
        self.functions.advertised(context)
        added = self.names.follow(sent, context.messages)
        reply = self.requested if self.passing is not None else None
        if reply is not None:
            self._edits = edited(reply, context, added, sent, self.names)
            self._passage_over(reply.of)
            if not reply.over:
                await self._send_request(reply)
            return
        self._passage_over(self.context)
        sent = (*self.context.messages,)
        reply = self.asked(f.LLMContextFrame(self.context))
        self._edits = edited(reply, context, added, sent, self.names)

    async def request_ended(self, end: RequestEnd) -> None:
        """The processors have answered a request, or hold it back, if it has not passed."""
        if (step := self.passing) is None or step.id != end.step:
            return
        self._passage_over(self.context)
        if self.waiting is not None:
            self.waiting.end()
        else:
            await self.request(StepEnd(end.step))

    # -- interruptions, and fillers

    def interrupt_step(self, reply: Reply) -> None:
        """Interrupt the pipeline; that ends the request, too. If a filler ends because the reply
        behind it is ready, interrupt only what follows the model."""
        if self.waiting and reply.text is not None and reply.interrupted_by == "programmatic":
            self.tasks.start(self.say_frame(f.InterruptionFrame()))
        elif reply is not self.waiting or not self._lost:
            self._lost = True
            self.tasks.start(self.push(f.InterruptionFrame()))

    def yield_floor(self, reply: Reply) -> None:
        """Release the floor. The model's response goes on."""
        self.waiting, self._lost = reply, False
        self.conductor.speech.floor_released(reply)
        reply.task = self.tasks.start(self._continue(reply))

    async def _continue(self, reply: Reply) -> None:
        floor = self.conductor.floor
        await self.conductor.until(lambda: reply.over or floor.step is None)
        self.waiting = None
        if reply.over:
            reply.end()
        elif self._lost:
            reply.continues = True
            self.continue_reply(reply)
        else:
            self.conductor.speech.floor_taken(self, reply, self.output)

    def continue_reply(self, reply: Reply) -> None:
        """As `Host.continue_reply`, unless its step goes on after a filler."""
        if reply is not self.waiting:
            super().continue_reply(reply)

    def reply(self, instructions: str | None = None) -> Reply:
        if self.own_turns is not None and instructions is not None:
            instructions = f"{instructions} {UNLESS_DELIVERED}"  # the model may have answered
        return self.ask(self.new_reply(instructions=instructions, of=self.context))
