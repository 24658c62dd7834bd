"""A reply that was to deliver a result fails: the result is delivered all the same."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import APIConnectionError
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

BOOKED = "Your table is booked."
book = tool("book", "booked")


class _Model:
    """Fails so many times where it is to deliver the result."""

    def __init__(self, failures: int) -> None:
        self.left = failures
        self.requests = 0

    def answer(self, request: Any) -> Reply:
        self.requests += 1
        if self.left:
            self.left -= 1
            return Reply("", error=APIConnectionError("gone", retryable=False))
        return Reply(BOOKED)


def _play(model: _Model, user: ScriptedUser) -> Any:
    answers = {"a table": Reply(calls=Call("book")), "hello": model.answer}
    scripted = ScriptedLLM(answers, {"book": model.answer})
    return Stage(TurnSession, user=user, llm=scripted, tools=[book]).run(20.0)


def test_a_result_whose_reply_fails_once_is_delivered_by_another_reply() -> None:
    """Nobody else asks for anything: the user would wait for ever."""
    model = _Model(failures=1)
    outcome = _play(model, ScriptedUser().says("book a table", at=1.0))
    assert [heard.text for heard in outcome.heard] == [BOOKED], outcome.timeline()


@pytest.mark.parametrize("failures", [2, 3])
def test_a_model_that_goes_on_failing_is_not_asked_in_a_loop(failures: int) -> None:
    """Two replies have failed: the next reply to the user delivers the result."""
    model = _Model(failures)
    user = ScriptedUser().says("book a table", at=1.0).says("hello", at=8.0).says("hello", at=13.0)
    outcome = _play(model, user)
    assert model.requests <= failures + 2
    assert BOOKED in [heard.text for heard in outcome.heard], outcome.timeline()
