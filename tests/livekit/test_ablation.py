"""An override of LiveKit stays only while something goes wrong without it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import test_closing
import test_committed_words
import test_confirm
import test_corrections
import test_expect
import test_failed_replies
import test_flows
import test_handoff_words
import test_handoffs
import test_heard
import test_interim_words
import test_kept_words
import test_needed
import test_not_heard
import test_realtime
import test_repeated_calls
import test_slow_model
import test_stt_only
import test_tools
import test_turns
import test_waits
from governed import GOVERNED

from turnfsm.livekit import TurnSession
from turnfsm.runtime.compare.livekit import HOST
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

TESTS: dict[str, Callable[[], object]] = {
    "HandoffActivity._schedule_speech": partial(
        test_handoffs.test_a_kept_turn_is_asked_with_the_call_that_ended_meanwhile, by_tool=False
    ),
    "HandoffActivity._start_session": partial(
        test_handoffs.test_a_kept_turn_is_asked_with_the_call_that_ended_meanwhile, by_tool=False
    ),
    "ClosingSession._teardown_activity": partial(
        test_waits.test_a_toolset_that_does_not_close_holds_up_no_close, of="session"
    ),
    "GovernedActivity._inline_task_slot": (
        test_closing.test_a_close_ends_if_the_tool_is_cancelled_whose_task_is_about_to_hand_back
    ),
    "GovernedActivity._new_turns_blocked": (
        test_closing.test_words_whose_turn_ends_as_the_session_closes_are_not_answered
    ),
    "GovernedActivity._schedule_speech": test_turns.test_a_turn_is_asked_until_its_reply_is_heard,
    "GovernedActivity._scheduling_paused": partial(
        test_turns.test_a_turn_whose_agent_goes_while_its_hook_runs_is_answered_by_the_next,
        stops=False,
    ),
    "GovernedActivity.preemptive_generation_opts": (
        test_needed.test_a_state_whose_tuning_forbids_speculation_asks_the_model_when_the_turn_is_committed
    ),
    "GovernedExecutor._pending_updates": (
        test_needed.test_a_late_result_that_an_answer_has_told_is_not_told_again
    ),
    "GovernedExecutor.cancel": (
        test_corrections.test_a_call_that_livekit_replaces_is_not_told_as_cancelled
    ),
    "GovernedExecutor.drain": partial(
        test_tools.test_with_a_limit_neither_close_nor_handoff_waits_long_for_a_detached_tool,
        by="handoff",
    ),
    "GovernedExecutor.execute": (
        test_repeated_calls.test_a_second_call_whose_turn_is_interrupted_is_told_that_the_first_one_runs
    ),
    "GovernedHandle._authorize_generation": (
        test_slow_model.test_a_filler_that_is_due_when_the_reply_gets_the_floor_goes_first
    ),
    "GovernedHandle._item_added": (
        test_needed.test_a_model_that_is_asked_for_something_else_is_shown_a_result_that_has_come
    ),
    "GovernedHandle._mark_done": (
        test_failed_replies.test_a_result_whose_reply_fails_once_is_delivered_by_another_reply
    ),
    "GovernedHandle._wait_for_authorization": (
        test_slow_model.test_a_slow_model_is_bridged_after_a_second_and_a_half
    ),
    "GovernedHandle.allow_interruptions": (
        test_needed.test_speech_goes_on_when_a_call_disallows_interruptions_while_it_is_paused
    ),
    "GovernedRecognition._commit_user_turn": (
        test_committed_words.test_a_commit_waits_for_its_words_also_if_those_of_an_earlier_voice_have_just_come
    ),
    "GovernedRecognition._endpointing": (
        test_expect.test_a_parameter_of_a_tool_says_what_is_asked_for
    ),
    "GovernedRecognition._process_stt_event": partial(
        test_interim_words.test_words_that_a_commit_has_taken_do_not_come_again,
        detection="manual",
        final="send it today",
        rest=[],
    ),
    "GovernedRecognition._push_audio": partial(
        test_not_heard.test_audio_that_the_stt_does_not_get_is_not_asked_for_again,
        interruptible=False,
        warm_up=None,
    ),
    "GovernedRecognition._vad_task": test_needed.test_a_vad_that_fails_is_in_the_journal,
    "GovernedSession.interrupt": test_confirm.test_a_yes_that_is_typed_in_a_room_counts,
    "GovernedSession.clear_user_turn": partial(
        test_heard.test_what_is_cleared_is_not_committed, session_class=TurnSession, noise=None
    ),
    "GovernedSession.commit_user_turn": (
        test_handoff_words.test_a_turn_that_is_committed_during_a_handoff_is_answered_by_the_next_agent
    ),
    "HearingActivity.on_end_of_speech": partial(
        test_needed.test_without_a_vad_the_stt_says_when_the_user_starts_and_stops,
        at=(1.2, 3.0),
        speaking=(True, False),
    ),
    "HearingActivity.on_final_transcript": (
        test_needed.test_words_end_a_paused_speech_before_their_turn_ends
    ),
    "HearingActivity.on_interim_transcript": (
        test_stt_only.test_a_reply_goes_on_when_a_transcript_is_followed_by_nothing
    ),
    "HearingActivity.on_start_of_speech": partial(
        test_needed.test_without_a_vad_the_stt_says_when_the_user_starts_and_stops,
        at=(0.9, 1.2),
        speaking=(False, True),
    ),
    "HearingActivity.on_vad_inference_done": partial(
        test_heard.test_speech_begins_in_a_silence_of_the_user, session_class=TurnSession
    ),
    "HearingActivity.push_audio": partial(
        test_kept_words.test_words_into_a_call_that_holds_its_turn_are_kept,
        at=2.0,
        policy="hold",
        model_detects_turns=False,
    ),
    "LeavingActivity._create_speech_task": partial(
        test_waits.test_an_on_enter_that_never_returns_delays_one_run_at_most, first=0.0
    ),
    "LeavingActivity.aclose": partial(
        test_waits.test_a_toolset_that_does_not_close_holds_up_no_close, of="agent"
    ),
    "LeavingActivity.drain": partial(
        test_waits.test_a_tool_that_hangs_holds_up_no_end, how="drain", user=None
    ),
    "HandoffActivity._close_session": partial(
        test_handoff_words.test_a_sentence_that_has_just_ended_at_a_handoff_is_answered,
        kind="client",
        at=2.2,
    ),
    "HandoffActivity._detach_reusable_resources": partial(
        test_interim_words.test_the_next_agent_does_not_get_words_that_the_agent_before_has_committed,
        detection="manual",
    ),
    "HandoffActivity.push_audio": partial(
        test_handoff_words.test_what_is_said_while_no_agent_hears_is_answered_by_the_next_one,
        kind="pipeline",
        at=3.3,
    ),
    "RequestingActivity._pipeline_reply_task_impl": partial(
        test_needed.test_the_journal_says_when_the_audio_of_a_speech_has_come, of="pipeline"
    ),
    "RequestingActivity._realtime_generation_task_impl": partial(
        test_needed.test_the_journal_says_when_the_audio_of_a_speech_has_come, of="realtime"
    ),
    "RequestingActivity._tts_task_impl": partial(
        test_needed.test_the_journal_says_when_the_audio_of_a_speech_has_come, of="say"
    ),
    "RealtimeActivity._realtime_reply_task": (
        test_needed.test_a_response_that_is_cut_as_it_begins_is_forgotten
    ),
    "RealtimeActivity.interrupt": partial(
        test_kept_words.test_words_into_a_call_that_holds_its_turn_are_kept,
        at=2.0,
        policy="hold",
        model_detects_turns=True,
    ),
    "RealtimeActivity.wait_for_idle": partial(
        test_needed.test_a_late_result_waits_for_a_model_that_detects_turns, seconds=2.9
    ),
    "RequestingActivity._create_speech_task": (
        test_needed.test_what_the_agents_hook_takes_out_of_a_request_stays_out
    ),
    "RequestingActivity._generate_reply": partial(
        test_turns.test_words_that_the_agent_has_cut_into_are_answered_once, goes_on=4.5
    ),
}
"""Each other override, and a test that fails without it."""

EVENTS: dict[str, Callable[[], object]] = {
    "input_speech_started": partial(
        test_flows.test_nothing_is_said_while_the_model_hears_the_user, auto=True
    ),
    "input_speech_stopped": partial(
        test_flows.test_a_result_is_left_to_a_model_that_replies_to_it, flow="speech_to_speech"
    ),
    "generation_created": (
        test_realtime.test_a_result_whose_reply_nobody_heard_is_told_after_the_models_own_answer
    ),
}
"""Likewise for each event of a model."""

UNSHOWN = {
    "GovernedExecutor._enqueue_reply": "LiveKit would ask for a second reply to a late result",
    "GovernedSession._tool_items_added": "the ledger closes a call whose result is committed",
    "RealtimeActivity._schedule_speech": "a model's own answer is known before it gets the floor",
    "GovernedHandle.interrupt": "a tool may interrupt its own turn although its policy holds it",
}
"""Overrides whose need is seen in LiveKit's code and in no conversation yet, and why they stay."""


def test_every_override_has_its_reason() -> None:
    """No override is without its entry, and no entry without its override."""
    assert set(_overrides()) == {*SCENARIOS, *TESTS, *UNSHOWN}


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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("override", TESTS)
def test_a_test_fails_without_it(override: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes with the override, or it would have failed where it stands."""
    _remove(override, monkeypatch)
    with pytest.raises(FAILS):
        TESTS[override]()


@pytest.mark.parametrize("event", EVENTS)
def test_a_test_fails_without_an_event_of_the_model(
    event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Likewise if the activity does not get it."""
    left = tuple(name for name in governed_model.EVENTS if name != event)
    monkeypatch.setattr(governed_model, "EVENTS", left)
    with pytest.raises(FAILS):
        EVENTS[event]()


FAILS = (AssertionError, RuntimeError)
"""What a test says, or LiveKit."""


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
