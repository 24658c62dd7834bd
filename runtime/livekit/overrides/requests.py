"""An activity's requests to the model: made when the flow allows it, with all results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar
from typing import Any

from livekit.agents import llm, utils
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm.journal import ReplyText

from .answering import let_tools_end
from .conversation import results_in
from .hearing import HearingActivity
from .speech import GovernedHandle, current_speech, govern, items_of_call

__all__ = ["RequestingActivity"]

TOOL_ITEMS = ("function_call", "function_call_output")

ELSEWHERE = "Another reply tells what has come of {calls}; this one need not mention it."
REMINDER = "turnfsm_reminder_"
ELSEWHERE_ID = f"{REMINDER}elsewhere"

_CUT_INTO: ContextVar[str] = ContextVar("cut_into", default="")
"""What the user had said when the agent cut in, in the task that does."""


class RequestingActivity(HearingActivity):
    """An activity that completes what the model is shown, and waits until it may ask."""

    _replies: list[tuple[GovernedHandle, frozenset[str]]]
    _cut_in: tuple[SpeechHandle, str] | None = None

    def _pipeline_reply_task(self, **request: Any) -> Coroutine[Any, Any, None]:
        # LiveKit has copied the conversation: now, or before the agent's hook.
        turn = self._conductor.turns.answered_by(asyncio.current_task())
        known = turn.items if turn is not None else self._item_ids
        said, asked = _CUT_INTO.get(), request.get("new_message")
        if said and asked is not None and asked.text_content == said:
            self._cut_in = request["speech_handle"], said
        return self._complete_and_request(known, super()._pipeline_reply_task, request)

    async def _complete_and_request(
        self,
        known: frozenset[str],
        ask: Callable[..., Coroutine[Any, Any, None]],
        request: dict[str, Any],
    ) -> None:
        handle: SpeechHandle = request["speech_handle"]
        if self._conductor.tools.any_runs:
            await let_tools_end()
        asked: llm.ChatMessage | None = request.get("new_message")
        waited = asked is not None and await self._wait_for_calls_of_replies(handle)
        waited |= await self._conductor.may_request(govern(handle, self._conductor))
        if self._closed or (handle.interrupted and not handle.scheduled):
            return  # nobody will hear it; LiveKit would ask the LLM first and check afterwards
        news = [
            item
            for item in self._agent._chat_ctx.items
            if item.id not in known and (waited or item.type in TOOL_ITEMS)
        ]
        # LiveKit commits the calls of a step together, when the step has been heard and the slowest
        # has ended: a request before that gets what is there.
        calls = self._conductor.tools.uncommitted()
        news += [item for call in calls for item in items_of_call(call.speech, call.id)]
        context = request["chat_ctx"]
        if news := [item for item in news if context.get_by_id(item.id) is None]:
            request["chat_ctx"] = context = context.copy()
            context.insert(news)
        prepared = self._preemptive_generation
        if prepared is not None and prepared.speech_handle is handle:
            prepared.chat_ctx = context  # LiveKit compares it when the turn is committed
        others = [(reply, ids) for reply, ids in self._open_replies if reply is not handle]
        if asked is not None:  # it is spoken after them
            others = [(reply, ids) for reply, ids in others if reply.calls_unknown]
        if hidden := {id for _, ids in others for id in ids}:
            request["chat_ctx"] = context = context.copy()
            context.items[:] = [item for item in context.items if item.id not in hidden]
        if asked is not None and (waited or news or self._conductor.tools.any_runs):
            # It comes last: otherwise a model answers the result after it.
            asked.created_at = time.time()
        speech = govern(handle, self._conductor)
        unanswered = frozenset(_unanswered(context))
        if asked is not None:
            self._replies.append((speech, unanswered | {asked.id}))
        elif unanswered:  # a reply with instructions may leave them to another
            own = request.get("instructions")
            self._replies.append((speech, frozenset() if own else unanswered))
        own, shown = request.get("instructions"), results_in(context)
        besides = self._conductor.request_sent(speech, shown, str(own) if own else None)
        elsewhere = self._delivered_elsewhere(handle, shown)
        request["chat_ctx"] = _with_reminders(context, asked, besides, elsewhere)
        if self._conductor.keeping is not None:
            await self._conductor.keeping.before_reply()
        self._plays(handle)
        await ask(**request)

    def _delivered_elsewhere(
        self, handle: SpeechHandle, shown: frozenset[str]
    ) -> llm.ChatMessage | None:
        calls = self._conductor.tools.delivered_elsewhere(handle.id, shown)
        if not calls:
            return None
        names = ", ".join(f"{call.name} ({call.id})" for call in calls)
        said = ELSEWHERE.format(calls=names)
        return llm.ChatMessage(id=ELSEWHERE_ID, role="system", content=[said])

    # A reply that is not in the conversation yet, and may be to the user: another request that saw
    # the same words would answer them, and make the calls, a second time. The next reply to the
    # user is spoken after those that are scheduled when it is asked for, and waits until their
    # calls are known; any other may have to be spoken before, and does not see the words.

    @property
    def _open_replies(self) -> list[tuple[GovernedHandle, frozenset[str]]]:
        self._replies = [reply for reply in self._replies if reply[0].answer_due]
        return self._replies

    def stream_begins(self, context: llm.ChatContext) -> None:
        """The `llm_node` of a speech begins, with what the model is shown.

        LiveKit has added the calls that run. One that began while the request was made stands
        behind the words that are to be answered, or between them and their reminders.
        """
        speech = current_speech()
        if not isinstance(speech, GovernedHandle) or not speech.answers:
            return
        items = context.items
        # by the id: in a long conversation comparing items takes longer than the rest of a request
        places = (at for at in reversed(range(len(items))) if items[at].id == speech.answers)
        if (at := next(places, None)) is None:
            return
        behind = [getattr(item, "call_id", "") for item in items[at + 1 :]]
        if behind and all(self._conductor.tools.runs_besides(speech, call) for call in behind):
            items.append(items.pop(at))
            at = len(items) - 1
        _put_reminders_before(items, at)

    def stream_came(self, first_text: bool) -> None:
        """The `llm_node` of a speech has produced something; `first_text`: its first text."""
        self._conductor.tokens_came()
        speech = current_speech()
        if first_text and speech is not None:
            self._conductor.record(ReplyText(speech.id))

    def stream_ended(self, called: bool) -> None:
        """The `llm_node` of a speech has ended; `called`: it has made calls."""
        speech = current_speech()
        if isinstance(speech, GovernedHandle) and not called:
            speech.calls_nothing = True
            self._conductor.calls_known()

    async def _wait_for_calls_of_replies(self, handle: SpeechHandle) -> bool:
        replies = [reply for reply, _ in self._open_replies if reply.scheduled]
        before = [reply for reply in replies if reply.calls_unknown]
        speech = govern(handle, self._conductor)  # if it has the floor, they come behind it
        await self._conductor.until(
            lambda: (
                handle.interrupted
                or speech.in_step
                or not any(reply.calls_unknown for reply in before)
            )
        )
        if before:
            await asyncio.sleep(0.001)  # this request comes after those calls
        return bool(before)

    # The agent cuts in (`user_turn_limit`) with a reply to what the user has said so far; the turn
    # that is committed afterwards begins with these words.

    def on_user_turn_exceeded(self, ev: Any) -> None:
        token = _CUT_INTO.set(ev.transcript)
        try:
            super().on_user_turn_exceeded(ev)
        finally:
            _CUT_INTO.reset(token)

    def _take_out_what_the_agent_cut_into(self, info: Any) -> bool:
        """Whether anything is left that is not answered yet."""
        (handle, said), self._cut_in = self._cut_in or (None, ""), None
        if handle is None or handle.done() or not info.new_transcript.startswith(said):
            return True
        info.new_transcript = info.new_transcript.removeprefix(said).strip()
        return bool(info.new_transcript)


def _unanswered(context: llm.ChatContext) -> Iterator[str]:
    """What the user has said since the assistant last did something."""
    for item in reversed(context.items):
        if item.type in TOOL_ITEMS or (item.type == "message" and item.role == "assistant"):
            return
        if item.type == "message" and item.role == "user":
            yield item.id


def _with_reminders(
    context: llm.ChatContext,
    asked: llm.ChatMessage | None,
    besides: str | None,
    elsewhere: llm.ChatMessage | None,
) -> llm.ChatContext:
    """A conversation for one request. LiveKit keeps it for the next step of the speech: what other
    replies tell is another question then."""
    before = context.get_by_id(ELSEWHERE_ID)
    if besides is None and elsewhere is None and before is None:
        return context
    context = context.copy()
    context.items[:] = [item for item in context.items if item is not before]
    place, at = _before_what_is_answered(context, asked)
    said = [] if besides is None else [_reminder(besides)]
    said += [] if elsewhere is None else [elsewhere]
    for reminder in said:
        reminder.created_at = at
    context.items[place:place] = said
    return context


def _reminder(text: str) -> llm.ChatMessage:
    return llm.ChatMessage(id=utils.shortuuid(REMINDER), role="system", content=[text])


def _put_reminders_before(items: list[llm.ChatItem], at: int) -> None:
    """No calls are to stand between reminders and the item that is to be answered."""
    calls = at
    while calls and items[calls - 1].type in TOOL_ITEMS:
        calls -= 1
    first = calls
    while first and items[first - 1].id.startswith(REMINDER):
        first -= 1
    items[first:at] = [*items[calls:at], *items[first:calls]]


def _before_what_is_answered(
    context: llm.ChatContext, asked: llm.ChatMessage | None
) -> tuple[int, float]:
    """The place and the time before the user's words, which LiveKit may add later, or before the
    calls and results that stand last: a model answers what comes last."""
    items, place = context.items, len(context.items)
    if asked is not None:
        found = (n for n, item in enumerate(items) if item.id == asked.id)
        return next(found, place), asked.created_at
    while place and items[place - 1].type in ("function_call", "function_call_output"):
        place -= 1
    return place, items[place].created_at if place < len(items) else time.time()
