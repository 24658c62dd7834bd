"""Processors between those of the application: they report passing frames, and hold back those that
must wait."""

from __future__ import annotations

from pipecat.frames.frames import (
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    CancelFrame,
    CancelWorkerFrame,
    EagerEndOfTurnCancelFrame,
    EndFrame,
    ErrorFrame,
    Frame,
    FunctionCallCancelFrame,
    FunctionCallInProgressFrame,
    FunctionCallResultFrame,
    FunctionCallsStartedFrame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    StartFrame,
    StopFrame,
    TTSSpeakFrame,
    UserMuteStartedFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from turnfsm.fsm import Flow, HostError, TurnfsmError
from turnfsm.runtime.host.reply import Reply

from .agent import PipecatAgent, StepEnd
from .output import Tap
from .session import PipecatSession
from .sources import check_parts

__all__ = ["AskGate", "Gate", "HeardGate", "ModelGate", "TailGate"]

DOWN = FrameDirection.DOWNSTREAM


class Gate(FrameProcessor):
    """Passes a frame on, unless `passes` says no."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`."""
        await super().process_frame(frame, direction)
        if self.passes(frame, down=direction is DOWN):
            await self.push_frame(frame, direction)
            await self.passed(frame, down=direction is DOWN)

    def passes(self, frame: Frame, *, down: bool) -> bool:
        """Whether to pass the frame on."""
        return True

    async def passed(self, frame: Frame, *, down: bool) -> None:
        """The frame was passed on."""


class AskGate(Gate):
    """Before the model: holds back requests until the flow allows them."""

    def __init__(self, session: PipecatSession) -> None:
        super().__init__(name="turnfsm.ask")
        self._session, self._agent = session, session.agent
        self._agent.push = self.push_frame

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`. The processors after this one start only when it may
        continue."""
        refused: TurnfsmError | None = None
        if isinstance(frame, StartFrame):
            try:
                await self._session.take_up()
            except TurnfsmError as error:
                refused = error
        elif isinstance(frame, UserStartedSpeakingFrame) and direction is DOWN:
            await self._agent.speculation.withdraw()  # the end of the turn before comes first
        await super().process_frame(frame, direction)
        if refused is not None:
            await self.push_error(str(refused), exception=refused)
            await self.push_frame(CancelWorkerFrame(reason=str(refused)), FrameDirection.UPSTREAM)

    def passes(self, frame: Frame, *, down: bool) -> bool:
        match frame:
            case LLMContextFrame(speculation=True) if down:
                self._agent.functions.advertised(frame.context)
                self._agent.speculation.sent(frame.context)
            case UserStoppedSpeakingFrame() if down:
                return not self._agent.speculation.holds(frame)
            case LLMContextFrame() if down:
                self._agent.asked(frame)
                return False
            case EndFrame() | StopFrame() if down:
                self._session.close("ended")
            case CancelFrame() if down:
                self._session.close("cancelled")
            case InterruptionFrame() if down:
                self._agent.cut_off()
            case UserMuteStartedFrame():
                self._session.hearing.muted()
            case ErrorFrame() if not down:
                self._agent.failed(frame)
        return True

    async def passed(self, frame: Frame, *, down: bool) -> None:
        if isinstance(frame, StartFrame):
            self._session.start()
        elif isinstance(frame, EagerEndOfTurnCancelFrame) or (
            down and isinstance(frame, InterruptionFrame)
        ):
            await self._agent.speculation.forget()

    async def cleanup(self) -> None:
        """As `FrameProcessor.cleanup`."""
        await self._session.aclose()
        await super().cleanup()


class ModelGate(Gate):
    """Right after the model: reports its output, and holds back `TTSSpeakFrame`s until they get the
    floor.

    Args:
        waits: The flow may let a filler go before a reply whose model is slow. So the beginning of
            a response is passed on only with the first text, when the reply has the floor.
    """

    def __init__(self, agent: PipecatAgent, waits: bool) -> None:
        super().__init__(name="turnfsm.model")
        self._agent, self._waits = agent, waits
        self._step, self._calls = "", 0
        self._begins: tuple[Reply, Frame] | None = None
        self._drops = False
        agent.say_frame = self.push_frame

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`."""
        begins, reply = self._begins, self._agent.requested
        match frame:
            case InterruptionFrame():
                self._begins = None
            case FunctionCallResultFrame() if direction is DOWN:
                await self._agent.calls.result_passes(frame)
            case FunctionCallCancelFrame() if direction is DOWN:
                frame = await self._agent.calls.cancel_passes(frame)
            case LLMFullResponseStartFrame() if direction is DOWN and self._waits and reply:
                self._begins, self._drops = (reply, frame), False
                return
            case LLMTextFrame() | LLMFullResponseEndFrame() if direction is DOWN and begins:
                self._drops = not await self._agent.responds(
                    begins[0], text=isinstance(frame, LLMTextFrame)
                )
                self._begins = None
                if not self._drops:
                    await super().process_frame(begins[1], direction)
        if not (self._drops and isinstance(frame, LLMTextFrame | LLMFullResponseEndFrame)):
            await super().process_frame(frame, direction)

    def passes(self, frame: Frame, *, down: bool) -> bool:
        match frame:
            case LLMContextFrame() if not down:
                self._agent.asked(frame)
                return False
            case TTSSpeakFrame() if down:
                self._agent.speak(frame.text, of=frame)
                return False
            case LLMFullResponseStartFrame() if down:
                step = self._agent.step
                self._step, self._calls = step.id if step is not None else "", 0
                self._agent.tokens_received()
            case LLMTextFrame() if down:
                self._agent.text_received(frame.text)
            case FunctionCallsStartedFrame() if down:
                self._calls += len(frame.function_calls)
                for call in frame.function_calls:
                    self._agent.calls.made(call.tool_call_id, call.function_name, call.arguments)
            case FunctionCallInProgressFrame() if down:
                self._agent.calls.runs(frame)
        return True

    async def passed(self, frame: Frame, *, down: bool) -> None:
        if down and isinstance(frame, LLMFullResponseEndFrame) and self._step:
            step, self._step = self._step, ""
            self._agent.response_ended(step, self._calls)
            await self.push_frame(StepEnd(step))


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

    def passes(self, frame: Frame, *, down: bool) -> bool:
        if not down:
            return True
        match frame:
            case InterruptionFrame():
                self._ended, self._unsaid = StepEnd(""), False
            case LLMFullResponseStartFrame():
                self._unsaid = True
            case LLMFullResponseEndFrame():
                self._unsaid = False
            case BotStartedSpeakingFrame():
                self._plays = True
                self._agent.playout(begins=True)
            case BotStoppedSpeakingFrame():
                self._plays = False
                self._agent.playout(begins=False)
            case StepEnd() if self._plays or self._unsaid:
                self._ended = frame
                return False
        return True

    async def passed(self, frame: Frame, *, down: bool) -> None:
        last = isinstance(frame, BotStoppedSpeakingFrame | LLMFullResponseEndFrame)
        if down and last and self._ended.step and not (self._plays or self._unsaid):
            ended, self._ended = self._ended, StepEnd("")
            await self.push_frame(ended)


class TailGate(Gate):
    """After the assistant aggregator: the heard part of what arrives here is in the context."""

    def __init__(self, agent: PipecatAgent, tap: Tap, flow: Flow) -> None:
        super().__init__(name="turnfsm.tail")
        self._agent, self._tap, self._flow = agent, tap, flow

    def passes(self, frame: Frame, *, down: bool) -> bool:
        match frame:
            case StepEnd():
                self._agent.step_played(frame.step)
                return False
            case InterruptionFrame() if down:
                self._agent.interrupted()
        return True

    async def passed(self, frame: Frame, *, down: bool) -> None:
        if not (isinstance(frame, StartFrame) and not self._tap.installed):
            return
        try:
            check_parts(self._flow, {"user", "model", "output", "assistant"})
        except HostError as error:  # the transport was not given our parameters: end the pipeline
            await self.push_error(str(error), exception=error)
            await self.push_frame(CancelWorkerFrame(reason=str(error)), FrameDirection.UPSTREAM)
