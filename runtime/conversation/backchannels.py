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
    """A session that plays backchannels beside the agent's speech when the flow says so. The
    methods that raise `NotImplementedError` differ between hosts."""

    _murmurs: Sequence[Sound] = ()
    _murmur_texts: tuple[str, ...] = ()
    _murmured_by: object = None
    _murmured = 0

    def load_backchannels(self, flow: Flow) -> None:
        """Read the texts that the flow says, or the sound that it plays.

        Raises:
            HostError: The sound cannot be played.
        """
        if SAY in flow.actions:
            sound = sound_of(flow, SAY)
            self._murmur_texts = flow.actions[SAY].say
            self._murmurs = (sound,) if sound is not None else ()

    # -- what differs between hosts

    def _may_murmur(self) -> bool:
        """The agent is heard, and the output for backchannels plays none now."""
        raise NotImplementedError

    def _murmuring_voice(self) -> object:
        """The TTS that synthesises the texts; None if there is none."""
        raise NotImplementedError

    async def _synthesise_murmur(self, voice: object, text: str) -> Sound:
        """Synthesise a text with this TTS. It may raise what it likes."""
        raise NotImplementedError

    async def _murmur(self, sound: Sound) -> None:
        """Play a sound beside the agent's speech."""
        raise NotImplementedError

    def _stop_murmur(self) -> None:
        """Stop the one that is still heard, if any."""
        raise NotImplementedError

    # -- the actions

    @host_fact
    def backchannel_ready(self) -> bool:
        """The agent is heard, and the backchannels are synthesised and have an output, which plays
        none now."""
        spoken = not self._murmur_texts or self._murmuring_voice() is self._murmured_by
        return bool(self._murmurs) and spoken and self._may_murmur()

    @turn_action
    async def prepare_backchannel(self, event: Event) -> None:
        """Synthesise the texts with this TTS, once. If that fails, none of them is said."""
        voice = self._murmuring_voice()
        if not self._murmur_texts or voice is None or voice is self._murmured_by:
            return
        self._murmured_by, self._murmurs = voice, ()
        try:
            sounds = [await self._synthesise_murmur(voice, one) for one in self._murmur_texts]
        except Exception as exc:  # a plugin raises what it likes
            logger.warning("the backchannels were not synthesised, and are not said: %r", exc)
            return
        if voice is self._murmured_by:
            self._murmurs = sounds

    @turn_action
    async def say_backchannel(self, event: Event) -> None:
        """Play the next backchannel in rotation."""
        if self._murmurs:
            self._murmured += 1
            await self._murmur(self._murmurs[(self._murmured - 1) % len(self._murmurs)])

    @turn_action
    def stop_backchannel(self, event: Event) -> None:
        """The agent begins to speak: stop a backchannel that is still heard."""
        self._stop_murmur()
