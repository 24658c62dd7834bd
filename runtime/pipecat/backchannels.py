"""The agent's own backchannels in a pipeline: mixed into the audio of the output transport."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pipecat.audio.mixers.base_audio_mixer import BaseAudioMixer
from pipecat.audio.utils import create_file_resampler, mix_audio
from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from turnfsm.fsm import HostError
from turnfsm.fsm.sound import Sound
from turnfsm.runtime.conversation.backchannels import Backchannels

from .agent import PipecatAgent

__all__ = ["BackchannelCatch", "BackchannelMixer", "PipecatBackchannels"]

Mixers: TypeAlias = "BaseAudioMixer | Mapping[str | None, BaseAudioMixer] | None"

TTS_FRAMES = (
    *(f.TTSSpeakFrame, f.TTSStartedFrame, f.TextFrame),
    *(f.TTSAudioRawFrame, f.TTSStoppedFrame),
)


@dataclass
class BackchannelMark(f.ControlFrame):
    """Marks the start and the end of the audio for one text.

    Attributes:
        sound: Gets that audio.
    """

    sound: asyncio.Future[Sound]
    interruptible: bool = field(default=False, init=False)


class BackchannelCatch(FrameProcessor):
    """Before the output: takes out synthesised backchannels. So nobody hears them yet, and they do
    not count as speech."""

    def __init__(self) -> None:
        super().__init__(name="turnfsm.backchannels")
        self._mark: BackchannelMark | None = None
        self._pieces: list[f.TTSAudioRawFrame] = []

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, BackchannelMark):
            if frame is self._mark:
                self._end(frame.sound)
            else:
                self._mark, self._pieces = frame, []
        elif self._mark is None or not isinstance(frame, TTS_FRAMES):
            await self.push_frame(frame, direction)
        elif isinstance(frame, f.TTSAudioRawFrame):
            self._pieces.append(frame)

    def _end(self, sound: asyncio.Future[Sound]) -> None:
        pieces, self._mark, self._pieces = self._pieces, None, []
        if sound.done():
            return
        if pieces:
            pcm = b"".join(piece.audio for piece in pieces)
            sound.set_result(Sound(pieces[0].sample_rate, pcm))
        else:
            sound.set_exception(HostError("the TTS gave no audio"))


class BackchannelMixer(BaseAudioMixer):
    """Adds a sound to the audio of the output transport. To Pipecat it is no speech.

    Attributes:
        started: The transport has started it.
    """

    def __init__(self) -> None:
        self._inner: BaseAudioMixer | None = None
        self._rate, self._rest = 0, b""
        self.started = False

    def around(self, own: Mixers) -> Mixers:
        """The application's mixers, with this one around that of the agent's speech."""
        if not isinstance(own, Mapping):
            self._inner = own
            return self
        self._inner = own.get(None)
        return {**own, None: self}

    @property
    def plays(self) -> bool:
        return bool(self._rest)

    async def play(self, sound: Sound) -> None:
        self._rest = await create_file_resampler().resample(sound.pcm, sound.rate, self._rate)

    def hush(self) -> None:
        self._rest = b""

    # -- Pipecat

    async def start(self, sample_rate: int) -> None:
        self._rate, self.started = sample_rate, True
        if self._inner is not None:
            await self._inner.start(sample_rate)

    async def stop(self) -> None:
        self.started = False
        if self._inner is not None:
            await self._inner.stop()

    async def process_frame(self, frame: f.MixerControlFrame) -> None:
        """Pass settings to the application's own mixer."""
        if self._inner is not None:
            await self._inner.process_frame(frame)

    async def mix(self, audio: bytes) -> bytes:
        """Return the audio with the next piece of the sound, which ends where the agent speaks."""
        if any(audio):
            self.hush()
        if self._inner is not None:
            audio = await self._inner.mix(audio)
        piece, self._rest = self._rest[: len(audio)], self._rest[len(audio) :]
        return mix_audio(audio, piece) if piece else audio


class PipecatBackchannels(Backchannels):
    """Plays the backchannels of a pipeline."""

    agent: PipecatAgent

    def __init__(self) -> None:
        self.backchannel_mixer, self.backchannel_catch = BackchannelMixer(), BackchannelCatch()

    def _may_play_backchannel(self) -> bool:
        mixer = self.backchannel_mixer
        return mixer.started and not (mixer.plays or self.agent.closing)

    def _backchannel_tts(self) -> object:
        return self.backchannel_catch  # the pipeline has one TTS, in front of it

    async def _synthesise_backchannel(self, voice: object, text: str) -> Sound:
        mark = BackchannelMark(asyncio.get_running_loop().create_future())
        speak = f.TTSSpeakFrame(text, append_to_context=False, text_type="backchannel")
        speak.interruptible = False
        for frame in (mark, speak, mark):
            await self.agent.say_frame(frame)
        return await mark.sound

    async def _play_backchannel(self, sound: Sound) -> None:
        await self.backchannel_mixer.play(sound)

    def _hush_backchannel(self) -> None:
        self.backchannel_mixer.hush()
