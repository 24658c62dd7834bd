"""The track that plays the agent's backchannels on LiveKit."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit import rtc
from livekit.agents import tts
from livekit.agents.utils import is_given
from livekit.agents.voice import io
from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm.sound import Sound
from turnfsm.runtime.conversation import backchannels
from turnfsm.runtime.conversation.custom import turn_action
from turnfsm.runtime.event import Event
from turnfsm.runtime.livekit.stock import AgentSession

from .backchannel_track import BackchannelTrack
from .overrides.handoff import frames_of

__all__ = ["Backchannels"]


class Backchannels(backchannels.Backchannels, AgentSession[Userdata_T]):
    """Plays backchannels during the agent's speech when the flow says so."""

    backchannel_output: io.AudioOutput | None = None
    """Plays the backchannels of a flow with the section `backchannels`. In a room the session
    publishes a track for them. Without one, set an audio output of its own before `start`."""

    _room: rtc.Room | None
    _backchannel_until = 0.0
    _backchannel_track: BackchannelTrack | None = None

    async def close_backchannels(self) -> None:
        """The session has closed."""
        if (track := self._backchannel_track) is not None:
            self._backchannel_track = self.backchannel_output = None
            await track.aclose()

    @turn_action
    async def prepare_backchannel(self, event: Event) -> None:
        """Publish the track and synthesise the texts, once."""
        if self.backchannel_output is None and (room := self._connected_room) is not None:
            self._backchannel_track = self.backchannel_output = BackchannelTrack(room)
            await self._backchannel_track.publish()
        await super().prepare_backchannel(event)

    def _may_play_backchannel(self) -> bool:
        heard = self.output.audio is not None and self.output.audio_enabled
        return heard and self.backchannel_output is not None and not self._backchannel_plays

    def _backchannel_tts(self) -> tts.TTS[Any] | None:
        agent = self.current_agent
        return agent.tts if is_given(agent.tts) else self.tts

    async def _synthesise_backchannel(self, voice: object, text: str) -> Sound:
        assert isinstance(voice, tts.TTS)
        async with voice.synthesize(text) as stream:
            frame = await stream.collect()
        return Sound(frame.sample_rate, bytes(frame.data))

    async def _play_backchannel(self, sound: Sound) -> None:
        if (output := self.backchannel_output) is None:
            return
        self._backchannel_until = _now() + sound.seconds
        async for frame in frames_of(sound):
            if not self._backchannel_plays:
                return
            await output.capture_frame(frame)
        output.flush()

    def _hush_backchannel(self) -> None:
        if self._backchannel_plays and self.backchannel_output is not None:
            self._backchannel_until = 0.0
            self.backchannel_output.clear_buffer()

    @property
    def _backchannel_plays(self) -> bool:
        return _now() < self._backchannel_until

    @property
    def _connected_room(self) -> rtc.Room | None:
        room = self._room
        return room if room is not None and room.isconnected() else None


def _now() -> float:
    return asyncio.get_running_loop().time()
