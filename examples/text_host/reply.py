"""What a chat's agent says, and what it is shown on."""

import asyncio
import time
from collections.abc import Sequence

import attrs

from turnfsm.host import Conductor, Source, Step

__all__ = ["Reply", "Screen"]


@attrs.define(eq=False)
class Reply:
    """A `Speech`: what the agent says and does for one request, or one text of the flow.

    Attributes:
        instructions: What the model is to say, if the conversation has asked for the reply.
        text: The words, if no model is asked.
        calls: The tool calls that it waits for.
        goes_on: A result is there for the model.
        step: The task of the step that holds the floor.
    """

    id: str
    conductor: Conductor
    instructions: str | None = None
    text: str | None = None
    calls: set[str] = attrs.field(factory=set)
    goes_on: bool = False
    step: asyncio.Task[None] | None = None
    interrupted: bool = False
    finished: bool = False
    failed: bool = False
    _holds: int = 0

    @property
    def over(self) -> bool:
        """Nothing more of it is said."""
        return self.interrupted or self.finished

    @property
    def interruptible(self) -> bool:
        return not self._holds

    def stop(self, source: Source, *, force: bool = False, model: bool = False) -> None:
        if self.over or not (force or self.interruptible):
            return
        self.interrupted = True
        self.conductor.speech_interrupted(self, source)
        if self.step is not None:
            self.step.cancel()

    def hold(self, on: bool) -> None:
        before = self.interruptible
        self._holds += 1 if on else -1
        if self.interruptible != before:
            self.conductor.interruptions_turned(self, on=self.interruptible)

    def end(self, *, step: bool = False) -> None:
        if step:
            self.conductor.floor_released(self)
        elif not self.finished:
            self.finished = True
            self.conductor.speech_finished(self, failed=self.failed)


class Screen:
    """An `Output`: shows sentences, and keeps the next one back while it is paused.

    Args:
        pace: Seconds that a word takes to be read.
    """

    can_pause = True

    def __init__(self, writer: asyncio.StreamWriter, pace: float) -> None:
        self._writer, self._pace, self._open = writer, pace, asyncio.Event()
        self._open.set()

    def pause(self, *, heard: bool) -> None:
        self._open.clear()

    def resume(self, *, heard: bool) -> None:
        self._open.set()

    def drop(self) -> None:
        """What was shown stays, and nothing else was taken."""

    async def show(
        self, lines: Sequence[str], step: Step, conductor: Conductor, shown: list[str]
    ) -> None:
        """Show the sentences of a step. `shown`: gets those that the user sees."""
        for line in lines:
            seconds = len(line.split()) * self._pace
            if not shown:
                conductor.start_playout(step.speech)
            conductor.floor.text_received(step.speech, line)
            if (held := conductor.floor.frame_received(step.speech, seconds)) is not None:
                await held
            while not self._open.is_set():  # it may be paused again before this goes on
                await self._open.wait()
            if not shown:
                conductor.playout_started(time.time())
            shown.append(line)
            self._writer.write(f"{line}\n".encode())
            await asyncio.sleep(seconds)
