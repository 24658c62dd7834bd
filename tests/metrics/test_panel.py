"""The panel of tau-voice: equal to the reference."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from turnfsm.metrics import Panel, Tick, panel

RECORDED = json.loads((Path(__file__).parent / "tau_voice.json").read_text(encoding="utf-8"))

NAMES = {
    "response_latency_mean": "response_latency",
    "yield_latency_mean": "yield_latency",
    "response_rate": "response_rate",
    "yield_rate": "yield_rate",
    "agent_interruption_rate": "agent_interruption_rate",
    "selectivity_backchannel": "backchannels_ignored",
    "selectivity_vocal_tic": "vocal_tics_ignored",
    "selectivity_non_directed": "non_directed_ignored",
}
COUNTS = {
    "response_total": "responses",
    "yield_total": "yields",
    "backchannel_total": "backchannels",
    "vocal_tic_total": "vocal_tics",
    "non_directed_total": "non_directed",
    "agent_interrupts_count": "agent_interrupts",
}


def in_their_words(ours: Panel) -> dict[str, Any]:
    """The panel under the names of tau2-bench."""
    counts = attrs.asdict(ours.counts)
    return {
        **{theirs: getattr(ours, name) for theirs, name in NAMES.items()},
        "counts": {theirs: counts[name] for theirs, name in COUNTS.items()},
    }


def assert_equal(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """The same counts, and the same figures but for rounding."""
    assert ours.pop("counts") == theirs.pop("counts")
    assert ours == pytest.approx(theirs, rel=1e-12)


def ticks(conversation: dict[str, Any]) -> list[Tick]:
    """A recorded conversation."""
    spoken = "".join(
        symbol * int(count) for count, symbol in re.findall(r"(\d+)(.)", conversation["speech"])
    )
    return [
        Tick(
            symbol in "ub",
            symbol in "ab",
            n in conversation["backchannels"],
            tuple(
                (kind, f"from {start}")
                for start, end, kind in conversation["sounds"]
                if start <= n < end
            ),
        )
        for n, symbol in enumerate(spoken)
    ]


def test_recorded_simulations_have_the_figures_of_tau2_bench() -> None:
    """35 turns and 23 interruptions."""
    ours = panel([ticks(conversation) for conversation in RECORDED["conversations"]])
    theirs = dict(RECORDED["figures"])
    theirs["counts"] = {name: theirs["counts"][name] for name in COUNTS}
    assert_equal(in_their_words(ours), theirs)


def test_what_has_not_happened_has_no_figure() -> None:
    """No rate of nothing."""
    ours = panel([[Tick()] * 10])
    assert set(attrs.astuple(ours)[:-1]) == {None}


def drawn(seed: int) -> list[list[Tick]]:
    """Random conversations with every kind of event."""
    draw = random.Random(seed)
    conversations = []
    for _ in range(draw.randint(1, 3)):
        spoken: list[Tick] = []
        for part in range(draw.randint(20, 120)):
            user, agent = draw.random() < 0.4, draw.random() < 0.4
            kinds = ("vocal_tic", "non_directed")
            sounds = ((draw.choice(kinds), f"{part}"),) if draw.random() < 0.1 else ()
            back = draw.random() < 0.1
            spoken += [Tick(user, agent, back, sounds)] * draw.randint(1, 14)
        conversations.append(spoken)
    return conversations


def test_random_conversations_have_the_figures_of_tau2_bench() -> None:
    """The package itself, where it is installed (Python 3.12)."""
    theirs = pytest.importorskip("tau2.metrics.voice_interaction_metrics")
    from tau2.data_model.audio_effects import SpeechEffectsResult, UserSpeechInsert
    from tau2.data_model.message import AssistantMessage, TurnTakingAction, UserMessage
    from tau2.data_model.message import Tick as TheirTick

    def tick(n: int, ours: Tick) -> Any:
        names = {"non_directed": "non_directed_phrase"}
        effects = [
            SpeechEffectsResult(
                speech_insert=UserSpeechInsert(text=text, type=names.get(kind, kind))
            )
            for kind, text in ours.sounds
        ]
        action = TurnTakingAction(action="backchannel" if ours.backchannel else "keep_talking")
        user = UserMessage(
            role="user",
            content=None,
            contains_speech=ours.user,
            turn_taking_action=action,
            speech_effects=effects[0] if effects else None,
        )
        agent = AssistantMessage(role="assistant", content=None, contains_speech=ours.agent)
        return TheirTick(
            tick_id=n, timestamp="2026-01-01T00:00:00", agent_chunk=agent, user_chunk=user
        )

    for seed in range(150):
        conversations = drawn(seed)
        simulations = [
            SimpleNamespace(id=str(n), task_id=0, ticks=[tick(i, t) for i, t in enumerate(spoken)])
            for n, spoken in enumerate(conversations)
        ]
        results = SimpleNamespace(simulations=simulations)
        try:
            expected = theirs.compute_interaction_metrics_for_experiment(results)
        except KeyError:
            continue  # it has no event at all, which the reference cannot sum up
        expected["counts"] = {name: expected["counts"][name] for name in COUNTS}
        assert_equal(in_their_words(panel(conversations)), expected)
