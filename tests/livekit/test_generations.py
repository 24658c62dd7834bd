"""What a realtime model says and calls now stays with it when LiveKit sends it the conversation."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from livekit.agents import llm
from realtime_stage import realtime
from scripted_tool import tool

from turnfsm.fsm.agenda.entries import AnswerDue, HeardByModel, note_of
from turnfsm.runtime.livekit.overrides.conversation import ChatContextSync
from turnfsm.runtime.log import Log
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

ASKED = llm.ChatMessage(id="asked", role="user", content=["book a table"])
CALL = llm.FunctionCall(id="call", call_id="call_1", name="book", arguments="{}")
SAID = llm.ChatMessage(id="said", role="assistant", content=["I book it."])


class _Server:
    """A realtime session; what it is sent arrives a moment later."""

    def __init__(self, *items: llm.ChatItem) -> None:
        self.chat_ctx = llm.ChatContext(list(items))
        self.capabilities = SimpleNamespace(auto_tool_reply_generation=False)

    async def update_chat_ctx(self, chat_ctx: llm.ChatContext) -> None:
        held = set(self.has)
        await asyncio.sleep(0.01)
        came = [item for item in self.chat_ctx.items if item.id not in held]
        self.chat_ctx = llm.ChatContext([*chat_ctx.items, *came])

    def generate_reply(self, **how: Any) -> asyncio.Future[Any]:
        return asyncio.Future()

    @property
    def has(self) -> list[str]:
        return [item.id for item in self.chat_ctx.items]


def _speech(*, interrupted: bool = False, done: bool = False) -> Any:
    return SimpleNamespace(interrupted=interrupted, done=lambda: done)


def _sync(server: Any, *history: llm.ChatItem) -> ChatContextSync:
    log, asker = Log(lambda: None, lambda end: None), SimpleNamespace()
    return ChatContextSync(server, log, llm.ChatContext(list(history)).get_by_id, cast(Any, asker))


async def test_a_call_that_the_model_has_just_made_stays_with_it() -> None:
    """LiveKit has copied the conversation before, also if the call has begun since."""
    for history in (), (CALL,):
        server = _Server(ASKED)
        sync = _sync(server, ASKED, *history)
        sync.generations.begins(_speech(), server.chat_ctx.items)
        server.chat_ctx.items.append(CALL)
        await sync(llm.ChatContext([ASKED]))
        assert server.has == ["asked", "call"], history


@pytest.mark.parametrize("over", ["interrupted", "done", "over", "taken over"])
async def test_what_belongs_to_no_reply_any_more_is_removed(over: str) -> None:
    """Nobody makes the calls of such a reply, and nobody hears the rest of it."""
    server = _Server(ASKED)
    sync = _sync(server, ASKED)
    speech = _speech(interrupted=over == "interrupted", done=over == "done")
    generation = sync.generations.begins(speech, server.chat_ctx.items)
    server.chat_ctx.items += [SAID, CALL]
    generation.over = over == "over"
    if over == "taken over":
        sync.generations.end_all()
    await sync(llm.ChatContext([ASKED]))
    assert server.has == ["asked"]


async def test_what_the_application_has_sent_while_the_model_replies_can_be_removed() -> None:
    """The model has not made it."""
    server = _Server(ASKED)
    sync = _sync(server, ASKED)
    sync.generations.begins(_speech(), server.chat_ctx.items)
    await sync(llm.ChatContext([ASKED, SAID, CALL]))
    await sync(llm.ChatContext([ASKED]))
    assert server.has == ["asked"]


async def test_what_comes_while_the_conversation_waits_to_be_sent_stays() -> None:
    """Another copy is on its way; the transcript of the words has come meanwhile."""
    server = _Server(ASKED)
    late = llm.ChatMessage(id="late", role="user", content=["how long"])
    sync = _sync(server, ASKED, late)
    first = asyncio.create_task(sync(llm.ChatContext([ASKED])))
    await asyncio.sleep(0)
    second = asyncio.create_task(sync(llm.ChatContext([ASKED])))
    await asyncio.sleep(0)
    server.chat_ctx.items.append(late)
    await asyncio.gather(first, second)
    assert server.has == ["asked", "late"]


def test_the_application_may_send_the_conversation_while_a_reply_is_heard() -> None:
    """The reply is not in the agent's conversation before it has been heard. LiveKit notes what
    the model makes, but not after something that the model does not know."""
    book = tool("book", "booked", seconds=2.0)

    async def send(stage: Stage) -> None:
        agent = stage.session.current_agent
        await agent.update_chat_ctx(agent.chat_ctx)

    user = ScriptedUser().says("book a table", at=0.5)
    model = ScriptedLLM(
        {"book": Reply("I am going to book it for you.", calls=Call("book"), ttft=1.5)},
        {"book": "It is booked."},
    )
    stage = realtime(user, model, book)
    stage.at(2.0, lambda s: s.session.say("One moment.") and None)
    outcome = stage.at(4.0, send).run(12.0)
    shown = [(item.kind, item.text) for item in outcome.requests[-1].shown]
    assert shown == [
        *(("user", "book a table"), ("assistant", "One moment.")),
        *(("assistant", "I am going to book it for you."), ("call", "{}"), ("result", "booked")),
    ]


async def test_what_a_model_has_heard_is_reported_once_and_what_it_was_given_never() -> None:
    """It was said before. Somebody has answered it, or the log has it already."""
    server: Any = _Server(ASKED)
    log, asker = Log(lambda: None, lambda end: None), SimpleNamespace()
    notes: list[tuple[str, object]] = []
    log.note = lambda kind, **data: notes.append((kind, data))
    log.add(AnswerDue("before"))
    sync = ChatContextSync(server, log, llm.ChatContext([]).get_by_id, cast(Any, asker))
    before = llm.ChatMessage(id="before", role="user", content=["hello"])
    await sync(llm.ChatContext([before, ASKED]))
    assert sync.unanswered() == ["before", "asked"]
    assert sync.unanswered() == ["before", "asked"]
    assert notes[1:] == [note_of(HeardByModel("asked"))]
