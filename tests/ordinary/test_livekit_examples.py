"""LiveKit's own examples do the same on both sessions."""

from __future__ import annotations

from typing import get_args

import pytest
from kits import examples_folder
from livekit.agents import AgentSession
from livekit_examples import EXAMPLES, Example
from play_examples import MISSING, Mode, Played, differences, main, play

from turnfsm.livekit import TurnSession


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_of_livekit_does_the_same_on_both_sessions(example: Example, mode: Mode) -> None:
    """The same calls with the same results, handoffs, words and effects."""
    folder = examples_folder()
    if folder is None:
        pytest.skip(MISSING)
    stock, ours = (play(example, folder, cls, mode) for cls in (AgentSession, TurnSession))
    assert differences(stock, ours) == []
    assert [word for word in example.needs if word not in str(ours.effects)] == []


def test_a_call_that_one_session_lacks_is_a_difference() -> None:
    stock = Played({"order": ["a", "a"]}, ("user: two", "call a", "call a"), ("call a", "call a"))
    ours = Played({"order": ["a"]}, ("user: two", "call a"), ("call a",))
    assert differences(stock, ours) == [
        "effects on AgentSession: {'order': ['a', 'a']}",
        "on TurnSession: {'order': ['a']}",
        "history 3: 'call a' on AgentSession, None on ours",
        "in no run on TurnSession: call a",
    ]


def test_a_run_may_hold_more_on_ours() -> None:
    """It ends when no handoff is in progress; that of AgentSession lacks what comes after one."""
    stock = Played([], (), ("call a", "run 'b'"))
    ours = Played([], (), ("call a", "handoff to b", "run 'b'"))
    assert differences(stock, ours) == []


def test_the_command_says_so_where_the_examples_are_not_to_be_had(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And fails nothing."""
    monkeypatch.setenv("TURNFSM_LIVEKIT_TESTS", str(tmp_path))
    assert main() == 0
    assert capsys.readouterr().out == f"{MISSING}\n"
