"""The gates around a realtime model that detects the turns of the user. It hears everything, and
answers without being asked; its answers wait for the floor."""

from __future__ import annotations

from collections.abc import Sequence

from pipecat.frames import frames as f

from turnfsm.runtime.conversation.wording import arrived
from turnfsm.runtime.host.reply import Reply

from .agent import PipecatAgent
from .gates import AskGate
from .line import Held
from .own_turns import OwnTurns
from .realtime import OF_RESPONSE, RealtimeModelGate, RealtimeRequestGate
from .requests import Message
from .session import PipecatSession

__all__ = ["UnaskedAskGate", "UnaskedModelGate", "UnaskedRequestGate"]

BEGINS = (
    *(f.LLMFullResponseStartFrame, f.LLMTextFrame, f.FunctionCallsStartedFrame),
    *(f.TTSStartedFrame, f.TTSTextFrame, f.TTSAudioRawFrame),
)
HELD = (*OF_RESPONSE, f.LLMFullResponseEndFrame)


class UnaskedAskGate(AskGate):
    """As `AskGate`. The model is not asked to answer what it has heard."""

    def __init__(self, session: PipecatSession) -> None:
        super().__init__(session)
        self._agent, self._spoken = session.agent, False

    def follows(self, frame: f.Frame) -> Sequence[Held] | None:
        of_turn = isinstance(frame, f.LLMContextUserTurnFrame) or self._spoken
        return None if of_turn else super().follows(frame)

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case f.LLMContextUserTurnFrame() if down:
                self._spoken = True
            case f.LLMContextFrame() if down and self._spoken:
                self._spoken = False
                self._agent.user_heard(frame.context)
                return False
        return await super().passes(frame, down=down)


class UnaskedModelGate(RealtimeModelGate):
    """As `RealtimeModelGate`. An answer that the model gives by itself is held back until it gets
    the floor."""

    def __init__(self, agent: PipecatAgent, turns: OwnTurns, voiced: bool) -> None:
        super().__init__(agent, voiced)
        self._agent, self._turns = agent, turns
        self._answer: Reply | None = None  # it is held back
        self._held: list[f.Frame] = []
        turns.release = self._release

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case f.LLMServiceMetadataFrame():
                return True
            case f.InputAudioRawFrame() | f.UserStoppedSpeakingFrame() if down:
                return True
            case f.ProposedUserStoppedSpeakingFrame() if down:
                self._forget()  # the service has ended its response when the user began to speak
                self.responds = self._stale = False
                return True
            case f.InterruptionFrame() if down:
                self._held.clear()
        if down and isinstance(frame, BEGINS) and not (self.responds or self.interrupts):
            self._step, self._calls = "", 0
            self.responds, self._stale = True, False
            self._answer = self._turns.answers(self._agent.context)
        if self._answer is None or not (down and isinstance(frame, HELD)):
            return await super().passes(frame, down=down)
        ends = isinstance(frame, f.LLMFullResponseEndFrame)
        if not self._answer.over:
            self._held.append(frame)
        elif ends:
            self._forget()
        self.responds &= not ends
        return False

    def _forget(self) -> None:
        self._turns.coming = self._answer = None
        self._held.clear()

    async def _release(self) -> None:
        """The answer has the floor."""
        step = self._agent.step
        self._step = step.id if step is not None else ""
        while self._held:
            frame = self._held.pop(0)
            if await super().passes(frame, down=True):
                await self.push_frame(frame)
                await self.passed(frame, down=True)
        self._answer = None


class UnaskedRequestGate(RealtimeRequestGate):
    """As `RealtimeRequestGate`. The model hears the user all the time."""

    def __init__(self, agent: PipecatAgent, turns: OwnTurns, behind: UnaskedModelGate) -> None:
        super().__init__(agent, behind)
        self._agent, self._overtaken = agent, turns.overtaken

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case (
                f.LLMServiceMetadataFrame() | f.TranscriptionFrame() | f.InterimTranscriptionFrame()
            ):
                return True
            case f.InputAudioRawFrame() | f.UserStoppedSpeakingFrame() if down:
                return True
        return await super().passes(frame, down=down)

    @property
    def _spoken(self) -> set[str]:
        return self._agent.spoken

    def _besides(self, reply: Reply) -> Sequence[Message]:
        conductor = self._agent.conductor
        requested = conductor.log.agenda.requested_of(reply.id)
        results = [o.id for o in requested if o.kind == "result"]
        if not results or reply not in self._overtaken:
            return ()
        return ({"role": "developer", "content": arrived(conductor.tools.entries(results))},)
