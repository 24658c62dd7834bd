"""The same flow and the same conversation: the same decisions in the same order on both hosts."""

from pathlib import Path

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from both_hosts import Decided, on_livekit, on_pipecat
from talks_of_both import TALKS

from turnfsm import JsonlSink, load_flow, read_journal, replay

APART = {
    "preemptive_generation": "the adapter to Pipecat makes no speculative request",
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


def _compared(decided: Decided) -> Decided:
    return [one for one in decided if one[1] not in APART]


def _states(decided: Decided) -> Decided:
    return [one for one in decided if one[0] != one[2]]


@pytest.mark.parametrize("name", TALKS)
def test_both_hosts_decide_the_same(name: str) -> None:
    livekit, pipecat = on_livekit(TALKS[name]), on_pipecat(TALKS[name])
    assert _states(pipecat) == _states(livekit)
    assert (_compared(pipecat) == _compared(livekit)) is (name not in LATER_ON_PIPECAT)


def test_what_is_not_compared_changes_no_state_and_is_posted() -> None:
    """A trigger that the hosts post at the same moments is compared."""
    talks = ("an answer", "words over a tool", "a tool with a preamble")
    decided = [one for name in talks for one in on_livekit(TALKS[name])]
    assert {trigger for _, trigger, _ in decided} >= APART.keys() - {"report_after"}
    assert not {trigger for _, trigger, _ in _states(decided)} & APART.keys()


def test_the_journal_of_pipecat_replays(tmp_path: Path) -> None:
    """`turnfsm why` and the others read it as any other."""
    path = tmp_path / "call.jsonl"
    decided = on_pipecat(TALKS["words over a tool"], JsonlSink(path))
    journal = read_journal(path)
    assert len(journal.entries) > len(decided) > 20
    assert replay(journal, load_flow("turn")) is None
