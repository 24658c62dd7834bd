"""Tracks which step holds the floor, and whether its audio is playing."""

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
    """Passes a step's audio to the output, or holds back its first frame.

    Attributes:
        passed: The output has received the first frame.
        reached: A frame of the step has arrived at the gate.
    """

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.passed = self.reached = False

    def begin(self) -> None:
        """The next frame is the first one of a segment."""
        self.passed = False

    def close(self) -> None:
        """Hold back the first frame."""
        self._open.clear()

    def open(self) -> None:
        """Let the first frame through."""
        self._open.set()

    def passes(self) -> bool:
        """Whether the current frame may go to the output. If so, it counts as passed."""
        if passes := self._open.is_set():
            self.passed = True
        return passes

    async def pass_on(self) -> None:
        """Wait until the current frame may go to the output."""
        while not self.passes():  # the gate may be closed again before this task continues
            await self._open.wait()


@attrs.define(eq=False)
class Step:
    """A generation step that holds the floor.

    Attributes:
        id: The speech's id and the number of the step in the session. Events of the step carry it.
        output: Its audio output; None if it is text only.
        gate: The gate between its audio and the output.
        saying: Its text and audio, and how much was heard.
        fixed: It says a fixed text of the flow.
    """

    id: str
    speech: Speech
    agent: Agent
    output: Output | None
    gate: Gate = attrs.field(factory=Gate)
    saying: Saying = attrs.field(factory=Saying)
    fixed: bool = False


class Floor:
    """The step that holds the floor, and its audio output.

    Args:
        started, finished: Called with the step's id when its audio starts and ends.
        audio_came: Called with the duration in seconds of each frame that the output gets.
        audio_began: Called with the speech when the first frame of a step arrives.

    Attributes:
        step: The step that holds the floor, or None.
        output: The output of the latest step.
        heard: What the user has heard last: the text and audio of the latest step with any.
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
        self.heard = Saying()
        self._said_before = ""  # the last sentence that was heard of an earlier step
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
        """A speech uses this output from now on. Returns its step if that has the floor."""
        if (step := self.step_of(speech)) is not None:
            step.output = self.output = output
        return step

    def leave(self, speech: Speech) -> Step | None:
        """The step of this speech has returned the floor."""
        if (step := self.step_of(speech)) is not None:
            self._said_before = self.last_sentence
            self.step = None
            step.gate.open()
            step.saying.pause()
        return step

    @property
    def last_sentence(self) -> str:
        """The last sentence of the agent that was heard, at least in part, apart from texts of the
        flow, such as fillers. Empty if the flow does not read texts."""
        step = self.step
        said = "" if step is None or step.fixed else step.saying.last_sentence
        return said or self._said_before

    def step_of(self, speech: Speech) -> Step | None:
        """The step of this speech, if it holds the floor."""
        return self.step if self.step is not None and self.step.speech is speech else None

    def holds(self, speech: Speech) -> bool:
        """Whether a step of this speech holds the floor."""
        return self.step_of(speech) is not None

    def plays(self, speech: Speech) -> bool:
        """Whether a step of this speech holds the floor, and is being heard."""
        return self.holds(speech) and self.step is not None and self.step.id == self._playing

    @property
    def heard_for(self) -> float:
        """Seconds since the current playout started; 0 if nothing is playing."""
        return time.time() - self._since if self._playing is not None else 0.0

    def frame_received(
        self, speech: Speech, seconds: float, sound: Sound | None = None
    ) -> Awaitable[None] | None:
        """A frame of a speech has arrived.

        Args:
            seconds: Its duration.
            sound: Its samples, if the flow looks for pauses.

        Returns:
            An awaitable to await before passing it on, or None.
        """
        if (step := self.step_of(speech)) is None:
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

    def text_received(self, speech: Speech, text: str) -> None:
        """Text of a speech has arrived."""
        if (step := self.step_of(speech)) is not None:
            step.saying.text_received(text)

    async def _held_back(self, gate: Gate, seconds: float) -> None:
        await gate.pass_on()
        self._audio_came(seconds)

    def playout_started(self, at: float) -> None:
        """Playout has started.

        Args:
            at: The wall clock's time.
        """
        # The reports carry no id. Only the step that holds the floor can start to play, and the
        # playout that ends is the latest one. The fence then recognises a late end.
        if self.step is not None:
            self._playing, self._since = self.step.id, at
            self.heard = self.step.saying
            self.heard.begin()
            self._started(self.step.id, at)

    def playout_finished(self) -> None:
        """Playout has ended."""
        playing, self._playing = self._playing, None
        if self.step is not None and self.step.id == playing:
            self.step.gate.begin()
        if playing is not None:
            self._finished(playing)
