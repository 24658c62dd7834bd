"""An agent that takes over: the items missing in its conversation, and its first speech."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import Any

from livekit import rtc
from livekit.agents import NOT_GIVEN, llm
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm.sound import Sound

from .history import LIVEKIT_COPIES, conversation_of
from .leaving import LeavingActivity
from .speech import GovernedHandle, govern

__all__ = ["ArrivingActivity", "frames_of", "results_when_copied"]

logger = logging.getLogger("turnfsm")

VOICE = 0.3
"""Seconds within which a VAD detects speech. There is no earlier signal."""


class ArrivingActivity(LeavingActivity):
    """The activity of an agent that takes over from another one.

    The application copies the conversation before the handoff, or in the tool that hands over.
    Calls that end later are missing in this copy, and the new agent would repeat them. So they
    are added when it starts.
    """

    results_when_copied: frozenset[str]
    _greeting: SpeechHandle | None = None

    async def _start_session(self, **how: Any) -> None:
        # A realtime model gets its conversation here.
        if not self._has_started:
            self._has_started = True
            conversation_of(self).insert(list(self._items_to_add()))
        model = getattr(how.get("reuse_resources"), "rt_session", None)
        if model is not None and self._rt_turn_detection_enabled:
            # LiveKit interrupts the model here, although it may be about to answer.
            self._conductor.realtime.answer_skipped(model.update_chat_ctx.unanswered())
        # The previous agent has heard these messages, and they have no answer yet.
        skipped = self._conductor.log.agenda.unclaimed
        recognised = [self.session.history.get_by_id(id) for id in skipped]
        conversation = conversation_of(self)
        conversation.insert(
            [item for item in recognised if item and conversation.get_by_id(item.id) is None]
        )
        await super()._start_session(**how)
        if model is not None and self.commits_audio and self._conductor.turns.deferred is not None:
            self.decide_within(VOICE)  # the user may still speak
        present = {item.id for item in conversation.items}
        if lost := [] if model is not None else [id for id in skipped if id not in present]:
            self._conductor.realtime.forgotten(lost)
            logger.warning(
                "%s took over before a transcript arrived; the user's message gets no answer",
                self.label,
            )

    def reply(self, instructions: str | None = None) -> GovernedHandle:
        """Request a reply: with instructions, or to the user's messages, including those that an
        earlier agent has heard."""
        if instructions is not None:
            return self._request(instructions)
        reply = govern(self.session.generate_reply(), self._conductor)
        reply.answers_audio = True
        return reply

    def speak(
        self, text: str, *, interruptible: bool = True, sound: Sound | None = None
    ) -> GovernedHandle:
        """Say a fixed text, or play a sound, that is no answer to the user."""
        speech = self.say(
            text,
            audio=NOT_GIVEN if sound is None else frames_of(sound),
            allow_interruptions=NOT_GIVEN if interruptible else False,
            add_to_chat_ctx=sound is None,
        )
        return govern(speech, self._conductor)

    def _schedule_speech(self, speech: SpeechHandle, priority: int, force: bool = False) -> None:
        if asyncio.current_task() is self._entering:
            self._greeting = speech
        super()._schedule_speech(speech, priority, force)

    @property
    def may_greet(self) -> bool:
        """Its `on_enter` may still speak, and has not yet."""
        entering = self._entering
        return entering is None or not (entering.done() or self._greeting is not None)

    @property
    def greets(self) -> bool:
        """The speech of `on_enter` is not finished."""
        greeting = self._greeting
        return greeting is not None and not greeting.done() and not self._silent

    def _items_to_add(self) -> Iterator[llm.ChatItem]:
        # The calls that it would repeat: those for user messages in its conversation, of tools that
        # it has. Also the calls whose results it must deliver, and the replies after these, which
        # may have delivered them.
        if not self.session.history.items:
            return  # the first agent: finding its tools would take longer than all the rest
        held = {item.id for item in conversation_of(self).items}
        tools, asked = llm.ToolContext(self.tools).function_tools, ""
        due = {call.id for call in self._conductor.tools.pending if call.how != "cancelled"}
        unanswered = self._conductor.log.agenda.unclaimed
        calls: dict[str, llm.FunctionCall] = {}
        shown = False
        for item in _chronological(self.session.history, conversation_of(self)):
            if item.type == "message" and item.role == "user":
                if item.id not in unanswered:  # answered messages only
                    asked, shown = item.id, False
            elif item.type == "message" and shown and item.id not in held:
                yield item
            elif item.type == "function_call":
                first = _first_of_pair(item.call_id)
                relevant = asked in held or item.id in held or first in calls
                if first in due or (relevant and item.name in tools):
                    calls[item.call_id] = item
            elif (
                item.type == "function_call_output"
                and self._lacks(item, held)
                and (call := calls.get(item.call_id)) is not None
            ):
                shown = True
                yield from (call, item) if call.id not in held else (item,)
            elif item.type == "function_call_output" and LIVEKIT_COPIES:
                shown |= item.id in held  # the reply to it came after LiveKit's copy

    def _lacks(self, result: llm.FunctionCallOutput, held: Collection[str]) -> bool:
        return result.id not in held and result.call_id not in self.results_when_copied


def _chronological(history: llm.ChatContext, copy: llm.ChatContext) -> list[llm.ChatItem]:
    """The items of the history in chronological order.

    With a realtime model a user message enters the history with its transcript, perhaps after the
    resulting calls. LiveKit adds an empty message to the agent's conversation when the
    model has heard the user.
    """
    copied = {item.id: item.created_at for item in copy.items}
    return sorted(history.items, key=lambda i: min(i.created_at, copied.get(i.id, i.created_at)))


def _first_of_pair(call: str) -> str:
    """A call that was answered while running ends with a second pair of call and output."""
    return call.removesuffix("_final")


def results_when_copied(
    history: llm.ChatContext, conversation: llm.ChatContext, committed: Mapping[str, float]
) -> frozenset[str]:
    """The results that a copy of the history may contain, if results were copied.

    Args:
        history: The session's history before the handoff.
        conversation: The conversation of the agent that takes over.
        committed: When results entered the history, by their calls. LiveKit commits the results of
            a step together, with the times at which they ended. Any other result entered when it
            ended.
    """
    known = {item.id for item in history.items}
    latest = max((item.created_at for item in conversation.items if item.id in known), default=0.0)
    results = (item for item in history.items if item.type == "function_call_output")
    return frozenset(
        item.call_id for item in results if committed.get(item.call_id, item.created_at) < latest
    )


async def frames_of(sound: Sound) -> AsyncIterator[rtc.AudioFrame]:
    """The frames of a sound."""
    for piece in sound.pieces():
        yield rtc.AudioFrame(piece, sound.rate, 1, len(piece) // 2)
