"""A realtime model's conversation: each result once, next to its call; only what was heard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import Any

from livekit.agents import llm

from turnfsm.fsm.agenda import Item, Part, pair

from .generations import Generations

__all__ = [
    "TOOLS",
    "ChatContextSync",
    "in_order_of",
    "open_words_last",
    "overtaken",
    "results_by_their_calls",
    "results_in",
]

TOOLS: Mapping[str, Part] = {"function_call": "call", "function_call_output": "result"}
"""What an item is that belongs to a tool call, by LiveKit's type of it."""


class ChatContextSync:
    """Replaces `update_chat_ctx` and `generate_reply` of a realtime session.

    It sends each result once, next to its call, and what the model has in its order. LiveKit
    appends results at the end, after what was said since, and removes words without a transcript.
    It puts the words last that a reply is to answer.

    Args:
        in_history: The item of this id in the session's history, or None.
        answers_words: Whether the speech of the current task answers words that the model has
            heard.
        ordered: Results are put next to their calls, and the rest stays in order.
        given_up: Called with the ids of the user's messages that the model was about to answer, if
            it is asked for something else.
        instructions: What to ask the model for, of what LiveKit asks for.
    """

    def __init__(
        self,
        model: llm.RealtimeSession[Any],
        in_history: Callable[[str], llm.ChatItem | None],
        answers_words: Callable[[], bool],
        ordered: bool = True,
        given_up: Callable[[list[str]], None] = lambda words: None,
        instructions: Callable[[Any], Any] = lambda given: given,
    ) -> None:
        self._model = model
        self._in_history = in_history
        self._answers_words = answers_words
        self._given_up = given_up
        self._instructions = instructions
        self._ordered = (
            ordered  # a model that replies to results by itself replies to the last item
        )
        self._send = model.update_chat_ctx
        self._ask = model.generate_reply
        self.generations = Generations()
        self._asked: set[str] = set()
        """The user's messages that the model had in its last request, or was given since. A reply
        that the model begins by itself counts as a request."""
        self._answered: set[str] = set()
        """The same, without requests of the application that have instructions of their own: these
        do not answer the user."""
        self._results: dict[str, llm.FunctionCallOutput] = {}
        self._forgotten: set[str] = set()
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}
        self._sending = asyncio.Lock()  # items that are being sent would be sent twice

    async def __call__(self, chat_ctx: llm.ChatContext) -> None:
        held = {item.id for item in self._model.chat_ctx.items}
        async with self._sending:
            await self._send_ordered(chat_ctx.copy(), held)

    def generate_reply(self, **how: Any) -> asyncio.Future[llm.GenerationCreatedEvent]:
        """Ask the model for a reply.

        What was asked for before the user's words were committed may come into its conversation
        after them. The model answers what comes last.
        """
        if self._ordered and self._answers_words() and self._behind_open_words():
            return asyncio.ensure_future(self._ask_about_words(how))
        return self._ask_now(how)

    def reply_begins(self) -> None:
        """The model begins a reply. It answers all that it has heard."""
        self._asked = set(self.words)
        self._answered = set(self._asked)

    @property
    def words(self) -> list[str]:
        """The ids of the user's messages that the model has."""
        return [item.id for item in self._model.chat_ctx.items if _is_words(item)]

    @property
    def open_words(self) -> list[str]:
        """The ids of the user's messages with which the model was not asked for anything yet."""
        return [id for id in self.words if id not in self._asked]

    @property
    def holds_open_words(self) -> bool:
        """The model has words of the user that it was not asked to answer yet."""
        return any(map(self._is_open, self._model.chat_ctx.items))

    @property
    def ends_with_open_words(self) -> bool:
        """The model would answer words of the user that it was not asked to answer yet."""
        items = self._model.chat_ctx.items
        return bool(items) and self._is_open(items[-1])

    def has_answered(self, words: Collection[str]) -> bool:
        """The model was asked to answer all these messages."""
        return self._answered.issuperset(words)

    def words_taken_up(self) -> None:
        """The reply that the model was last asked for has also done what the user wants."""
        self._answered |= self._asked

    def still_open(self, words: Collection[str]) -> None:
        """Nobody has answered these messages, also if another model has heard them."""
        self._answered.difference_update(words)

    def call_renamed(self, item: str, ours: str, theirs: str) -> None:
        """The session has another id for a call than the model. The model is told its own id.

        Args:
            item: The id of the call's item.
            ours: The session's id of the call.
            theirs: The model's id.
        """
        self._ours[item], self._theirs[ours] = ours, theirs

    async def tell(self, results: Iterable[llm.FunctionCallOutput]) -> None:
        """Send results of calls that the model waits for."""
        self._results |= {result.call_id: result for result in results}
        async with self._sending:
            context = self._model.chat_ctx.copy()
            context.items[:] = map(self._with_our_id, context.items)
            if self._unsent(context):
                await self._send_ordered(context)

    async def forget(self, ids: Iterable[str]) -> None:
        """Remove items that nobody has heard from the conversation."""
        if not self._model.capabilities.mutable_chat_context:
            return
        self._forgotten |= set(ids)
        async with self._sending:
            context = self._model.chat_ctx.copy()
            if any(item.id in self._forgotten for item in context.items):
                await self._send_ordered(context)

    async def _ask_about_words(self, how: dict[str, Any]) -> llm.GenerationCreatedEvent:
        with contextlib.suppress(llm.RealtimeError):
            async with self._sending:
                # Removed and sent again: words that were sent again would be text, not what the
                # model has heard.
                if behind := self._behind_open_words():  # another request may have asked by now
                    ids = {item.id for item in behind}
                    rest = [item for item in self._model.chat_ctx.items if item.id not in ids]
                    await self._send(llm.ChatContext(rest))
                    rest = self._model.chat_ctx.items  # more may have come
                    at = next(i for i, item in enumerate(rest) if self._is_open(item))
                    await self._send(llm.ChatContext([*rest[:at], *behind, *rest[at:]]))
        return await self._ask_now(how)

    def _ask_now(self, how: dict[str, Any]) -> asyncio.Future[llm.GenerationCreatedEvent]:
        how["instructions"] = self._instructions(how.get("instructions"))
        answered, open_words = self._answered, self.open_words
        self.reply_begins()
        if how.get("instructions") and not self._answers_words():
            self._answered = answered  # the application asks for something else
            self._given_up(open_words)
        return self._ask(**how)

    def _behind_open_words(self) -> list[llm.ChatItem]:
        """What the model has after the first words that it was not asked to answer yet."""
        held = dropwhile(lambda item: not self._is_open(item), self._model.chat_ctx.items)
        behind = [item for item in held if not self._is_open(item)]
        return [self._in_history(i.id) or i if i.type == "message" else i for i in behind]

    def _is_open(self, item: llm.ChatItem) -> bool:
        return _is_words(item) and item.id not in self._answered

    async def _send_ordered(
        self, context: llm.ChatContext, copied: Collection[str] | None = None
    ) -> None:
        # LiveKit may have copied the conversation before: what was told stays told, and what was
        # forgotten forgotten. `copied`: what the model had then.
        items = [item for item in context.items if item.id not in self._forgotten]
        held = self._model.chat_ctx.items
        for item in tuple(self._just_come({item.id for item in items}, copied)):
            at = len(items) if _is_words(item) else _place(item, held, items)
            items.insert(at, item)
        context.items[:] = map(self._with_our_id, items)
        if self._ordered:
            context.items.extend(self._unsent(context))
            ordered = results_by_their_calls(in_order_of(held, context.items))
            context.items[:] = open_words_last(ordered, held)
        context.items[:] = map(self._with_their_id, context.items)
        held_ids = {item.id for item in held}
        words = {item.id for item in context.items if _is_words(item)}
        self._answered |= words - held_ids
        self._asked |= words - held_ids
        self.generations.given(context.items, held_ids)
        await self._send(context)

    def _just_come(
        self, known: Collection[str], copied: Collection[str] | None
    ) -> Iterator[llm.ChatItem]:
        for item in self._model.chat_ctx.items:
            if item.id in known or item.id in self._forgotten:
                continue
            since = copied is not None and item.id not in copied
            if since or self._history_waits_for(item):
                yield item

    def _history_waits_for(self, item: llm.ChatItem) -> bool:
        if item.type == "function_call":
            return self.generations.make(item)  # LiveKit may have copied it before it began
        if item.type != "message" or self._in_history(item.id) is not None:
            return False
        return item.role == "user" or self.generations.make(item)

    def _with_our_id(self, item: llm.ChatItem) -> llm.ChatItem:
        return _with_call_id(item, self._ours.get(item.id))

    def _with_their_id(self, item: llm.ChatItem) -> llm.ChatItem:
        if item.type not in ("function_call", "function_call_output"):
            return item
        theirs = self._theirs.get(item.call_id)
        if theirs is not None:
            self._ours[item.id] = item.call_id
        return _with_call_id(item, theirs)

    def _unsent(self, context: llm.ChatContext) -> list[llm.FunctionCallOutput]:
        answered = {item.call_id for item in context.items if item.type == "function_call_output"}
        calls = [item.call_id for item in context.items if item.type == "function_call"]
        missing = [call for call in calls if call not in answered and call in self._results]
        return [self._results[call] for call in missing]


def _with_call_id(item: llm.ChatItem, id: str | None) -> llm.ChatItem:
    if id is None or item.type not in ("function_call", "function_call_output"):
        return item
    return item if item.call_id == id else item.model_copy(update={"call_id": id})


def _place(item: llm.ChatItem, held: Sequence[llm.ChatItem], items: Sequence[llm.ChatItem]) -> int:
    """Where an item that the model has belongs: after what it has before it."""
    before = {other.id for other in takewhile(lambda other: other.id != item.id, held)}
    places = [number for number, other in enumerate(items, 1) if other.id in before]
    return places[-1] if places else 0


def in_order_of(held: Sequence[llm.ChatItem], items: Sequence[llm.ChatItem]) -> list[llm.ChatItem]:
    """The same items; those that the model has are in its order, each other one after those before.

    If a transcript is late, the agent's conversation has the words after their answer.
    """
    place = {item.id: number for number, item in enumerate(held)}
    latest = -1
    places: list[int] = []
    for item in items:
        latest = max(latest, place.get(item.id, -1))
        places.append(place.get(item.id, latest))
    return [item for _, item in sorted(zip(places, items, strict=True), key=lambda pair: pair[0])]


def results_by_their_calls(items: Iterable[llm.ChatItem]) -> list[llm.ChatItem]:
    """The same items, with each result once and next to its call.

    A result stays in place if only calls and results are between it and its call.
    """
    read = (Item(i.id, TOOLS.get(i.type, "other"), i, getattr(i, "call_id", "")) for i in items)
    return [item.of for item in pair(read)]


def _open_words(held: Sequence[llm.ChatItem]) -> list[llm.ChatItem]:
    """The words of the user that a model has not answered: those at the end of what it has.

    In the agent's conversation an answer may come before the words, if their transcript is late.
    """
    return [*takewhile(_is_words, reversed(held))][::-1]


def _is_words(item: llm.ChatItem) -> bool:
    return item.type == "message" and item.role == "user"


def open_words_last(
    items: Iterable[llm.ChatItem], held: Sequence[llm.ChatItem]
) -> list[llm.ChatItem]:
    """The same items, with unanswered words of the user after a call that has ended since.

    The model answers what comes last. The late result of a call that was answered comes as a call
    of its own with its result, and would be answered instead of the words.

    Args:
        items: The conversation.
        held: What the model has of it.
    """
    items = list(items)
    known = {item.id for item in held}
    unanswered = {item.id for item in _open_words(held)}
    ends: list[llm.ChatItem] = []
    words: list[llm.ChatItem] = []
    while items:
        item = items[-1]
        if item.id in unanswered:
            words.insert(0, items.pop())
        elif item.type in ("function_call", "function_call_output") and item.id not in known:
            ends.insert(0, items.pop())
        else:
            break
    return items + ends + words


def overtaken(results: Collection[str], items: Iterable[llm.ChatItem]) -> bool:
    """Whether somebody has spoken in a conversation behind one of these items of it."""
    passed = False
    for item in items:
        if passed and item.type == "message" and item.text_content:
            return True
        passed |= item.id in results
    return False


def results_in(context: llm.ChatContext) -> frozenset[str]:
    """The ids of the results in a conversation."""
    items = context.items  # a list: in a long conversation a generator takes twice as long
    return frozenset([item.call_id for item in items if item.type == "function_call_output"])
