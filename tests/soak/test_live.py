"""A live session under hypothesis: it drives, looks, and drives on.

Other than a conversation that is drawn beforehand, each step may depend on what has come of the
steps before, and what hypothesis finds is as short as can be. `SOAK_EXAMPLES=2000` plays that many
at random; without it a few are played, the same each time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import pytest
from cast import Cast, Odds
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from livekit.agents import APIConnectionError
from oracles import judge
from talk import (
    DRAIN_LIMIT,
    GRID,
    MOVES,
    NEEDED,
    QUIET,
    TIMERS,
    Move,
    Played,
    Sink,
    Talk,
    make,
    stage_of,
)

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.clock import VirtualLoop
from turnfsm.runtime.testing.livekit import LiveStage, Reply, ScriptedUser
from turnfsm.runtime.testing.schedules import PermutedLoop

EXAMPLES = int(os.environ.get("SOAK_EXAMPLES", "0"))
SETTINGS = settings(
    max_examples=EXAMPLES or 10,
    report_multiple_bugs=False,
    stateful_step_count=40 if EXAMPLES else 20,
    derandomize=not EXAMPLES,
    database=None,
    suppress_health_check=list(HealthCheck),
)
FAULTS = ("llm_fails", "tts_fails", "stt_fails", "vad_fails")
SECONDS = st.sampled_from((3.0, 1.5, 0.5, GRID))
SETTING = st.fixed_dictionaries(
    {
        "model": st.sampled_from(("pipeline", "realtime", "server")),
        "can_pause": st.booleans(),
        "preemptive": st.booleans(),
        "min_words": st.just(0),
    }
)


class Conversation(RuleBasedStateMachine):
    """A session that is talked to, interrupted, handed over and failed, step by step."""

    live: LiveStage | None = None

    @initialize(
        seed=st.integers(0, 1000),
        schedule=st.integers(0, 3),
        setting=SETTING,
        outputs=st.frozensets(st.sampled_from(("no_start", "no_end")), max_size=1),
        hooks=st.booleans(),
    )
    def begin(
        self,
        seed: int,
        schedule: int,
        setting: Mapping[str, Any],
        outputs: frozenset[str],
        hooks: bool,
    ) -> None:
        """The session starts."""
        self.faults = Counter((*outputs, *(("hooks", "tool_hangs") if hooks else ())))
        turns = "realtime_llm" if setting["model"] == "server" else "vad"
        self.talk = Talk(
            seed=seed,
            user=ScriptedUser(),
            moves=(),
            seconds=0.0,
            closes_at=None,
            faults=frozenset(self.faults),
            settings={**setting, "turn_detection": turns},
            timers={
                **{name: TIMERS[name][-1] for name in (*NEEDED, "speaking_limit")},
                "drain_limit": DRAIN_LIMIT,
            },
        )
        self.cast = Cast(Random(seed + 1), Odds(calls=0.6, faults=self.talk.faults))
        self.sink, self.moves, self.failing = Sink(), [], []
        self.stage = stage_of(self.talk, self.cast, partial(TurnSession, sinks=[self.sink]))
        self.cast.answers = self._answer
        loop = partial(PermutedLoop, seed=schedule) if schedule else VirtualLoop
        self.live = LiveStage(self.stage, loop).__enter__()

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        """Nothing is done for a while."""
        self.live.advance(seconds)

    @rule(words=st.integers(1, 4), delay=st.sampled_from((0.3, 0.3, 1.0, None)), then=SECONDS)
    def speak(self, words: int, delay: float | None, then: float) -> None:
        """The user begins to speak as soon as the last sound is over."""
        number = len(self.talk.user.utterances)
        text = " ".join(f"u{number}{chr(97 + i)}" for i in range(words))
        self.talk.user.says(text, at=self._free(), stt_delay=delay)
        self.live.advance(then)

    @rule(seconds=st.sampled_from((0.1, 1.0)))
    def make_noise(self, seconds: float) -> None:
        """Something is heard that is no speech."""
        self.talk.user.makes_noise(at=self._free(), duration=seconds)
        self.live.advance(GRID)

    @rule(what=st.sampled_from(MOVES))
    def move(self, what: str) -> None:
        """The application does something."""
        self.moves.append(Move(self.stage.now, what))
        self.live.act(partial(make, what, self.cast))

    @precondition(lambda self: self._may_fail())
    @rule(text=st.booleans())
    def fail_the_model(self, text: bool) -> None:
        """The next answer fails, before its first word or after some."""
        self.faults["llm_fails"] += 1
        failure = APIConnectionError("the model fails", retryable=False)
        self.failing.append(Reply(self.cast.words() if text else "", error=failure))

    @precondition(lambda self: self._may_fail())
    @rule(after=st.sampled_from((0.0, 0.2, 1.0)))
    def fail_the_voice(self, after: float) -> None:
        """The next sentence breaks off."""
        self.faults["tts_fails"] += 1
        self.stage.tts.breaks = after

    @precondition(lambda self: self._may_fail("pipeline"))
    @rule()
    def fail_the_stt(self) -> None:
        """The next words break off."""
        self.faults["stt_fails"] += 1
        text = f"u{len(self.talk.user.utterances)}a"
        self.stage.stt.failures[text] = 0.1
        self.talk.user.says(text, at=self._free())

    @precondition(lambda self: self._may_fail("pipeline", "realtime"))
    @rule()
    def fail_the_voice_detection(self) -> None:
        """It ends with an error."""
        self.faults["vad_fails"] += 1
        self.stage.vad.fails_at = 0.0

    @precondition(lambda self: self.stage.session.turn.state in ("speaking", "paused"))
    @rule()
    def interrupt_what_is_heard(self) -> None:
        """Right where a machine is easiest to confuse."""
        self.move("force")

    @precondition(lambda self: self.cast.running)
    @rule()
    def hand_over_while_a_tool_runs(self) -> None:
        """Another agent takes the conversation over."""
        self.move("hand_over")

    @invariant()
    def state_and_facts_are_declared(self) -> None:
        """The session is in a state of the flow, and what it says of itself agrees."""
        if self.live is None:
            return
        turn = self.stage.session.turn
        assert turn.state in turn.flow.states
        assert not turn.closed
        assert turn.holds("step_running") or turn.state not in ("speaking", "paused")

    def teardown(self) -> None:
        """All is quiet, the session closes, and the oracles look at the whole."""
        if self.live is None:
            return
        try:
            self.live.advance(max(0.0, self._free() - self.stage.now) + QUIET)
            seconds, outcome = self.stage.now, self.live.finish()
            known = [model.chat_ctx for model in getattr(self.stage.llm, "sessions", ())]
            talk = self.talk.finished(tuple(self.moves), seconds, frozenset(self.faults))
            session: Any = self.stage.session
            played = Played(talk, self.cast, outcome, self.sink.records, session, known)
            problems = judge(played)
            assert problems == [], "\n".join([*problems, talk.text()])
        finally:
            self.live.__exit__(None, None, None)

    def _may_fail(self, *models: str) -> bool:
        """LiveKit closes a session whose parts fail again and again."""
        often = sum(self.faults[fault] for fault in FAULTS)
        return often < 2 and (not models or self.talk.settings["model"] in models)

    def _free(self) -> float:
        """When the user can make the next sound."""
        ends = [sound.end for sound in self.talk.user.utterances]
        return round(max([self.stage.now + GRID, *(end + GRID for end in ends)]), 2)

    def _answer(self, request: Any) -> Reply:
        return self.failing.pop() if self.failing else self.cast.answer(request)


@pytest.mark.exhaustive
def test_a_live_session_breaks_no_oracle() -> None:
    """Whatever is done to it, step by step, the oracles have nothing to say."""
    run_state_machine_as_test(Conversation, settings=SETTINGS)
