"""Rules on speech over the agent, for a flow in which the transcript decides."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.flow import Flow

from .maker import Maker
from .parts import Move, Rule

__all__ = ["transcripts_decide"]

_WORDS = ("interim_transcript", "final_transcript")


def transcripts_decide(make: Maker) -> Iterator[Rule]:
    """A barge-in stops or holds the audio, unless the state leaves that to the transcript. There a
    transcript that is not a backchannel stops it, and a stop word always does."""
    left_to_transcripts = _left_to_transcripts(make.flow)

    def does_nothing(move: Move) -> bool:
        stops = {"pause_output", "hold_output", "interrupt_speech"}
        taken = move.trigger == "barge_in" and move.taken is not None
        return taken and move.source not in left_to_transcripts and not stops & {*move.actions}

    yield make.move(
        "barge_in is granted without pause_output or hold_output or interrupt_speech",
        does_nothing,
        unless=["~paused", "~output_held"],
    )
    for state in sorted(left_to_transcripts):
        yield from _stopped_by_transcript(make, state)


def _stopped_by_transcript(make: Maker, state: str) -> Iterator[Rule]:
    def goes_on(move: Move) -> bool:
        transcribed = (move.source, move.trigger) == (state, "final_transcript")
        return transcribed and "interrupt_speech" not in move.actions

    def goes_on_at_all(move: Move) -> bool:
        transcribed = move.source == state and move.trigger in _WORDS
        return transcribed and "interrupt_speech" not in move.actions

    allowed = make.host_facts("interruptible")
    before = [name for name in ("barged_in",) if name in make.flow.facts]
    yield make.move(
        f"final_transcript: words that are no backchannel, and the speech goes on in {state}",
        goes_on,
        allowed,
        make.host_facts("backchannel"),
        before,
    )
    for fact in make.host_facts("stop_word"):
        yield make.move(
            f"a stop word is talked through in {state}",
            goes_on_at_all,
            [*allowed, fact],
            before=before,
        )


def _left_to_transcripts(flow: Flow) -> frozenset[str]:
    """The states with playing or paused audio in which the transcript decides whether it stops."""
    if "backchannel" not in flow.host_facts:
        return frozenset()
    return frozenset(
        row.source
        for row in flow.rows()
        if row.source in ("speaking", "paused")
        and row.trigger == "final_transcript"
        and "interrupt_speech" in row.transition.actions
    )
