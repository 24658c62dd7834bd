"""A long conversation costs no more than on a stock session."""

from __future__ import annotations

from typing import Any

import pytest
from both import Session, asked_for_weather, look_up
from livekit.agents import Agent, AgentSession, llm

from turnfsm.livekit import TurnSession
from turnfsm.runtime.livekit.overrides import projected


def test_a_request_compares_no_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are found by their ids: comparing all that is in them takes long in a long
    conversation."""
    compared = 0
    compare = llm.ChatMessage.__eq__

    def counts(self: Any, other: Any) -> Any:
        nonlocal compared
        compared += 1
        return compare(self, other)

    monkeypatch.setattr(llm.ChatMessage, "__eq__", counts)
    context = llm.ChatContext.empty()
    for n in range(100):
        context.add_message(role="assistant", content=f"Sentence {n}.", created_at=n - 100.0)

    def agent() -> Agent:
        return Agent(instructions="Help.", tools=[look_up], chat_ctx=context)

    seen: dict[Session, int] = {}
    for session_class in (AgentSession, TurnSession):
        compared = 0
        outcome = asked_for_weather(session_class, agent=agent).run(6.0)
        assert outcome.context[99].endswith("Sentence 99.")
        seen[session_class] = compared
    assert seen[TurnSession] <= seen[AgentSession]


def test_a_request_reads_only_the_last_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    part_of = projected.part_of

    def counts(item: llm.ChatItem) -> Any:
        nonlocal read
        read += 1
        return part_of(item)

    monkeypatch.setattr(projected, "part_of", counts)
    context = llm.ChatContext.empty()
    for n in range(100):
        context.add_message(role="user", content=f"Question {n}.", created_at=2 * n - 200.0)
        context.add_message(role="assistant", content=f"Answer {n}.", created_at=2 * n - 199.0)
    agent = Agent(instructions="Help.", tools=[look_up], chat_ctx=context)
    outcome = asked_for_weather(TurnSession, agent=lambda: agent).run(6.0)
    assert len(outcome.requests) == 2
    assert read < 30
