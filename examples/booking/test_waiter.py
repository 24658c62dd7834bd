"""The waiter is tested without a microphone, a model or waiting: 20 s of talk in milliseconds."""

from __future__ import annotations

from waiter import Waiter

from turnfsm.livekit import TurnSession
from turnfsm.testing import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

PREAMBLE = "I am booking your usual table at the window for eight."


def dinner(waiter: Waiter, user: ScriptedUser) -> Outcome:
    """Play 20 s of a conversation with a model that is scripted."""
    model = ScriptedLLM(
        {
            "a table": Reply(PREAMBLE, calls=Call("book_table", {"time": "eight"})),
            "stop": "Sorry, I have booked nothing.",
        },
        {"book_table": "See you at eight."},
    )
    return Stage(TurnSession, user=user, llm=model, agent=lambda: waiter).run(20.0)


def test_a_table_is_booked_after_it_was_announced() -> None:
    """The side effect comes when the preamble has been heard, and once."""
    waiter = Waiter()
    outcome = dinner(waiter, ScriptedUser().says("a table please", at=1.0))
    assert waiter.bookings == ["eight"], outcome.timeline()
    assert [heard.text for heard in outcome.heard] == [PREAMBLE, "See you at eight."]


def test_a_guest_who_interrupts_gets_no_table() -> None:
    """A barge-in on the preamble: no booking, silence within 0.6 s, an answer at once."""
    waiter = Waiter()
    user = ScriptedUser().says("a table please", at=1.0).says("no stop", at=3.5, duration=0.9)
    outcome = dinner(waiter, user)
    assert waiter.bookings == [], outcome.timeline()
    preamble, answer = outcome.heard
    assert preamble.end < 3.5 + 0.6
    assert answer.text == "Sorry, I have booked nothing."
    assert answer.start < 3.5 + 0.9 + 1.0
