"""The gates around a realtime model whose turn detection is off. It gets the audio of a turn when
the reply to it has the floor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakSet

from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection

from turnfsm.runtime.host.reply import Reply

from .agent import PipecatAgent
from .gates import ModelGate, RequestGate
from .requests import Message, call_status, is_news

__all__ = ["RealtimeModelGate", "RealtimeRequestGate"]

CANCELLING = 2.0
"""Seconds until a response that was cancelled must have ended. The service refuses a second one
before that."""

SILENCE = 1.0
"""Seconds of silence after a turn. At an interruption the service repeats the last audio that it
has sent, since its user would be speaking by then."""

OF_RESPONSE = (
    *(f.LLMFullResponseStartFrame, f.LLMTextFrame, f.TTSTextFrame),
    *(f.TTSStartedFrame, f.TTSAudioRawFrame, f.TTSStoppedFrame),
)


@dataclass
class News(f.LLMMessagesAppendFrame):
    """What the service does not know yet. When this has passed the service, it has sent the
    messages, and may be asked.

    Attributes:
        names: The ids of the messages that it knows from now on.
        spoken: The user has spoken one of them.
    """

    names: set[str] = field(default_factory=set)
    spoken: bool = False


class RealtimeModelGate(ModelGate):
    """Right after the model: drops what it still sends of an interrupted response.

    Args:
        voiced: There is a TTS, which would say the transcript of the model's audio.

    Attributes:
        responds: The service generates a response.
        interrupts: An interruption is passing the service.
    """

    ask: Callable[[News], Awaitable[None]]
    """Asks the service for a response."""

    read: Callable[[f.LLMContextFrame], None]
    """The service has read the conversation."""

    def __init__(self, agent: PipecatAgent, voiced: bool) -> None:
        super().__init__(agent, waits=False)
        self._agent, self._voiced, self._stale = agent, voiced, False
        self.responds = self.interrupts = False

    def asked(self) -> None:
        """The service was asked for a response to the current step. It may consist of calls only,
        and then has no beginning."""
        step = self._agent.step
        self._step, self._calls = step.id if step is not None else "", 0
        self.responds, self._stale = True, False

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case f.LLMServiceMetadataFrame():
                return False  # otherwise the aggregators request nothing
            case News():
                await self.ask(frame)
                return False
            case f.InputAudioRawFrame() | f.UserStoppedSpeakingFrame() if down:
                return False  # they have passed around the model
            case f.InterruptionFrame() if down:
                self.interrupts, self._stale, self._step = False, self.responds, ""
            case f.LLMFullResponseEndFrame() if self.interrupts:
                return False  # not the end of the response, which is still to come
            case f.LLMFullResponseEndFrame():
                stale, self.responds, self._stale = self._stale, False, False
                self._agent.conductor.moved()
                return not stale
            case _ if (self._stale or self.interrupts) and isinstance(frame, OF_RESPONSE):
                return False
            case f.LLMFullResponseStartFrame() if self._step:
                self._agent.tokens_received()
                return True
            case f.LLMFullResponseStartFrame():
                self.responds = True
            case f.LLMTextFrame() if self._voiced and not frame.append_to_context:
                self._agent.text_received(frame.text)
                return False
            case f.TTSTextFrame() if self._voiced:
                frame.skip_tts = True
            case f.LLMContextFrame() if down:
                self.read(frame)
        return await super().passes(frame, down=down)


class RealtimeRequestGate(RequestGate):
    """Right before the model: sends it the audio of a turn, or asks it for another response, for
    the step that has the floor. The service keeps the conversation, so it gets only what is new.

    Args:
        behind: The gate after the model.
    """

    def __init__(self, agent: PipecatAgent, behind: RealtimeModelGate) -> None:
        super().__init__(agent)
        self._agent, self._behind, self._audio = agent, behind, agent.hearing.audio
        self._known: set[str] | None = None  # the messages that the service knows
        self._instructed: WeakSet[Reply] = WeakSet()  # the service knows their instructions
        agent.request = self._request
        behind.ask, behind.read = self._ask, self._read

    async def passes(self, frame: f.Frame, *, down: bool) -> bool:
        match frame:
            case f.LLMServiceMetadataFrame():
                return False  # as behind the model
            case f.TranscriptionFrame() | f.InterimTranscriptionFrame() if not down:
                return False  # the STT gives them, and earlier
            case f.LLMContextFrame() if not down:
                return False
            case f.InputAudioRawFrame() if down:
                self._audio.heard(frame)
            case f.UserStoppedSpeakingFrame() if down:
                pass
            case f.LLMSetToolsFrame() if down:
                self._agent.functions.advertised(self._agent.context)
                await self.push_frame(replace(frame, tools=self._agent.context.tools))
                return False
            case f.InterruptionFrame() if down:
                self._behind.interrupts = True
                return True
            case _:
                return await super().passes(frame, down=down)
        await self._behind.push_frame(frame)
        return False

    async def _request(self, frame: f.Frame) -> None:
        reply = self._agent.requested
        if not isinstance(frame, f.LLMContextFrame) or reply is None:
            await self.push_frame(frame)
            return
        await self._agent.conductor.until(
            lambda: reply.over or not self._behind.responds, within=CANCELLING
        )
        if reply.over:
            return
        sent = reply.instructions if reply in self._instructed else None
        self._instructed.add(reply)
        if self._known is None:  # the service reads the whole conversation, and answers
            self._behind.asked()
            await self.push_frame(frame)
            return
        given = {self._agent.names.of(message): message for message in frame.context.messages}
        new = given.keys() - self._known
        spoken = self._spoken & new
        tools = self._agent.conductor.tools
        texts = {name: given[name] for name in given if name in new and name not in spoken}
        texts = {
            name: text
            for name, text in texts.items()
            if is_news(text, tools) and text["content"] != sent
        }
        runs = {name for name in new - texts.keys() if call_status(given[name])[0] == "started"}
        news = [*texts.values(), *self._besides(reply)]
        await self.push_frame(
            News(news, names=new - runs, spoken=self._audio.ready and bool(spoken))
        )

    def _besides(self, reply: Reply) -> Sequence[Message]:
        """What the request of a reply says besides the conversation."""
        return ()

    @property
    def _spoken(self) -> set[str]:
        """The messages that the service hears."""
        return self._agent.spoken if self._audio.ready else set()

    def _read(self, frame: f.LLMContextFrame) -> None:
        self._known = {self._agent.names.of(message) for message in frame.context.messages}
        self._agent.spoken.clear()
        self._audio.take()

    async def _ask(self, news: News) -> None:
        """The service knows the news: send it the user's audio, or let it answer without."""
        assert self._known is not None
        self._known |= news.names
        self._agent.spoken -= news.names
        self._behind.asked()
        if not news.spoken:
            up = FrameDirection.UPSTREAM
            await self._behind.push_frame(f.LLMContextFrame(self._agent.context), up)
            return
        audio = self._audio.take()
        for piece in audio:
            await self.push_frame(piece)
        await self.push_frame(f.UserStoppedSpeakingFrame())
        last = audio[-1]
        silence = bytes(int(SILENCE * last.sample_rate) * last.num_channels * 2)
        await self.push_frame(f.InputAudioRawFrame(silence, last.sample_rate, last.num_channels))
