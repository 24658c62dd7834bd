"""kill -9 in the middle of a conversation, and the session that takes it up again."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import RunContext, function_tool

from turnfsm.fsm import load_flow
from turnfsm.fsm.journal import read_journal, replay
from turnfsm.runtime import JsonlSink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing import Call, Outcome, Reply, Request, ScriptedLLM, ScriptedUser, Stage

ASKED, BOOKED = "book a table", "It is booked."


def _stage(folder: Path, on_result: Any, **options: Any) -> Stage:
    """A guest asks for a table; the tool leaves a line in the restaurant's book."""

    @function_tool
    async def book(context: RunContext[None]) -> str:
        """Book a table."""
        with (folder / "bookings").open("a") as bookings:
            bookings.write("a table\n")
        return "booked"

    model = ScriptedLLM({"book": Reply(calls=Call("book"))}, {"book": on_result})
    user = ScriptedUser().says(ASKED, at=1.0)
    session: Any = partial(TurnSession, **options)
    return Stage(session, user=user, llm=model, tools=[book])


def _die(request: Request) -> Reply:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _killed(folder: Path) -> int:
    """Play in a process that kills itself when the model is asked with the tool's result; gives
    the signal that it died of."""
    if (child := os.fork()) == 0:
        try:
            sink = JsonlSink(folder / "journal", redact=None)
            _stage(folder, _die, sinks=[sink]).run(20.0)
        finally:
            os._exit(1)  # it is still there: that is the failure
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status)


def _again(folder: Path, **options: Any) -> Outcome:
    return _stage(folder, BOOKED, **options).run(20.0)


def test_what_was_flushed_before_the_kill_is_whole_and_replays(tmp_path: Path) -> None:
    """The journal of the dead process ends in the middle of a turn, and nothing of it is lost."""
    assert _killed(tmp_path) == signal.SIGKILL
    journal = read_journal(tmp_path / "journal")
    assert journal.damage is None
    assert replay(journal, load_flow("turn")) is None
    assert [call.end for call in Ledger.from_journal(journal)] == ["result"]


@pytest.mark.parametrize("restored", [True, False])
def test_a_completed_call_is_not_carried_out_again(tmp_path: Path, restored: bool) -> None:
    """The session that is given the ledger answers from it; one that is not books a second
    table, so the ledger is what does it."""
    assert _killed(tmp_path) == signal.SIGKILL
    options: dict[str, Any] = {}
    if restored:
        options["ledger"] = Ledger.from_journal(read_journal(tmp_path / "journal"))
    outcome = _again(tmp_path, **options)
    assert outcome.heard_saying(BOOKED) is not None, outcome.timeline()
    bookings = (tmp_path / "bookings").read_text().splitlines()
    assert bookings == ["a table"] * (1 if restored else 2)
