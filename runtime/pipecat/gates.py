"""Processors between those of the application: they report passing frames, and hold back those that
must wait."""

from __future__ import annotations

from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from turnfsm.fsm import HostError, TurnfsmError
from turnfsm.runtime.host.reply import Reply

from .agent import PipecatAgent
from .asking import RequestEnd, SaidBefore, StepEnd
from .session import PipecatSession

__all__ = ["AskGate", "Gate", "HeardGate", "ModelGate", "RequestGate", "TailGate"]

DOWN = FrameDirection.DOWNSTREAM


class Gate(FrameProcessor):
    """Passes a frame on, unless `passes` says no."""

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if self.passes(frame, down=direction is DOWN):
            await self.push_frame(frame, direction)
            await self.passed(frame, down=direction is DOWN)

    def passes(self, frame: f.Frame, *, down: bool) -> bool:
        """Whether to pass the frame on."""
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        """The frame was passed on."""

    async def end_pipeline(self, error: TurnfsmError) -> None:
        """The flow cannot govern this pipeline."""
        await self.push_error(str(error), exception=error)
        await self.push_frame(f.CancelWorkerFrame(reason=str(error)), FrameDirection.UPSTREAM)


class AskGate(Gate):
    """After the user aggregator: holds back requests until the flow allows them. Then they pass the
    application's processors before the model, such as a search."""

    def __init__(self, session: PipecatSession) -> None:
        super().__init__(name="turnfsm.ask")
        self._session, self._agent = session, session.agent
        self._agent.push = self.push_frame

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`. The processors after this one start only when it may
        continue."""
        refused: TurnfsmError | None = None
        if isinstance(frame, f.StartFrame):
            try:
                await self._session.take_up()
            except TurnfsmError as error:
                refused = error
        elif isinstance(frame, f.UserStartedSpeakingFrame) and direction is DOWN:
            await self._agent.speculation.withdraw()  # the end of the turn before comes first
        await super().process_frame(frame, direction)
        if refused is not None:
            await self.end_pipeline(refused)

    def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case f.LLMContextFrame(speculation=True) if down:
                self._agent.functions.advertised(frame.context)
                self._agent.speculation.sent(frame.context)
            case f.UserStoppedSpeakingFrame() if down:
                return not self._agent.speculation.holds(frame)
            case f.LLMContextFrame() if down:
                self._agent.asked(frame, above=True)
                return False
            case f.EndFrame() | f.StopFrame() if down:
                self._session.close("ended")
            case f.CancelFrame() if down:
                self._session.close("cancelled")
            case f.InterruptionFrame() if down:
                self._agent.cut_off()
            case f.UserMuteStartedFrame():
                self._session.hearing.muted()
            case f.ErrorFrame() if not down:
                self._agent.failed(frame)
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        if isinstance(frame, f.StartFrame):
            self._session.start()
        elif isinstance(frame, f.EagerEndOfTurnCancelFrame) or (
            down and isinstance(frame, f.InterruptionFrame)
        ):
            await self._agent.speculation.forget()

    async def cleanup(self) -> None:
        await self._session.aclose()
        await super().cleanup()


class RequestGate(Gate):
    """Right before the model: makes the request for the step that has the floor, with what the
    application's processors have added to the context."""

    def __init__(self, agent: PipecatAgent) -> None:
        super().__init__(name="turnfsm.request")
        self._agent = agent
        agent.request = self.push_frame

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        """As `FrameProcessor.process_frame`."""
        match frame:
            case f.LLMContextFrame(speculation=False) if direction is DOWN:
                await self._agent.request_passed(frame)
            case RequestEnd():
                await self._agent.request_ended(frame)
            case f.TTSSpeakFrame() if direction is DOWN and self._agent.passing is not None:
                await self.push_frame(SaidBefore(frame))
            case _:
                await super().process_frame(frame, direction)


class ModelGate(Gate):
    """Right after the model: reports its output, and holds back `TTSSpeakFrame`s until they get the
    floor. It has no queue if it need not wait: what the application gives to the TTS itself then
    comes behind what the model has said before, as without a governor.

    Args:
        waits: The flow may let a filler go before a reply whose model is slow. So the beginning of
            a response is passed on only with the first text, when the reply has the floor.
    """

    def __init__(self, agent: PipecatAgent, waits: bool) -> None:
        super().__init__(name="turnfsm.model", enable_direct_mode=not waits)
        self._agent, self._waits = agent, waits
        self._step, self._calls = "", 0
        self._begins: tuple[Reply, f.Frame] | None = None
        self._drops = False
        agent.say_frame = self.push_frame

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        begins, reply = self._begins, self._agent.requested
        match frame:
            case SaidBefore():
                self._agent.text_received(frame.frame.text)
                await self.push_frame(frame.frame)
                return
            case f.InterruptionFrame():
                self._begins = None
            case f.FunctionCallResultFrame() if direction is DOWN:
                await self._agent.calls.result_passes(frame)
            case f.FunctionCallCancelFrame() if direction is DOWN:
                frame = await self._agent.calls.cancel_passes(frame)
            case f.LLMFullResponseStartFrame() if direction is DOWN and self._waits and reply:
                self._begins, self._drops = (reply, frame), False
                return
            case f.LLMTextFrame() | f.LLMFullResponseEndFrame() if direction is DOWN and begins:
                self._drops = not await self._agent.responds(
                    begins[0], text=isinstance(frame, f.LLMTextFrame)
                )
                self._begins = None
                if not self._drops:
                    await super().process_frame(begins[1], direction)
        if not (self._drops and isinstance(frame, f.LLMTextFrame | f.LLMFullResponseEndFrame)):
            await super().process_frame(frame, direction)

    def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case f.LLMContextFrame() if not down:
                self._agent.asked(frame)
                return False
            case f.TTSSpeakFrame() if down:
                self._agent.speak(frame.text, of=frame)
                return False
            case f.LLMFullResponseStartFrame() if down:
                step = self._agent.step
                self._step, self._calls = step.id if step is not None else "", 0
                self._agent.tokens_received()
            case f.LLMTextFrame() if down:
                self._agent.text_received(frame.text)
            case f.FunctionCallsStartedFrame() if down:
                self._calls += len(frame.function_calls)
                for call in frame.function_calls:
                    self._agent.calls.made(call.tool_call_id, call.function_name, call.arguments)
            case f.FunctionCallInProgressFrame() if down:
                self._agent.calls.runs(frame)
        return True

    async def passed(self, frame: f.Frame, *, down: bool) -> None:
        if down and isinstance(frame, f.LLMFullResponseEndFrame) and self._step:
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

    def passes(self, frame: f.Frame, *, down: bool) -> bool:
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

    def passes(self, frame: f.Frame, *, down: bool) -> bool:
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
