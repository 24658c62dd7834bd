"""Finds out whether the user objects to what a tool is about to do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from turnfsm.fsm.flow import NEVER
from turnfsm.runtime.turn import TurnRuntime

from .host import TurnHost
from .ports import Session, Speech
from .tool_call import ToolCall
from .tool_calls import ToolCalls

__all__ = ["Objections"]

logger = logging.getLogger("turnfsm")

Until = Callable[[Callable[[], bool]], Awaitable[None]]


class Objections:
    """Makes a tool wait until it is known whether the user objects, and reports objections.

    An interruption begins with speech. Whether it is an objection is known when its transcript is
    answered, or when there is none.

    Args:
        session: Has the timers.
        host: Has the host facts about what the user said.
        tools: The calls.
        until: Waits for a condition, which is checked after every event.
    """

    turn: TurnRuntime

    def __init__(self, session: Session, host: TurnHost, tools: ToolCalls, until: Until) -> None:
        self._session = session
        self._host = host
        self._tools = tools
        self._until = until
        self._give_up: asyncio.TimerHandle | None = None

    async def known(self, call: ToolCall, wait: str) -> None:
        """Wait until it is known whether the user objects.

        Posts `proceed` when it is known. The tool waits for the flow's `objection_limit` at most,
        or `pause_limit` if that is shorter, since speech may continue without a transcript.

        Args:
            wait: The request of `specs/tool_call.yaml` that asks whether the tool must wait.
        """
        if not call.ask(wait) or self._may_proceed():
            return
        limit: float = self.turn.flow.tools.objection_limit
        limit = min(limit, self._session.settings.timers.get("pause_limit", limit))
        call.waits = True
        try:
            async with asyncio.timeout(None if limit == NEVER else limit):
                await self._until(lambda: not call.ask(wait) or self._may_proceed())
        except TimeoutError:
            logger.warning("tool %s (%s) stops waiting for the user", call.name, call.id)
        finally:
            call.waits = False
        if not self.turn.closed:
            self.turn.post("proceed", call=call.id)

    def _may_proceed(self) -> bool:
        return self.turn.closed or self._session.closing or bool(self.turn.ask("proceed"))

    # -- answers

    def answered(self, text: str, speech: Speech) -> None:
        """A reply to the user is requested, or a realtime model generates one.

        Posts `message_answered` at once if there is a transcript, otherwise when that of a
        realtime model arrives, or after `false_interruption`.

        Args:
            text: What the user has said, as far as known.
            speech: The reply. What the user said cannot object to calls that the reply makes.
        """
        agent = self._session.activity
        if text or not self._tools.any_open or agent is None or not agent.setup.transcribes:
            self._post(text, speech)
            return
        self._settle()
        self._host.transcript_awaited = speech
        limit = self._session.settings.timers.get("false_interruption", 0.0)
        self._give_up = asyncio.get_running_loop().call_later(limit, self.transcribed, "")

    def transcribed(self, text: str) -> None:
        """A user message with its transcript was added to the conversation."""
        if (speech := self._host.transcript_awaited) is not None:
            self._settle()
            self._post(text, speech, empty_transcript=not text)

    def close(self) -> None:
        """The session has closed."""
        self._settle()

    def _settle(self) -> None:
        self._host.transcript_awaited = None
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None

    def _post(self, text: str, speech: Speech, *, empty_transcript: bool = False) -> None:
        if not self.turn.closed:
            with self._host.about(text, empty_transcript=empty_transcript):
                self.turn.post("message_answered", speech=speech.id)
