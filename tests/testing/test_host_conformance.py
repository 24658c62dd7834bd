"""The conformance suite: LiveKit passes it, and a host that is wrong does not."""

from __future__ import annotations

import subprocess
import sys

import attrs
import pytest
from livekit_host import on_livekit

from turnfsm import TurnfsmError
from turnfsm.testing.conformance import TALKS, Played, Talk, judge

ALL = ("voice", "pause")


@pytest.mark.parametrize("name", TALKS)
def test_livekit_conforms(name: str) -> None:
    judgement = judge(TALKS[name], on_livekit, can=ALL)
    assert judgement, str(judgement)


def test_a_talk_that_needs_more_is_skipped_with_the_reason() -> None:
    def never(talk: Talk) -> Played:
        raise AssertionError(talk)

    judgement = judge(TALKS["a noise over the answer"], never, can=())
    assert judgement
    assert judgement.skipped == "the host hears no voice; the host's output cannot pause"


def test_an_unknown_capability_is_refused() -> None:
    with pytest.raises(TurnfsmError, match="no capability 'pauses'; did you mean 'pause'"):
        judge(TALKS["an answer"], on_livekit, can=("pauses",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"heard": "Nothing."}, "wanted there, and then: 'You are welcome"),
        ({"heard": "You are welcome here dear caller."}, "wanted there, and then: 'It arrives"),
        ({"effects": ()}, "tools: ; wanted: look_up"),
        ({"effects": ("look_up", "look_up")}, "tools: look_up, look_up; wanted: look_up"),
    ],
)
def test_what_is_lost_or_done_twice_is_a_problem(change: dict[str, object], problem: str) -> None:
    talk = TALKS["words over a tool"]
    played = on_livekit(talk)
    assert judge(talk, lambda _: played, can=ALL)
    judgement = judge(talk, lambda _: attrs.evolve(played, **change), can=ALL)
    assert problem in str(judgement)


def test_other_states_a_whole_answer_and_an_open_result_are_problems() -> None:
    talk, other = TALKS["words over the answer"], TALKS["an answer"]
    played = on_livekit(other)
    found = str(judge(talk, lambda _: played, can=ALL))
    assert "states: thinking speaking thinking listening; wanted: thinking speaking paused" in found
    assert "heard to its end: 'One two three" in found


def test_a_result_that_nobody_has_delivered_is_a_problem() -> None:
    talk = TALKS["words over a tool"]
    journal = on_livekit(talk).journal
    end = next(note.seq for note in journal.notes if note.kind == "result_ready")
    cut = attrs.evolve(journal, records=[one for one in journal.records if one.seq <= end])
    found = str(judge(talk, lambda _: Played(cut, ""), can=ALL))
    assert "at the end nobody has delivered the result" in found


def test_it_needs_no_framework() -> None:
    """A user's host may be any."""
    script = (
        "import sys, turnfsm.testing.conformance\n"
        "assert not {'livekit', 'pipecat'} & {name.partition('.')[0] for name in sys.modules}"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
