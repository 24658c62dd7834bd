"""The agent's own backchannels: the actions of the section `backchannels`."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from turnfsm.fsm import Flow
from turnfsm.fsm.sound import Sound
from turnfsm.runtime.event import Event

from .custom import host_fact, sound_of, turn_action

__all__ = ["Backchannels"]

logger = logging.getLogger("turnfsm")

SAY = "say_backchannel"


class Backchannels:
    """A session that plays backchannels during the agent's speech when the flow says so. The
    methods that raise `NotImplementedError` differ between hosts."""

    _backchannels: Sequence[Sound] = ()
    _backchannel_texts: tuple[str, ...] = ()
    _backchannels_by: object = None
    _backchannels_said = 0

    def load_backchannels(self, flow: Flow) -> None:
        """Read the texts that the flow says, or the sound that it plays.

        Raises:
            HostError: The sound cannot be played.
        """
        if SAY in flow.actions:
            sound = sound_of(flow, SAY)
            self._backchannel_texts = flow.actions[SAY].say
            self._backchannels = (sound,) if sound is not None else ()

    # -- what differs between hosts

    def _may_play_backchannel(self) -> bool:
        """The agent is audible, and the backchannel output is idle."""
        raise NotImplementedError

    def _backchannel_tts(self) -> object:
        """The TTS that synthesises the texts; None if there is none."""
        raise NotImplementedError

    async def _synthesise_backchannel(self, voice: object, text: str) -> Sound:
        """Synthesise a text with this TTS. It may raise any exception."""
        raise NotImplementedError

    async def _play_backchannel(self, sound: Sound) -> None:
        """Play a sound beside the agent's speech."""
        raise NotImplementedError

    def _hush_backchannel(self) -> None:
        """Stop a backchannel that is playing."""
        raise NotImplementedError

    # -- the actions

    @host_fact
    def backchannel_ready(self) -> bool:
        """The agent is audible, the backchannels are synthesised, and their output is idle."""
        spoken = not self._backchannel_texts or self._backchannel_tts() is self._backchannels_by
        return bool(self._backchannels) and spoken and self._may_play_backchannel()

    @turn_action
    async def prepare_backchannel(self, event: Event) -> None:
        """Synthesise the texts once with the current TTS. If that fails, none is played."""
        voice = self._backchannel_tts()
        if not self._backchannel_texts or voice is None or voice is self._backchannels_by:
            return
        self._backchannels_by, self._backchannels = voice, ()
        try:
            sounds = [
                await self._synthesise_backchannel(voice, text) for text in self._backchannel_texts
            ]
        except Exception as exc:  # a plugin may raise any exception
            logger.warning("the backchannels were not synthesised, and are not said: %r", exc)
            return
        if voice is self._backchannels_by:
            self._backchannels = sounds

    @turn_action
    async def say_backchannel(self, event: Event) -> None:
        """Play the next backchannel in rotation."""
        if self._backchannels:
            self._backchannels_said += 1
            await self._play_backchannel(
                self._backchannels[(self._backchannels_said - 1) % len(self._backchannels)]
            )

    @turn_action
    def stop_backchannel(self, event: Event) -> None:
        """The agent begins to speak: stop a backchannel that is playing."""
        self._hush_backchannel()
