"""Pairs of conversations in which two things happen in the same moment."""

from __future__ import annotations

import pytest

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit.differential import Answer, Job, Plan, Sound, play_pair, worse
from turnfsm.runtime.testing.livekit.differential.measured_sound import begun_over
from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.speaker import Heard


@pytest.mark.parametrize(
    ("begins", "over"),
    [(2.0, 1.0), (2.4, 0.6), (1.9, 0.0), (3.0, 0.0)],
    ids=["in the moment", "after it", "before", "when it has ended"],
)
def test_audio_begins_over_a_voice_also_in_the_moment_when_the_vad_has_noticed_it(
    begins: float, over: float
) -> None:
    """The VAD takes the user for speaking from 2 to 3 s."""
    states = [(0.0, "listening"), (2.0, "speaking"), (3.0, "listening")]
    outcome = Outcome(user_states=states, heard=[Heard(begins, 4.0, "r1a r1b")])
    assert begun_over(outcome) == pytest.approx(over)


def test_words_are_answered_although_a_call_begins_in_the_moment_of_their_request() -> None:
    """They interrupt a reply in the moment when the model makes a call. The request shows this
    call, and the words behind it: otherwise the model answers the call."""
    plan = Plan(
        "the last words interrupt at 8.8 s",
        sounds=(
            Sound(1.5, 3, 0.9),
            Sound(3.9, 4, 1.2),
            Sound(5.5, 4, 1.2, 0.05),
            Sound(7.6, 2, 0.6, 0.6),
        ),
        answers={1: Answer(8, (4,)), 2: Answer(0), 3: Answer(0, (1,), 1.5), 4: Answer(8, (3, 4))},
        jobs={1: Job(1, 6.0), 3: Job(3, 1.5), 4: Job(4, 0.5)},
        settings={"turn_detection": "vad", "preemptive_generation": {"enabled": False}},
    )
    pair = play_pair(plan, TurnSession)
    assert any(run.number == 3 for run in pair.ours.runs)
    assert worse(pair) == []
