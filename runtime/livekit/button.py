"""Push to talk: the actions of the section `button`."""

from __future__ import annotations

import logging
from asyncio import Future

from livekit.agents.voice.agent_session import Userdata_T

from turnfsm.fsm import Flow
from turnfsm.runtime.conversation.custom import turn_action
from turnfsm.runtime.event import Event

from .overrides.session import GovernedSession

__all__ = ["Button"]

logger = logging.getLogger("turnfsm")


class Button(GovernedSession[Userdata_T]):
    """Opens and closes the user's microphone when the flow says so."""

    def close_until_pressed(self, flow: Flow) -> None:
        """The session starts: mute the microphone until the first press."""
        if "open_microphone" in flow.actions:
            self.input.set_audio_enabled(False)

    @turn_action
    def open_microphone(self, event: Event) -> None:
        """Hear the user who has pressed the button, from now on."""
        if self.input.audio_enabled:
            self.clear_uncommitted()
        if (caller := event.data.get("caller")) is not None:
            self.room_io.set_participant(caller)
        self.input.set_audio_enabled(True)

    @turn_action
    def commit_turn(self, event: Event) -> None:
        """Close the microphone, and commit the turn."""
        self.input.set_audio_enabled(False)
        self.commit_user_turn().add_done_callback(_log_failure)

    @turn_action
    def clear_turn(self, event: Event) -> None:
        """Close the microphone, and discard what was heard since it was opened."""
        self.input.set_audio_enabled(False)
        self.clear_uncommitted()


def _log_failure(commit: Future[str]) -> None:
    if not commit.cancelled() and (error := commit.exception()) is not None:
        logger.warning("the user's turn was not committed: %s", error)
