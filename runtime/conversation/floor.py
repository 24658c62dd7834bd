"""Tracks who holds the floor, and whether it is heard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import attrs

from .pauses import Sound
from .ports import Agent, Output, Speech
from .saying import Saying

__all__ = ["Floor", "Step"]


class Gate:
    """Lets a step's audio through to the output, or keeps its first frame back.

    Attributes:
        passed: The output has got the first frame.
        reached: A frame of the step has come to it.
    """

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.passed = self.reached = False

    def begin(self) -> None:
        """The next frame is the first one of a segment."""
        self.passed = False

    def close(self) -> None:
        """Keep the first frame back."""
        self._open.clear()

    def open(self) -> None:
        """Let it through."""
        self._open.set()

    def passes(self) -> bool:
        """Whether the output may get the frame that has come; then it gets it."""
        if passes := self._open.is_set():
            self.passed = True
        return passes

    async def pass_on(self) -> None:
        """Return when the output may get the frame that has come."""
        while not self.passes():  # it may be closed again before this goes on
            await self._open.wait()


@attrs.define(eq=False)
class Step:
    """A generation step that holds the floor.

    Attributes:
        id: The speech's id and the number of the step in the session. Events of the step carry it.
        output: What it is heard on; None if it is text only.
        gate: What its audio passes on its way there.
        saying: What it says, and how far it was heard.
    """

    id: str
    speech: Speech
    agent: Agent
    output: Output | None
    gate: Gate = attrs.field(factory=Gate)
    saying: Saying = attrs.field(factory=Saying)


class Floor:
    """The step that holds the floor, and its audio output.

    Args:
        started, finished: Called with the step's id when its audio starts and ends.
        audio_came: Called with the seconds of each frame that the output gets.
        audio_began: Called with the speech when the first frame of a step has come.

    Attributes:
        step: It holds the floor; None if none does.
        output: What the latest step is heard on.
    """

    def __init__(
        self,
        started: Callable[[str, float], None],
        finished: Callable[[str], None],
        audio_came: Callable[[float], None],
        audio_began: Callable[[Speech], None],
    ) -> None:
        self.step: Step | None = None
        self.output: Output | None = None
        self._started = started
        self._finished = finished
        self._audio_came = audio_came
        self._audio_began = audio_began
        self._count = 0
        self._playing: str | None = None
        self._since = 0.0

    def take(self, agent: Agent, speech: Speech, output: Output | None) -> Step:
        """A step has been given the floor."""
        self._count += 1
        self.step, self.output = Step(f"{speech.id}#{self._count}", speech, agent, output), output
        return self.step

    def output_known(self, speech: Speech, output: Output | None) -> Step | None:
        """A speech is heard on this from now on. Returns its step if that has the floor."""
        step = self.step
        if step is None or step.speech is not speech:
            return None
        step.output = self.output = output
        return step

    def leave(self, speech: Speech) -> Step | None:
        """The step of this speech has given the floor back."""
        step = self.step
        if step is None or step.speech is not speech:
            return None
        self.step = None
        step.gate.open()
        return step

    def holds(self, speech: Speech) -> bool:
        """Whether a step of this speech holds the floor."""
        return self.step is not None and self.step.speech is speech

    @property
    def heard_for(self) -> float:
        """Seconds since what is being played began to be heard; 0 if nothing is."""
        return time.time() - self._since if self._playing is not None else 0.0

    def frame_came(
        self, speech: Speech, seconds: float, sound: Sound | None = None
    ) -> Awaitable[None] | None:
        """Audio of a speech has come.

        Args:
            seconds: How long it is.
            sound: Its samples, if the flow looks for pauses.

        Returns:
            What to wait for before the output gets it; None: nothing.
        """
        step = self.step
        if step is None or step.speech is not speech:
            return None
        gate = step.gate
        step.saying.audio_came(seconds, sound)
        if not gate.reached:
            gate.reached = True
            self._audio_began(speech)
        if gate.passes():
            self._audio_came(seconds)
            return None
        return self._held_back(gate, seconds)

    def text_came(self, speech: Speech, text: str) -> None:
        """Text of a speech has come."""
        if self.step is not None and self.step.speech is speech:
            self.step.saying.text_came(text)

    async def _held_back(self, gate: Gate, seconds: float) -> None:
        await gate.pass_on()
        self._audio_came(seconds)

    def playout_started(self, at: float) -> None:
        """Audio begins to be heard.

        Args:
            at: The wall clock's time.
        """
        # The reports carry no id. Only the step that holds the floor can start to be heard, and
        # what was heard last is what ends: the fence then tells a late end from a new one.
        if self.step is not None:
            self._playing, self._since = self.step.id, at
            self.step.saying.begin()
            self._started(self.step.id, at)

    def playout_finished(self) -> None:
        """What was heard has ended."""
        playing, self._playing = self._playing, None
        if self.step is not None and self.step.id == playing:
            self.step.gate.begin()
        if playing is not None:
            self._finished(playing)
