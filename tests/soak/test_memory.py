"""Objects that a session keeps for each turn."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import AgentSession
from memory import objects_per_turn

from turnfsm.livekit import TurnSession


class ShortJournal(TurnSession):
    """Its journal in memory is full after a turn."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.turn.journal.maxlen = 16


class Keeps(ShortJournal):
    """It keeps something for each turn."""

    kept: list[Any]

    def emit(self, event: Any, arg: Any) -> None:
        self.kept = getattr(self, "kept", [])
        if event == "user_input_transcribed":
            self.kept.append([[] for _ in range(20)])
        super().emit(event, arg)


@pytest.mark.exhaustive
def test_a_turn_leaves_no_more_behind() -> None:
    """Objects that are kept for each turn; a speech has one more (`SPEECH` in soak.py)."""
    sessions = AgentSession, ShortJournal, Keeps
    stock, ours, keeps = (objects_per_turn(session, 24, 12) for session in sessions)
    assert ours <= stock + 3, f"{ours:.1f} objects a turn, on AgentSession {stock:.1f}"
    assert keeps > stock + 10
