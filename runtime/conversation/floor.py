"""Who holds the floor, and whether it is heard."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs
from livekit.agents.voice.io import AudioOutput
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.runtime.livekit.overrides import GovernedActivity, GovernedHandle

__all__ = ["Floor", "Step"]


@attrs.frozen(eq=False)
class Step:
    """A generation step that holds the floor.

    Attributes:
        id: The speech and the number of the step in the session; events of the step carry it.
    """

    id: str
    handle: SpeechHandle
    activity: GovernedActivity

    @property
    def interruptible(self) -> bool:
        """Its speech may be interrupted."""
        if isinstance(self.handle, GovernedHandle):
            return self.handle.interruptible
        return self.handle.allow_interruptions


class Floor:
    """The step that holds the floor, and the output that it is heard from.

    Args:
        started, finished: Called with the step's id when its audio starts and ends.
    """

    def __init__(
        self, started: Callable[[str, float], None], finished: Callable[[str], None]
    ) -> None:
        self.step: Step | None = None
        self._started = started
        self._finished = finished
        self._count = 0
        self._output: AudioOutput | None = None
        self._playing: str | None = None
        self._since = 0.0

    def take(self, activity: GovernedActivity, handle: SpeechHandle) -> Step:
        """A step has been given the floor."""
        self._count += 1
        self.step = Step(f"{handle.id}#{self._count}", handle, activity)
        self._listen_to(activity.audio_output)
        return self.step

    def leave(self, handle: SpeechHandle) -> Step | None:
        """The step of this speech has given the floor back."""
        step = self.step
        if step is None or step.handle is not handle:
            return None
        self.step = None
        return step

    def holds(self, handle: SpeechHandle) -> bool:
        """Whether a step of this speech holds the floor."""
        return self.step is not None and self.step.handle is handle

    @property
    def heard_for(self) -> float:
        """Seconds since what is being played began to be heard; 0 if nothing is."""
        return time.time() - self._since if self._playing is not None else 0.0

    def close(self) -> None:
        """Stop listening to the output."""
        self._listen_to(None)

    def _listen_to(self, output: AudioOutput | None) -> None:
        if output is self._output:
            return
        if self._output is not None:
            self._output.off("playback_started", self._on_started)
            self._output.off("playback_finished", self._on_finished)
        self._output = output
        if output is not None:
            output.on("playback_started", self._on_started)
            output.on("playback_finished", self._on_finished)

    def _on_started(self, ev: Any) -> None:
        # LiveKit's events carry no id. Only the step that holds the floor can start to be heard,
        # and what was heard last is what ends: the fence then tells a late end from a new one.
        if self.step is not None:
            self._playing, self._since = self.step.id, ev.created_at
            self._started(self.step.id, ev.created_at)

    def _on_finished(self, _: Any) -> None:
        playing, self._playing = self._playing, None
        if playing is not None:
            self._finished(playing)
