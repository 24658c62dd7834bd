"""Keeps a realtime model's conversation correct: each result once, next to its call; no unheard
text."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol

import attrs
from livekit.agents import llm

from turnfsm.fsm.agenda.entries import HeardByModel
from turnfsm.fsm.agenda.projection import Item, Part
from turnfsm.fsm.agenda.server import diff, spoken_behind, wanted
from turnfsm.runtime.log import Log

from .speech import GovernedHandle

__all__ = ["Asker", "ChatContextSync", "Generation", "part_of", "results_in"]

_TOOLS: Mapping[str, Part] = {"function_call": "call", "function_call_output": "result"}
_ROLES: Mapping[str, Part] = {"user": "utterance", "assistant": "said"}


def part_of(item: llm.ChatItem) -> Part:
    """The kind of a LiveKit item."""
    if item.type == "message":
        return _ROLES.get(item.role, "instruction")
    return _TOOLS.get(item.type, "other")


class Asker(Protocol):
    """The activity that uses a realtime model."""

    def answers_messages(self) -> bool:
        """The speech of the current task answers messages that the model has heard."""

    def asks(self) -> None:
        """The speech of the current task asks the model for a reply."""

    def about_to_ask(self, instructions: Any) -> Any:
        """The model is about to be asked. Returns its instructions."""


@attrs.define(eq=False)
class Generation:
    """One reply that a realtime model generates.

    Attributes:
        speech: Its speech.
        held: The ids of the model's items when it began.
        over: The heard text and the calls are in the history; the rest was removed from the
            model's conversation.
    """

    speech: GovernedHandle
    held: frozenset[str]
    over: bool = False

    @property
    def stands(self) -> bool:
        """It is valid: it will be played, and its calls will be made."""
        return not (self.over or self.speech.interrupted or self.speech.done())


class Generations:
    """The replies that a realtime model generates."""

    def __init__(self) -> None:
        self._running: list[Generation] = []
        self._given: set[str] = set()

    def begins(self, speech: GovernedHandle, held: Iterable[llm.ChatItem]) -> Generation:
        """The model begins a reply.

        Args:
            speech: Its speech.
            held: The model's items.
        """
        generation = Generation(speech, frozenset(item.id for item in held))
        self._running = [*(other for other in self._running if other.stands), generation]
        return generation

    def end_all(self) -> None:
        """Another agent has taken the model over."""
        self._running.clear()

    def given(self, items: Iterable[llm.ChatItem], held: Collection[str]) -> None:
        """These items are sent to the model, so it did not generate them.

        Args:
            items: All items that the model has afterwards.
            held: The ids of the items that it already has.
        """
        self._given = {item.id for item in items if item.id in self._given or item.id not in held}

    def make(self, item: llm.ChatItem) -> bool:
        """Whether the model has generated this item for a valid reply."""
        if item.id in self._given:
            return False
        return any(running.stands and item.id not in running.held for running in self._running)


class ChatContextSync:
    """Replaces `update_chat_ctx` and `generate_reply` of a realtime session.

    `turnfsm.fsm.agenda.wanted` decides the model's conversation. LiveKit would append
    results at the end, after later messages, and would remove user messages without a transcript.

    Args:
        model: The realtime session.
        log: The log of the conversation.
        in_history: Returns the item with an id in the session's history, or None.
        asker: The activity that uses the model. Another one may take it over.
    """

    def __init__(
        self,
        model: llm.RealtimeSession[Any],
        log: Log,
        in_history: Callable[[str], llm.ChatItem | None],
        asker: Asker,
    ) -> None:
        self._model, self._log = model, log
        self._in_history = in_history
        self.asker = asker
        self._send = model.update_chat_ctx
        self._ask = model.generate_reply
        self.generations = Generations()
        self._known: set[str] = set()
        """The user's messages that the model was sent, or has heard and reported."""
        self._unheard: set[str] = set()
        self._session_ids: dict[str, str] = {}
        self._model_ids: dict[str, str] = {}
        self._sending = asyncio.Lock()  # otherwise items could be sent twice

    async def __call__(self, chat_ctx: llm.ChatContext) -> None:
        copied = {item.id for item in self._model.chat_ctx.items}
        async with self._sending:
            await self._synchronise(chat_ctx, copied)

    def generate_reply(self, **how: Any) -> asyncio.Future[llm.GenerationCreatedEvent]:
        """Request a reply from the model.

        An earlier request may enter the model's conversation after the user's message, and the
        model answers the last item.
        """
        is_open = self._are_open()
        if self.asker.answers_messages() and is_open != sorted(is_open):
            return asyncio.ensure_future(self._ask_about_utterance(how))
        return self._ask_now(how)

    def unanswered(self) -> list[str]:
        """The user's messages that the model has, and that still need a request.

        First reports what the model has heard since the last check.
        """
        held = [item.id for item in self._model.chat_ctx.items if part_of(item) == "utterance"]
        for id in held:
            if id not in self._known:
                self._log.add(HeardByModel(id))
        self._known.update(held)
        due = self._log.agenda.unanswered
        return [id for id in held if id in due]

    @property
    def ends_with_open_utterance(self) -> bool:
        """The model would answer user messages that it was not asked to answer yet."""
        return self._are_open()[-1:] == [True]

    def _are_open(self) -> list[bool]:
        due = self.unanswered()
        return [item.id in due for item in self._model.chat_ctx.items]

    def spoken_behind(self, results: Collection[str]) -> bool:
        """The model's conversation has a message after one of these results."""
        items = self._model.chat_ctx.items
        spoken = (item for item in items if item.type != "message" or item.text_content)
        return spoken_behind(results, map(self._read, spoken))

    def call_renamed(self, item: str, ours: str, theirs: str) -> None:
        """The session's id of a call differs from the model's id. The model gets its own id.

        Args:
            item: The id of the call's item.
            ours: The session's id of the call.
            theirs: The model's id of the call.
        """
        self._session_ids[item], self._model_ids[ours] = ours, theirs

    async def tell(self, results: Iterable[llm.FunctionCallOutput]) -> None:
        """Send results that the model waits for."""
        async with self._sending:
            await self._synchronise(results=results)

    async def forget(self, ids: Iterable[str]) -> None:
        """Remove unheard items from the model's conversation."""
        if not self._model.capabilities.mutable_chat_context:
            return
        self._unheard |= set(ids)
        async with self._sending:
            await self._synchronise()

    async def _ask_about_utterance(self, how: dict[str, Any]) -> llm.GenerationCreatedEvent:
        with contextlib.suppress(llm.RealtimeError):
            async with self._sending:
                await self._synchronise(answers=True)
        return await self._ask_now(how)

    def _ask_now(self, how: dict[str, Any]) -> asyncio.Future[llm.GenerationCreatedEvent]:
        self.unanswered()
        how["instructions"] = self.asker.about_to_ask(how.get("instructions"))
        return self._ask(**how)

    async def _synchronise(
        self,
        context: llm.ChatContext | None = None,
        copied: Collection[str] = (),
        *,
        results: Iterable[llm.FunctionCallOutput] = (),
        answers: bool = False,
    ) -> None:
        """Bring the model's conversation to its wanted content.

        Args:
            context: The conversation that LiveKit or the application sends; None: the model's
                current one.
            copied: The ids of the model's items when `context` was copied.
            results: New results of the model's calls.
            answers: The model is about to be asked to answer the open user messages.
        """
        previous: set[str] = set()
        new_results = [*map(self._read, results)]
        given = None if context is None else [*map(self._read, context.items)]
        moved: set[str] = set()
        while True:
            holds = self._model.chat_ctx.items
            held = [*map(self._read, holds)]
            previous.update(item.id for item in holds)
            due = self.unanswered() if answers else []
            target = wanted(
                held if given is None else given,
                held,
                keep={i.id for i in holds if i.id not in copied or self._history_waits_for(i)},
                results=new_results,
                unheard=self._unheard,
                answers=due,
                replies_to_results=self._model.capabilities.auto_tool_reply_generation,
            )
            change = diff(held, target)
            if not (change.moves and self._model.capabilities.mutable_chat_context):
                break  # a model with an immutable context would get the items twice
            # Items that move are removed first. LiveKit might remove user messages instead, and
            # send them again as text, not as the audio that the model has heard.
            moved.update(change.delete)
            await self._send(self._written((i for i in held if i.id not in change.delete), moved))
            given, copied = list(target), {item.id for item in held}
        if not change and context is None:
            return
        sent = self._written(target, moved)
        self._known |= {item.id for item in sent.items} - previous
        self.generations.given(sent.items, previous)
        await self._send(sent)

    def _read(self, item: llm.ChatItem) -> Item:
        item = _with_call_id(item, self._session_ids.get(item.id))
        return Item(item.id, part_of(item), item, getattr(item, "call_id", ""))

    def _written(self, items: Iterable[Item], moved: Collection[str]) -> llm.ChatContext:
        return llm.ChatContext([*self._as_sent(items, moved)])

    def _as_sent(self, items: Iterable[Item], moved: Collection[str]) -> Iterator[llm.ChatItem]:
        for item in items:
            heard = self._in_history(item.id) if item.id in moved and item.part == "said" else None
            yield heard or self._with_their_id(item.of)

    def _history_waits_for(self, item: llm.ChatItem) -> bool:
        if item.type == "function_call":
            return self.generations.make(item)  # LiveKit may have copied it earlier
        if item.type != "message" or self._in_history(item.id) is not None:
            return False
        return item.role == "user" or self.generations.make(item)

    def _with_their_id(self, item: llm.ChatItem) -> llm.ChatItem:
        if item.type not in ("function_call", "function_call_output"):
            return item
        theirs = self._model_ids.get(item.call_id)
        if theirs is not None:
            self._session_ids[item.id] = item.call_id
        return _with_call_id(item, theirs)


def _with_call_id(item: llm.ChatItem, id: str | None) -> llm.ChatItem:
    if id is None or item.type not in ("function_call", "function_call_output"):
        return item
    return item if item.call_id == id else item.model_copy(update={"call_id": id})


def results_in(context: llm.ChatContext) -> frozenset[str]:
    """The ids of the results in a conversation."""
    items = context.items  # a list: in a long conversation a generator takes twice as long
    return frozenset([item.call_id for item in items if item.type == "function_call_output"])
