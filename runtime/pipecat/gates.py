"""Processors between those of the application: they report passing frames, and hold back those that
must wait."""

from __future__ import annotations

from collections.abc import Sequence

from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from turnfsm.fsm import HostError, TurnfsmError
from turnfsm.runtime.host.reply import Reply

from .agent import PipecatAgent
from .asking import RequestEnd, SaidBefore, StepEnd
from .line import Arrival, Held, Line
from .session import PipecatSession

__all__ = ["AskGate", "Gate", "HeardGate", "ModelGate", "RequestGate", "TailGate"]


class Gate(FrameProcessor):
    """Passes a frame on, unless `passes` says no."""

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        await self.go_on(frame, direction)

    async def go_on(
        self, frame: f.Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM
    ) -> None:
        """Pass a frame on that does not wait."""
        down = direction is FrameDirection.DOWNSTREAM
        if await self.passes(frame, down=down):
            await self.push_frame(frame, direction)
            await self.passed(frame, down=down)

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        """Whether to pass the frame on."""
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        """The frame was passed on."""

    async def end_pipeline(self, error: TurnfsmError) -> None:
        """The flow cannot govern this pipeline."""
        await self.push_error(str(error), exception=error)
        await self.push_frame(f.CancelWorkerFrame(reason=str(error)), FrameDirection.UPSTREAM)


class OrderedGate(Gate):
    """Also keeps the order: a frame from above waits behind the replies that it follows, unless it
    is urgent."""

    def __init__(self, agent: PipecatAgent, *, name: str, direct: bool = False) -> None:
        super().__init__(name=name, enable_direct_mode=direct)
        self._agent = agent
        self._line = Line(agent, self.go_on, self.held)

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await FrameProcessor.process_frame(self, frame, direction)
        if direction is FrameDirection.DOWNSTREAM and not isinstance(frame, f.SystemFrame):
            before = self.follows(frame)
            if before is not None and self._line.takes(frame, before):
                return
        await self.go_on(frame, direction)

    async def go_on(
        self, frame: f.Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM
    ) -> None:
        if self._agent.closing:  # nothing is governed any more
            await self.push_frame(frame, direction)
        else:
            await super().go_on(frame, direction)

    def held(self) -> Sequence[Held]:
        """What frames wait for at this gate: the requests that are held back."""
        return self._agent.held_requests

    def follows(self, frame: f.Frame) -> Sequence[Held] | None:
        """What a frame follows that is held back. None: it never waits."""
        raise NotImplementedError


class AskGate(OrderedGate):
    """After the user aggregator: holds back requests until the flow allows them. Then they pass the
    application's processors before the model, such as a search. The processors after this one start
    only when the conversation is restored."""

    def __init__(self, session: PipecatSession) -> None:
        super().__init__(session.agent, name="turnfsm.ask")
        self._session = session
        self._refused: TurnfsmError | None = None
        self._texts: list[Arrival] = []  # on their way to the gate behind the model
        self._agent.push = self.push_frame

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        if isinstance(frame, f.EndFrame):  # the user aggregator has ended
            self._session.hearing.ends()
        await super().process_frame(frame, direction)

    def follows(self, frame: f.Frame) -> Sequence[Held] | None:
        if self._session.hearing.committed is not None:
            return None  # it belongs to the user's turn, whose request comes next
        if not isinstance(frame, f.LLMContextFrame):
            return self.held()
        return None if frame.speculation else self._coming

    @property
    def _coming(self) -> Sequence[Arrival]:
        return [text for text in self._texts if not text.task.done()]

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        speculation = self._agent.speculation
        match frame:
            case f.StartFrame():
                try:
                    await self._session.take_up()
                except TurnfsmError as error:
                    self._refused = error
            case f.UserStartedSpeakingFrame() if down:
                await speculation.withdraw()  # the end of the turn before comes first
            case f.UserStoppedSpeakingFrame() if down:
                return not speculation.holds(frame)
            case f.LLMContextFrame(speculation=True) if down:
                self._agent.functions.advertised(frame.context)
                speculation.sent(frame.context)
            case f.LLMContextFrame() if down:
                self._agent.asked(frame, above=True)
                return False
            case f.CancelFrame() if down:
                self._agent.close("cancelled")
            case f.InterruptionFrame() if down:
                self._agent.interruption_begins()
            case f.UserMuteStartedFrame():
                self._session.hearing.muted()
            case f.ErrorFrame() if not down:
                self._agent.failed(frame)
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        if isinstance(frame, f.StartFrame):
            self._session.start()
            if self._refused is not None:
                await self.end_pipeline(self._refused)
        elif isinstance(frame, f.EagerEndOfTurnCancelFrame) or (
            down and isinstance(frame, f.InterruptionFrame)
        ):
            await self._agent.speculation.forget()
        elif down and isinstance(frame, f.TTSSpeakFrame):
            arrival = Arrival()
            self._texts = [*self._coming, arrival]
            await self.push_frame(arrival)

    async def cleanup(self) -> None:
        await self._session.aclose()
        await super().cleanup()


class RequestGate(OrderedGate):
    """Right before the model: makes the request for the step that has the floor, with what the
    application's processors have added to the context."""

    def __init__(self, agent: PipecatAgent) -> None:
        super().__init__(agent, name="turnfsm.request")
        agent.request = self.push_frame

    def follows(self, frame: f.Frame) -> Sequence[Held] | None:
        match frame:
            case f.LLMContextFrame() | RequestEnd():
                return None
            case f.TTSSpeakFrame() if self._agent.passing is not None:
                return None
        return () if self._agent.passing is not None else self.held()

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case f.LLMContextFrame(speculation=False) if down:
                await self._agent.request_passed(frame)
            case RequestEnd():
                await self._agent.request_ended(frame)
            case f.TTSSpeakFrame() if down and self._agent.passing is not None:
                await self.push_frame(SaidBefore(frame))
            case _:
                self._agent.from_above[frame.id] = frame
                return True
        return False


class ModelGate(OrderedGate):
    """Right after the model: reports its output, and holds back `TTSSpeakFrame`s until they get the
    floor. It has no queue if it need not wait: what the application gives to the TTS itself then
    comes behind what the model has said before, as without a governor.

    Args:
        waits: The flow may let a filler go before a reply whose model is slow. So the beginning of
            a response is passed on only with the first text, when the reply has the floor.
    """

    def __init__(self, agent: PipecatAgent, waits: bool) -> None:
        super().__init__(agent, name="turnfsm.model", direct=not waits)
        self._waits = waits
        self._step, self._calls = "", 0
        self._begins: tuple[Reply, f.Frame] | None = None
        self._drops = False
        agent.say_frame = self.push_frame

    def held(self) -> Sequence[Held]:
        return self._agent.held_texts

    def follows(self, frame: f.Frame) -> Sequence[Held] | None:
        if frame.id not in self._agent.from_above:
            return None  # the model has made it
        return () if isinstance(frame, f.TTSSpeakFrame) else self.held()

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        agent = self._agent
        match frame:
            case f.InterruptionFrame():
                self._begins = None
            case f.LLMContextFrame() if not down:
                agent.asked(frame)
                return False
            case _ if not down:
                return True
            case f.EndFrame() | f.StopFrame():
                agent.close()
            case Arrival():
                frame.task.set_result(None)
                return False
            case SaidBefore():
                agent.text_received(frame.frame.text)
                await self.push_frame(frame.frame)
                return False
            case f.TTSSpeakFrame():
                agent.speak(frame.text, of=frame)
                return False
            case f.LLMFullResponseStartFrame():
                self._drops = False
                if self._waits and (reply := agent.requested) is not None:
                    self._begins = reply, frame
                    return False
                self._response_begins()
            case f.LLMTextFrame():
                if await self._drops_response(text=True):
                    return False
                agent.text_received(frame.text)
            case f.LLMFullResponseEndFrame():
                return not await self._drops_response(text=False)
            case f.FunctionCallsStartedFrame():
                self._calls += len(frame.function_calls)
                for call in frame.function_calls:
                    agent.calls.made(call.tool_call_id, call.function_name, call.arguments)
            case f.FunctionCallInProgressFrame():
                agent.calls.runs(frame)
            case f.FunctionCallResultFrame():
                await agent.calls.result_passes(frame)
            case f.FunctionCallCancelFrame():
                await self.push_frame(await agent.calls.cancel_passes(frame))
                return False
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        if down and isinstance(frame, f.LLMFullResponseEndFrame) and self._step:
            step, self._step = self._step, ""
            self._agent.response_ended(step, self._calls)
            await self.push_frame(StepEnd(step))

    def _response_begins(self) -> None:
        step = self._agent.step
        self._step, self._calls = step.id if step is not None else "", 0
        self._agent.tokens_received()

    async def _drops_response(self, *, text: bool) -> bool:
        """Whether the response is dropped, once its reply has the floor again or is over."""
        if (begins := self._begins) is not None:
            self._drops = not await self._agent.responds(begins[0], text=text)
            self._begins = None
            if not self._drops:
                self._response_begins()
                await self.push_frame(begins[1])
        return self._drops


class HeardGate(Gate):
    """After the output transport: frames that arrive here in order have been played.

    A step is over when playout has stopped and the end of the response has passed. That end may be
    timed, so the step's words have passed as well.
    """

    def __init__(self, agent: PipecatAgent) -> None:
        super().__init__(name="turnfsm.heard")
        self._agent = agent
        self._plays = self._unsaid = False
        self._ended = StepEnd("")

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        if not down:
            return True
        match frame:
            case f.InterruptionFrame():
                self._ended, self._unsaid = StepEnd(""), False
            case f.LLMFullResponseStartFrame():
                self._unsaid = True
            case f.LLMFullResponseEndFrame():
                self._unsaid = False
            case f.BotStartedSpeakingFrame():
                self._plays = True
                self._agent.playout(begins=True)
            case f.BotStoppedSpeakingFrame():
                self._plays = False
                self._agent.playout(begins=False)
            case StepEnd() if self._plays or self._unsaid:
                self._ended = frame
                return False
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        last = isinstance(frame, f.BotStoppedSpeakingFrame | f.LLMFullResponseEndFrame)
        if down and last and self._ended.step and not (self._plays or self._unsaid):
            ended, self._ended = self._ended, StepEnd("")
            await self.push_frame(ended)


class TailGate(Gate):
    """After the assistant aggregator: the heard part of what arrives here is in the context."""

    def __init__(self, session: PipecatSession) -> None:
        super().__init__(name="turnfsm.tail")
        self._session, self._agent = session, session.agent

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case StepEnd():
                self._agent.step_played(frame.step)
                return False
            case f.InterruptionFrame() if down:
                self._agent.interrupted()
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        if isinstance(frame, f.StartFrame) and not self._session.tap.installed:
            try:
                self._session.parts.check(without="transport")
            except HostError as error:  # it was not given our parameters
                await self.end_pipeline(error)
