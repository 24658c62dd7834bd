"""The same flow and the same conversation: the same decisions in the same order on both hosts."""

from functools import cache

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from livekit_host import on_livekit
from pipecat_host import on_pipecat

from turnfsm import Taken
from turnfsm.testing.conformance import TALKS, Play, Played, judge

Decided = list[tuple[str, str, str]]
"""What the flow has taken: state, trigger, next state."""

APART = {
    "preemptive_generation": "here, no STT of Pipecat predicts the end of a turn",
    "step_progressed": "Pipecat reports each sentence of the voice, LiveKit the first token",
    "report_after": "as step_progressed, which restarts it",
    "start_playout": "LiveKit asks when the model has said something, Pipecat with the first audio",
    "tool_started": "Pipecat begins a tool before the audio of its preamble comes to the output",
    "tool_ended": "Pipecat tells of a cancelled tool one step of the event loop later",
    "results_committed": "Pipecat writes each result into its context, behind what is being said",
    "reply": "LiveKit may ask for it when its step has the floor already",
    "next_reply": "LiveKit may ask for it twice",
}
"""Triggers that change no state, and that the hosts post at other moments."""

LATER_ON_PIPECAT = {"a noise while the model thinks"}
"""The noise has opened a turn without words. LiveKit gives it up after `min_delay`, Pipecat after
`user_turn_stop_timeout`; so the timer `false_interruption` lets go of the answer first."""


@cache
def _played(play: Play, name: str) -> Played:
    return play(TALKS[name])


def _decided(play: Play, name: str) -> Decided:
    taken = [e for e in _played(play, name).journal.entries if isinstance(e.verdict, Taken)]
    return [(e.verdict.state, e.trigger, e.verdict.dest) for e in taken]


def _compared(decided: Decided) -> Decided:
    return [one for one in decided if one[1] not in APART]


@pytest.mark.parametrize("name", TALKS)
def test_pipecat_conforms_and_both_hosts_decide_the_same(name: str) -> None:
    judgement = judge(TALKS[name], lambda _: _played(on_pipecat, name), can=("voice", "pause"))
    assert judgement, str(judgement)
    livekit, pipecat = _decided(on_livekit, name), _decided(on_pipecat, name)
    assert (_compared(pipecat) == _compared(livekit)) is (name not in LATER_ON_PIPECAT)


def test_what_is_not_compared_changes_no_state_and_is_posted() -> None:
    """A trigger that the hosts post at the same moments is compared."""
    talks = ("an answer", "words over a tool", "a tool with a preamble")
    decided = [one for name in talks for one in _decided(on_livekit, name)]
    assert {trigger for _, trigger, _ in decided} >= APART.keys() - {"report_after"}
    assert not {trigger for state, trigger, dest in decided if state != dest} & APART.keys()
