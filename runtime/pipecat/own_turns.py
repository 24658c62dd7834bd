"""The turns of a realtime service that detects them, and answers them without being asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakSet

from pipecat.processors.aggregators.llm_context import LLMContext

from turnfsm.fsm.agenda.entries import HeardByModel
from turnfsm.runtime.conversation.ports import Speech
from turnfsm.runtime.host.agent import Host
from turnfsm.runtime.host.reply import Reply

__all__ = ["OwnTurns"]

DECISION = 2.0
"""Seconds to wait for the service's answer after the user has spoken. It does not signal that it
will not answer."""


class OwnTurns:
    """Reports what such a service does.

    Attributes:
        coming: The reply of an answer that does not have the floor yet. It may be over by now.
        overtaken: The replies that had not ended when the service answered something else.
        release: Lets the answer pass, which has the floor now.
    """

    release: Callable[[], Coroutine[Any, Any, None]]

    def __init__(self, host: Host) -> None:
        self._host, self._heard, self._untranscribed = host, 0, False
        self._decides: asyncio.TimerHandle | None = None
        self.coming: Reply | None = None
        self.overtaken: WeakSet[Speech] = WeakSet()

    @property
    def pending(self) -> bool:
        """The service is about to answer."""
        return self._decides is not None

    @property
    def busy(self) -> bool:
        """The service hears the user, or its answer has not got the floor yet."""
        waits = self.pending or (self.coming is not None and not self.coming.over)
        return waits or bool(self._host.conductor.turn.holds("user_speaking"))

    def user_speaks(self) -> None:
        """The service hears the user, and has stopped its response. What was heard of it cannot
        continue."""
        self._decided(cancelled=True)
        if self.coming is not None:  # nothing of it was heard
            self.coming.stop("audio_activity", force=True)
        if (step := self._host.step) is not None:
            step.speech.stop("audio_activity")

    def user_stopped(self) -> None:
        """The service takes what it has heard for a turn."""
        self._heard += 1
        self._host.conductor.log.add(HeardByModel(f"{self._host.ids}_heard_{self._heard}"))
        self._decided(cancelled=True)
        self._untranscribed = True
        self._decides = asyncio.get_running_loop().call_later(DECISION, self._decided)

    def transcribed(self, text: str) -> None:
        """A transcript of what the service has heard, perhaps after it has begun to answer."""
        self._untranscribed = False
        self._host.conductor.outages.post("transcript_received")
        self._host.conductor.user.message_added("", text)

    def answers(self, context: LLMContext) -> Reply:
        """The service has begun to respond. If a call waits for a yes, its answer waits for the
        transcript, which may be one."""
        reply = self.coming = self._host.new_reply(of=context)
        if self._may_be_yes:
            self._host.tasks.start(self._answers_later(reply))
        else:
            self._answers(reply)
        return reply

    @property
    def _may_be_yes(self) -> bool:
        return self._untranscribed and self._host.conductor.host.confirming.yes_awaited()

    async def _answers_later(self, reply: Reply) -> None:
        await self._host.conductor.until(lambda: not self._may_be_yes, DECISION)
        if reply.over:
            reply.end()
        else:
            self._answers(reply)

    def _answers(self, reply: Reply) -> None:
        conductor = self._host.conductor
        conductor.speech.stop_older_replies()
        self.overtaken.update(conductor.speeches.replies)
        self._host.answers_by_itself(reply)
        self._decided()

    def takes_floor(self, reply: Reply) -> bool:
        """A step of a reply has the floor. Returns whether it is an answer that has begun."""
        unasked, reply.unasked = reply.unasked, False
        if unasked:
            self.coming = None
        return unasked

    def _decided(self, *, cancelled: bool = False) -> None:
        if self._decides is not None:
            self._decides.cancel()
            self._decides = None
            self._host.conductor.user.endpointing_finished(cancelled=cancelled)
