"""A reply of the agent: a `Speech` of the conversation."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import attrs

from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.ports import Source

__all__ = ["Reply", "ReplyHost"]


class ReplyHost(Protocol):
    """What a reply needs from its host."""

    conductor: Conductor

    def may_interrupt(self, reply: Reply) -> bool:
        """Whether a reply may be interrupted now, apart from its holds."""

    def interrupt_step(self, reply: Reply) -> None:
        """Interrupt the step that holds the floor."""

    def yield_floor(self, reply: Reply) -> None:
        """The step releases the floor before its model has produced anything."""

    def step_finished(self, step: Step) -> None:
        """A step has ended."""


@attrs.define(eq=False)
class Reply:
    """A reply to one request, in one or more steps; or one fixed text.

    Attributes:
        text: The text, if no model is asked.
        instructions: The model's instructions, if the conversation requested the reply.
        of: The host's own data about it.
        calls: The ids of its tool calls whose results are not in the conversation yet.
        unasked: A realtime model has begun its next step without being asked.
        continues: Its last step has made calls whose results must be delivered.
        failed: An error has ended its last step.
        interrupted_by: The source of the interruption.
        task: Runs its step.
    """

    id: str
    _host: ReplyHost = attrs.field(repr=False)
    text: str | None = None
    instructions: str | None = None
    of: Any = attrs.field(default=None, repr=False)
    unasked: bool = False
    calls: set[str] = attrs.field(factory=set)
    continues: bool = False
    interrupted: bool = False
    interrupted_by: Source | None = None
    finished: bool = False
    failed: bool = False
    task: asyncio.Task[None] | None = attrs.field(default=None, repr=False)
    _holds: int = 0

    @property
    def over(self) -> bool:
        """It was interrupted or has ended."""
        return self.interrupted or self.finished

    @property
    def interruptible(self) -> bool:
        """It may be interrupted now."""
        free = self._host.conductor.tuned.interruptible is not False
        return free and not self._holds and self._host.may_interrupt(self)

    def stop(self, source: Source, *, force: bool = False, model: bool = False) -> None:
        """Interrupt it, and its step if that holds the floor."""
        if self.over or not (force or self.interruptible):
            return
        self.interrupted, self.interrupted_by = True, source
        holds_floor = self._host.conductor.floor.holds(self)
        yielded = self._host.conductor.speeches.of(self).yielded
        self._host.conductor.speech.interrupted(self, source)
        if holds_floor or yielded:
            self._host.interrupt_step(self)

    def hold(self, on: bool) -> None:
        """Disallow interruptions until this hold is released."""
        before = self.interruptible
        self._holds += 1 if on else -1
        if self.interruptible != before:
            self._host.conductor.speech.interruptions_turned(self, on=self.interruptible)

    def end(self, *, step: bool = False) -> None:
        """Stop waiting for it, or only for the step that holds the floor: an uninterrupted reply
        waits for the floor again."""
        conductor = self._host.conductor
        if not step and not self.finished:
            self.finished = True
            conductor.speech.finished(self, failed=self.failed)
        elif step and not self.over:
            self._host.yield_floor(self)
        elif step and conductor.floor.step is not None and conductor.floor.holds(self):
            self._host.step_finished(conductor.floor.step)
