"""A reply of the agent: a `Speech` of the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.ports import Source

if TYPE_CHECKING:
    from pipecat.frames.frames import TTSSpeakFrame
    from pipecat.processors.aggregators.llm_context import LLMContext

__all__ = ["Reply"]


@attrs.define(eq=False)
class Reply:
    """A reply to one request, in one or more steps; or one `TTSSpeakFrame`.

    Attributes:
        context: The context of the request.
        instructions: What it should say, if turnfsm has requested it.
        said: The frame, if the text is the application's.
        calls: The ids of its tool calls whose results are not in the conversation yet.
        goes_on: Its last step has made calls whose results must be said.
        failed: An error has ended its last step.
    """

    id: str
    _conductor: Conductor = attrs.field(repr=False)
    _cut: Callable[[], None] = attrs.field(repr=False)
    _leave: Callable[[Reply], None] = attrs.field(repr=False)
    _cut_allowed: Callable[[], bool] = attrs.field(repr=False)
    context: LLMContext | None = attrs.field(default=None, repr=False)
    instructions: str | None = None
    said: TTSSpeakFrame | None = None
    interrupted: bool = False
    finished: bool = False
    failed: bool = False
    goes_on: bool = False
    calls: set[str] = attrs.field(factory=set)
    _holds: int = 0

    @property
    def interruptible(self) -> bool:
        """It may be interrupted now. While it has the floor, the strategy that started the user's
        turn may forbid that."""
        if self._holds or self.stays_whole:
            return False
        return self._cut_allowed() or not self._conductor.floor.holds(self)

    @property
    def stays_whole(self) -> bool:
        """Pipecat drops none of it at an interruption."""
        return self.said is not None and not self.said.interruptible

    def stop(self, source: Source, *, force: bool = False, model: bool = False) -> None:
        """Interrupt it, also in Pipecat if it holds the floor; that ends its request, too."""
        if self.finished or self.interrupted or not (force or self.interruptible):
            return
        self.interrupted = True
        plays = self._conductor.floor.holds(self)
        self._conductor.speech_interrupted(self, source)
        if plays:
            self._cut()

    def cut_off(self) -> None:
        """The pipeline was interrupted for another reason, and the reply with it."""
        if self.interrupted or self.stays_whole:
            return
        self._conductor.interrupted_by_code(self, None)
        self.interrupted = True
        self._conductor.speech_interrupted(self, "programmatic")

    def hold(self, on: bool) -> None:
        """Disallow interruptions until this hold is released."""
        before = self.interruptible
        self._holds += 1 if on else -1
        if self.interruptible != before:
            self._conductor.interruptions_turned(self, on=self.interruptible)

    def end(self, *, step: bool = False) -> None:
        """Stop waiting for it, or only for the step that holds the floor."""
        if step:
            self._leave(self)
        elif not self.finished:
            self.finished = True
            self._conductor.speech_finished(self, failed=self.failed)
