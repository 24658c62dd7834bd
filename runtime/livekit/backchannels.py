"""The agent's own backchannels: the actions of the section `backchannels`."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from livekit import rtc
from livekit.agents import tts
from livekit.agents.utils import is_given
from livekit.agents.voice import io
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm import Flow
from turnfsm.fsm.sound import Sound
from turnfsm.runtime.conversation.custom import host_fact, sound_of, turn_action
from turnfsm.runtime.event import Event
from turnfsm.runtime.livekit.stock import AgentSession

from .backchannel_track import BackchannelTrack
from .overrides import frames_of

__all__ = ["Backchannels"]

logger = logging.getLogger("turnfsm")

SAY = "say_backchannel"


class _Murmurs:
    """The sounds of a flow's backchannels: synthesised, or from a file.

    Args:
        flow: The flow.
    """

    def __init__(self, flow: Flow) -> None:
        self.texts = flow.actions[SAY].say if SAY in flow.actions else ()
        sound = sound_of(flow, SAY) if SAY in flow.actions else None
        self._sounds: tuple[Sound, ...] = (sound,) if sound is not None else ()
        self._voice: tts.TTS[Any] | None = None
        self._said = 0

    def known(self, voice: tts.TTS[Any] | None) -> bool:
        """There are sounds, and this TTS has synthesised them."""
        return bool(self._sounds) and (not self.texts or voice is self._voice)

    async def synthesise(self, voice: tts.TTS[Any] | None) -> None:
        """Synthesise all texts with this TTS, once. If that fails, none of them is said."""
        if not self.texts or voice is None or voice is self._voice:
            return
        self._voice, self._sounds = voice, ()
        sounds = []
        try:
            for text in self.texts:
                async with voice.synthesize(text) as stream:
                    frame = await stream.collect()
                sounds.append(Sound(frame.sample_rate, bytes(frame.data)))
        except Exception as exc:  # a plugin raises what it likes
            logger.warning("the backchannels were not synthesised, and are not said: %r", exc)
            return
        if voice is self._voice:
            self._sounds = tuple(sounds)

    def next(self) -> Sound:
        """The next one in rotation."""
        self._said += 1
        return self._sounds[(self._said - 1) % len(self._sounds)]


class Backchannels(AgentSession[Userdata_T]):
    """Plays backchannels beside the agent's speech when the flow says so."""

    backchannel_output: io.AudioOutput | None = None
    """Plays the backchannels of a flow with the section `backchannels`. In a room the session
    publishes a track for them. Without one, set an audio output of its own before `start`."""

    _room: rtc.Room | None
    _murmurs: _Murmurs
    _murmurs_until = 0.0
    _backchannel_track: BackchannelTrack | None = None

    def load_backchannels(self, flow: Flow) -> None:
        """Read the sound that the flow plays.

        Raises:
            HostError: It cannot be played.
        """
        self._murmurs = _Murmurs(flow)

    async def close_backchannels(self) -> None:
        """The session has closed."""
        if (track := self._backchannel_track) is not None:
            self._backchannel_track = self.backchannel_output = None
            await track.aclose()

    @host_fact
    def backchannel_ready(self) -> bool:
        """The agent is heard, and the backchannels are synthesised and have an output, which plays
        none now."""
        heard = self.output.audio is not None and self.output.audio_enabled
        free = self.backchannel_output is not None and not self._murmuring
        return heard and free and self._murmurs.known(self._voice)

    @turn_action
    async def prepare_backchannel(self, event: Event) -> None:
        """Publish the track and synthesise the texts, if that was not done before."""
        if self.backchannel_output is None and (room := self._connected_room) is not None:
            self._backchannel_track = self.backchannel_output = BackchannelTrack(room)
            await self._backchannel_track.publish()
        await self._murmurs.synthesise(self._voice)

    @turn_action
    async def say_backchannel(self, event: Event) -> None:
        """Play the next backchannel."""
        if (output := self.backchannel_output) is None:
            return
        sound = self._murmurs.next()
        self._murmurs_until = _now() + sound.seconds
        async for frame in frames_of(sound):
            if not self._murmuring:
                return
            await output.capture_frame(frame)
        output.flush()

    @turn_action
    def stop_backchannel(self, event: Event) -> None:
        """The agent begins to speak: stop a backchannel that is still heard."""
        if self._murmuring and self.backchannel_output is not None:
            self._murmurs_until = 0.0
            self.backchannel_output.clear_buffer()

    @property
    def _murmuring(self) -> bool:
        return _now() < self._murmurs_until

    @property
    def _voice(self) -> tts.TTS[Any] | None:
        agent = self.current_agent
        return agent.tts if is_given(agent.tts) else self.tts

    @property
    def _connected_room(self) -> rtc.Room | None:
        room = self._room
        return room if room is not None and room.isconnected() else None


def _now() -> float:
    return asyncio.get_running_loop().time()
