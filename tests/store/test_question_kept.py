"""A worker is killed while a call waits for a yes: the next one takes nothing for confirmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flow_text import parsed

from turnfsm.runtime.testing.livekit import Call, Reply, Request, ScriptedLLM, ScriptedUser, Stage

from .play import GREETING, Guest
from .test_going_on import noted, posted

QUESTION, BOOKED = "Shall I book the table?", "It is booked."
TEXT = f"flow: bank\nextends: turn\ntools: {{confirm: {{book: {{say: {QUESTION}}}}}}}\n"


def answer(request: Request) -> Reply:
    """The model makes the call until it has a result."""
    shown = request.shown
    if any(entry.kind == "result" and entry.text == "done" for entry in shown):
        return Reply(BOOKED)
    asked = any(entry.kind == "user" and "book" in entry.text for entry in shown)
    return Reply(calls=Call("book")) if asked else Reply("How can I help?")


class Careful(Guest):
    """A guest who is asked before a table is booked."""

    def stage(self, user: ScriptedUser, **options: Any) -> Stage:
        flow = parsed(TEXT)
        stage = super().stage(user, flow=flow, proof="off", **options)
        stage.llm = ScriptedLLM(otherwise=answer)
        return stage


def asks() -> ScriptedUser:
    return ScriptedUser().says("please book a table", at=2.0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "deadly",
    [noted("tool_started"), posted("question_due"), posted("playout_started", 2)],
    ids=["the call is made", "the question is due", "the question is heard"],
)
def test_a_yes_to_the_next_worker_is_none_to_the_question_of_the_one_before(
    deadly: Any, tmp_path: Path
) -> None:
    guest = Careful(tmp_path)
    assert guest.killed(asks(), deadly)
    outcome = guest.gone_on(ScriptedUser().says("yes", at=0.2), 20.0)
    assert guest.effects("book") == 0, outcome.timeline()
    assert GREETING not in [one.text for one in outcome.heard]


def test_the_next_worker_asks_again(tmp_path: Path) -> None:
    guest = Careful(tmp_path)
    assert guest.killed(asks(), posted("question_due"))
    outcome = guest.gone_on(ScriptedUser().says("yes please", at=5.0), 20.0)
    assert [one.text for one in outcome.heard] == [QUESTION, BOOKED], outcome.timeline()
    assert guest.effects("book") == 1
