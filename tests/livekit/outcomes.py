"""Plays a conversation that a flow governs, and says what was heard."""

from typing import Any

from turnfsm.fsm.journal import replay
from turnfsm.runtime.testing.livekit import Outcome, Stage

__all__ = ["heard", "run"]


def run(stage: Stage, until: float) -> Outcome:
    """Play it: nothing fails, no task is left, and the journal gives the same decisions again."""
    outcome = stage.run(until)
    assert outcome.errors == [], outcome.timeline()
    assert outcome.orphans == ()
    session: Any = stage.session
    assert replay(session.turn.journal.read(), session.turn.flow) is None
    return outcome


def heard(outcome: Outcome) -> list[str]:
    """The texts that the user has heard, in order."""
    return [one.text for one in outcome.heard]
