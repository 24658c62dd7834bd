"""Each reply that was heard and cut has an explanation of its own."""

from __future__ import annotations

from typing import Any

import pytest

from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    JobRun,
    Measures,
    Pair,
    Plan,
    Sound,
    worse,
)
from turnfsm.runtime.testing.livekit.speaker import Heard

SOUNDS = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6, stt_delay=1.5))
"""The second sound is over at 3.6 s; its words come at 5.1 s, and are committed at 5.6 s."""


def found(*heard: Heard, policy: Any = "hold", ends: float = 5.5, can_pause: bool = False) -> int:
    """How many of the replies that were cut are explained by nothing; one call runs from 2 s on."""
    jobs = {1: Job(1, 1.0, policy=policy)}
    plan = Plan(
        "cut replies", SOUNDS, {1: Answer(4, (1,)), 2: Answer(4)}, jobs, can_pause=can_pause
    )
    done: dict[str, Any] = {"effects": {1: 1}, "wanted": {1: 1}}
    done |= {"runs": (JobRun(1, "do_it", 2.0, 2.0, None, ends, "result"),)}
    blips = tuple(f"{h.text!r} from {h.start:.2f} to {h.end:.2f} s" for h in heard)
    cuts = tuple(h.end for h in heard)
    ours = Measures(**done, asked={1: 2.0, 2: 5.6}, blips=blips, cuts=cuts, audio=heard)
    judged = worse(Pair(plan, Measures(**done), ours))
    return len([one for one in judged if one.kind == "blip"])


AT_THE_COMMIT = Heard(5.2, 5.6, "r1b")


def test_two_cuts_may_have_two_reasons() -> None:
    """One as a call ends that kept its turn, one as the words are committed."""
    assert found(Heard(4.8, 5.5, "r1a"), Heard(5.2, 5.6, "r1b")) == 0


def test_a_cut_without_a_reason_is_found_beside_one_that_has_one() -> None:
    """Nothing happens at 4.5 s."""
    assert found(AT_THE_COMMIT, Heard(4.1, 4.5, "r1b")) == 1


@pytest.mark.parametrize("can_pause", [False, True])
def test_an_output_that_cannot_be_held_is_no_reason_for_a_cut(can_pause: bool) -> None:
    """Words come at 5.1 s, and are committed at 5.6 s."""
    heard = Heard(4.8, 5.1, "r1a"), AT_THE_COMMIT
    assert found(*heard, policy="detach", can_pause=can_pause) == 2


@pytest.mark.parametrize(
    ("heard", "policy", "ends", "left"),
    [
        (AT_THE_COMMIT, "hold", 5.5, 0),
        (AT_THE_COMMIT, "finish", 5.5, 0),
        (AT_THE_COMMIT, "detach", 5.5, 1),
        (AT_THE_COMMIT, "hold", 4.0, 1),
        (Heard(3.2, 5.6, "r1a"), "hold", 5.5, 1),
        (Heard(5.2, 5.8, "r1a"), "hold", 5.5, 1),
    ],
    ids=["hold", "finish", "not held", "over before", "begun into the words", "cut later"],
)
def test_a_reply_that_cannot_be_held_is_cut_as_the_words_are_committed(
    heard: Heard, policy: Any, ends: float, left: int
) -> None:
    """The output can pause. A call keeps its turn as the reply begins."""
    assert found(heard, policy=policy, ends=ends, can_pause=True) == left
