"""The application asks for two replies, and nobody has answered the user yet."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage


def played(
    second: dict[str, Any], at: float, *, called: list[str], first: dict[str, Any] | None = None
) -> Outcome:
    """The user asks for a table until 1.8 s. The application commits that without a reply, and asks
    for one at 2.3 s. The model thinks until 3.8 s, and then calls the tool, which takes 2 s."""
    book = tool("book", "booked", seconds=2.0, ran=called)
    user = ScriptedUser().says("book a table", at=1.0, duration=0.8)
    rules = {"book": Reply(calls=Call("book"), ttft=1.4), "thanks": "You are welcome."}
    stage = Stage(
        TurnSession,
        user=user,
        llm=ScriptedLLM(rules, {"book": "It is booked."}, retries="nothing was done"),
        tools=[book],
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(2.2, lambda s: s.session.commit_user_turn(skip_reply=True) and None)
    stage.at(2.3, lambda s: s.session.generate_reply(**(first or {})) and None)
    stage.at(at, lambda s: s.session.generate_reply(**second) and None)
    return stage.run(15.0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "second",
    [{}, {"instructions": "go on"}, {"user_input": "thanks"}],
    ids=["the same", "instructions", "a typed line"],
)
@pytest.mark.parametrize("at", [2.3, 2.6, 3.9], ids=["at once", "thinking", "called"])
def test_a_second_reply_does_not_make_the_calls_of_the_first_again(
    second: dict[str, Any], at: float
) -> None:
    """The first one may still call the tool: another request does not see the user's words, or is
    made when its calls are known."""
    called: list[str] = []
    outcome = played(second, at, called=called)
    assert called == ["book"], outcome.timeline()
    assert "It is booked." in [heard.text for heard in outcome.heard], outcome.timeline()


def test_a_typed_line_is_answered_as_soon_as_the_calls_before_it_are_known() -> None:
    """It does not wait for their results."""
    outcome = played({"user_input": "thanks"}, 2.6, called=[])
    answer = next(heard for heard in outcome.heard if heard.text == "You are welcome.")
    assert answer.start == pytest.approx(4.1, abs=0.1), outcome.timeline()


def test_a_reply_with_instructions_leaves_the_users_words_to_another() -> None:
    """The application may have the first one say something else."""
    outcome = played({}, 2.6, called=[], first={"instructions": "say that you look it up"})
    second = outcome.requests[1].shown
    assert [entry.text for entry in second if entry.kind == "user"] == ["book a table"]
