"""Finds out whether the user objects to what a tool is about to do."""

from __future__ import annotations

import asyncio
import logging

import attrs

from .core import Core
from .host import TurnHost
from .open_calls import OPEN
from .ports import Speech
from .tool_call import ToolCall

__all__ = ["Objections"]

logger = logging.getLogger("turnfsm")


@attrs.define(eq=False)
class Objections:
    """Makes a tool wait until it is known whether the user objects, and reports objections.

    An interruption begins with speech. Whether it is an objection is known when its transcript is
    answered, or when there is none.
    """

    _core: Core
    _host: TurnHost
    _give_up: asyncio.TimerHandle | None = attrs.field(default=None, init=False)

    async def known(self, call: ToolCall, wait: str) -> None:
        """Wait until it is known whether the user objects.

        Posts `proceed` when it is known. The tool waits for the flow's `objection_limit` at most,
        or `pause_limit` if that is shorter, since speech may continue without a transcript.

        Args:
            wait: The request of `specs/tool_call.yaml` that asks whether the tool must wait.
        """
        if not call.ask(wait) or self._may_proceed():
            return
        limit: float = self._core.turn.flow.tools.objection_limit
        limit = min(limit, self._core.session.settings.timers.get("pause_limit", limit))
        call.waits = True
        try:
            known = await self._core.until(lambda: not call.ask(wait) or self._may_proceed(), limit)
        finally:
            call.waits = False
        if not known:
            logger.warning("tool %s (%s) stops waiting for the user", call.name, call.id)
        if self._core.governs:
            self._core.turn.post("proceed", call=call.id)

    def _may_proceed(self) -> bool:
        core = self._core
        return not core.governs or core.closing or bool(core.turn.ask("proceed"))

    # -- answers

    def answered(self, text: str, speech: Speech) -> None:
        """A reply to the user is requested, or a realtime model generates one.

        Posts `message_answered` at once if there is a transcript, otherwise when that of a
        realtime model arrives, or after `false_interruption`.

        Args:
            text: What the user has said, as far as known.
            speech: The reply. What the user said cannot object to calls that the reply makes.
        """
        agent = self._core.agent
        if text or not self._core.tools.find(OPEN) or agent is None or not agent.setup.transcribes:
            self._post(text, speech)
            return
        self.settle()
        self._host.transcript_awaited = speech
        limit = self._core.session.settings.timers.get("false_interruption", 0.0)
        self._give_up = asyncio.get_running_loop().call_later(limit, self.transcribed, "")

    def transcribed(self, text: str) -> None:
        """A user message with its transcript was added to the conversation."""
        if (speech := self._host.transcript_awaited) is not None:
            self.settle()
            self._post(text, speech, empty_transcript=not text)

    def settle(self) -> None:
        """No transcript of a realtime model is awaited any more."""
        self._host.transcript_awaited = None
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None

    def _post(self, text: str, speech: Speech, *, empty_transcript: bool = False) -> None:
        if self._core.governs:
            with self._host.about(text, empty_transcript=empty_transcript):
                self._core.turn.post("message_answered", speech=speech.id)
