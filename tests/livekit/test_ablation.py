"""An override of LiveKit stays only while something goes wrong without it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import needed
import pytest
from governed import GOVERNED
from needed_leaving import a_call_in_a_reply_that_a_handoff_skips_has_an_output
from needed_realtime import EVENTS

from turnfsm.runtime.compare.livekit import HOST
from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.livekit.overrides import governed_model
from turnfsm.runtime.livekit_contract import contract

SCENARIOS = {
    "GovernedActivity._current_speech": "S6b",
    "RealtimeActivity._rt_session": "S2r.2",
    "HearingActivity._audio_recognition": "S13",
    "GovernedActivity.on_preemptive_generation": "S1",
    "GovernedActivity._interrupt_by_audio_activity": "S3",
    "GovernedActivity._pause_enabled": "S3",
    "GovernedActivity.on_end_of_turn": "S6",
    "GovernedActivity._create_speech_task": "S6",
    "GovernedActivity._pause_scheduling_task": "S5-task",
    "GovernedRecognition._run_eou_detection": "S13",
    "GovernedRecognition._end_of_turn_task": "S13",
    "GovernedRun._mark_done_if_needed": "S4c",
    "GovernedRun._mark_done": "S4c",
    "GovernedSession._next_activity": "T4",
    "GovernedSession._update_agent_state": "S6b",
    "ClosingSession._aclose_locked": "R4",
    "GovernedSession._update_activity": "S4c",
    "GovernedHandle._cancel": "S12",
    "GovernedHandle.wait_for_playout": "S2r.3",
}
"""Each override, and an acceptance scenario that needs it."""

UNSHOWN = {
    "GovernedExecutor._enqueue_reply": "LiveKit would ask for a second reply to a late result",
    "GovernedSession._tool_items_added": "the ledger closes a call whose result is committed",
    "GovernedSession._on_audio_enabled_changed": "a result waits while a button is held",
    "RealtimeActivity._schedule_speech": "a model's own answer is known before it gets the floor",
    "GovernedHandle.interrupt": "a tool may interrupt its own turn although its policy holds it",
}
"""Overrides whose need is seen in LiveKit's code and in no conversation yet, and why they stay."""


def test_every_override_has_its_reason() -> None:
    """No override is without its entry, and no entry without its override."""
    assert set(_overrides()) == {*SCENARIOS, *needed.NEEDED, *UNSHOWN}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("override", SCENARIOS)
def test_a_scenario_fails_without_it(override: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With LiveKit's own method back in its place, the scenario goes wrong."""
    _remove(override, monkeypatch)
    try:
        problems = HOST.scenario(SCENARIOS[override]).problems(TurnSession)
    except Exception as error:
        problems = [repr(error)]
    assert problems


@pytest.mark.one_in(3)
@pytest.mark.parametrize("override", needed.NEEDED)
def test_a_conversation_needs_it(override: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The conversation goes right with the override and wrong without it."""
    assert needed.NEEDED[override]() == []
    _remove(override, monkeypatch)
    assert needed.NEEDED[override]() != []


@pytest.mark.parametrize("event", EVENTS)
def test_a_conversation_needs_an_event_of_the_model(
    event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Likewise if the activity does not get it."""
    assert EVENTS[event]() == []
    left = tuple(name for name in governed_model.EVENTS if name != event)
    monkeypatch.setattr(governed_model, "EVENTS", left)
    assert EVENTS[event]() != []


def test_a_call_in_a_reply_that_a_handoff_skips_has_an_output() -> None:
    """The activity leaves the reply to the next agent."""
    assert a_call_in_a_reply_that_a_handoff_skips_has_an_output() == []


def _remove(override: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _, name = override.partition(".")
    monkeypatch.delattr(next(cls for cls in GOVERNED if cls.__name__ == owner), name)


def _overrides() -> Iterator[str]:
    """What the governed classes define that LiveKit's have too, or set when they are built."""
    for cls in GOVERNED:
        bases = [base for base in cls.__mro__[1:-1] if base not in GOVERNED]
        theirs = {name for base in bases for name in (*vars(base), *_set_by(base))}
        for name, value in vars(cls).items():
            ours = inspect.isroutine(value) or inspect.isdatadescriptor(value)
            if name in theirs and ours and not name.startswith("__"):
                yield f"{cls.__name__}.{name}"


def _set_by(base: type) -> frozenset[str]:
    built = inspect.isfunction(vars(base).get("__init__"))
    return contract._assigned(contract._code(base.__init__)) if built else frozenset()  # type: ignore[misc]
