"""Conversations that hypothesis draws, move by move: what it finds is as short as can be."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import judge
from talk import FAULTS, GRID, MOVES, NEEDED, QUIET, TIMERS, Move, Talk, play

from turnfsm.runtime.testing.livekit import ScriptedUser

QUICK = settings(
    max_examples=8,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    """A conversation of some sounds, moves and faults; the simplest one is silence."""
    user, at = ScriptedUser(), 0.0
    for number in range(draw(st.integers(0, 4))):
        at += draw(st.sampled_from((5.0, 1.5, 0.4)))
        words = f"u{number}a u{number}b"
        delay = draw(st.sampled_from((0.3, 1.0, None)))
        user.says(words, at=round(at, 2), duration=0.6, stt_delay=delay)
        at += 0.6
    frames = st.integers(0, int((at + 3.0) / GRID))
    moves = [
        Move(round(draw(frames) * GRID, 2), what)
        for what in draw(st.lists(st.sampled_from(MOVES), max_size=4))
    ]
    faults = draw(st.frozensets(st.sampled_from(FAULTS), max_size=1))
    switches = {name: draw(st.booleans()) for name in ("can_pause", "preemptive")}
    model = draw(st.sampled_from(("pipeline", "realtime", "server")))
    return Talk(
        seed=draw(st.integers(0, 1000)),
        user=user,
        moves=tuple(sorted(moves, key=lambda move: move.at)),
        seconds=at + QUIET,
        closes_at=None,
        faults=faults,
        settings={
            "turn_detection": "realtime_llm" if model == "server" else "vad",
            "min_words": 0,
            "model": model,
            **switches,
        },
        timers={name: TIMERS[name][-1] for name in NEEDED},
    )


@pytest.mark.exhaustive
@QUICK
@given(talk=talks(), schedule=st.integers(0, 1000))
def test_a_drawn_conversation_breaks_no_oracle(talk: Talk, schedule: int) -> None:
    """The oracles have nothing to say about it, in any order of waking."""
    assert judge(play(talk, schedule)) == [], talk.text()
