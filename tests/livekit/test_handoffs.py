"""What the next agent is asked, and with which calls, when the user speaks into a handoff."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import llm
from needed_arriving import Desk, Porter, a_kept_turn, desk_stage

from turnfsm.runtime.livekit.overrides.arriving import results_when_copied
from turnfsm.runtime.testing.livekit import Outcome, ScriptedUser


@pytest.mark.parametrize("by_tool", [False, True])
def test_a_kept_turn_is_asked_with_the_call_that_ended_meanwhile(by_tool: bool) -> None:
    """The conversation was copied before; the model would make the call again."""
    booked: list[str] = []
    outcome = a_kept_turn(booked, by_tool=by_tool)
    assert booked == ["booked"]
    assert "booked" in _results(outcome, "how long")


@pytest.mark.parametrize("by_tool", [False, True])
def test_the_next_agent_is_heard_before_it_answers_a_kept_turn(by_tool: bool) -> None:
    """The user's words are older than what the agent says as it enters."""
    outcome = a_kept_turn([], by_tool=by_tool)
    greeting = outcome.heard_saying("Welcome to the desk.")
    answer = outcome.heard_saying("An hour.")
    assert greeting is not None
    assert answer is not None
    assert greeting.end < answer.start


def test_an_owed_result_is_told_by_the_next_agent_who_is_shown_it() -> None:
    """The user interrupted and was answered; then the application handed over."""
    booked: list[str] = []
    user = ScriptedUser().says("book a table", at=1.0).says("how long", at=4.5)
    stage = desk_stage(user, booked)
    stage.at(7.0, lambda s: s.session.update_agent(Desk(booked, s.session.current_agent.chat_ctx)))
    outcome = stage.run(30.0)
    assert booked == ["booked"]
    told = [request for request in outcome.requests if "has arrived" in str(request.shown)]
    assert len(told) == 1
    assert "booked" in [entry.text for entry in told[0].shown if entry.kind == "result"]


def test_an_agent_with_a_conversation_of_its_own_is_shown_no_call() -> None:
    """Nothing of the old conversation belongs to it."""
    outcome = a_kept_turn([], make=lambda booked, _: Desk(booked, llm.ChatContext.empty()))
    assert _results(outcome, "how long") == []


def test_an_agent_is_shown_no_call_of_a_tool_that_it_has_not() -> None:
    """It cannot make it again, and some providers refuse calls of unknown tools."""
    assert _results(a_kept_turn([], make=Porter), "how long") == []


def test_results_that_are_older_than_what_was_copied_were_left_out_on_purpose() -> None:
    """Those that came after it the copy could not hold."""
    history = llm.ChatContext.empty()
    asked = history.add_message(role="user", content="book", created_at=1.0)
    for number, at in ((1, 2.0), (2, 4.0)):
        made: dict[str, Any] = {"call_id": f"call_{number}", "name": "book", "created_at": at}
        history.insert(llm.FunctionCall(arguments="{}", **made))
        history.insert(llm.FunctionCallOutput(output="booked", is_error=False, **made))
    said = history.add_message(role="assistant", content="It is booked.", created_at=3.0)
    assert results_when_copied(history, llm.ChatContext([asked, said])) == {"call_1"}


def _results(outcome: Outcome, prompt: str) -> list[str]:
    """What the request for this prompt shows of calls."""
    request = next(request for request in outcome.requests if prompt in request.prompt)
    return [entry.text for entry in request.shown if entry.kind == "result"]
