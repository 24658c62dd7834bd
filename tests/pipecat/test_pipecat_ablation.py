"""The flow decides: without a row of its YAML the failure of Pipecat is back. And it is right in
every order of tasks."""

from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from flow_text import parsed

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from turnfsm import Flow, shipped_flows
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.compare import Scenario, Side
from turnfsm.runtime.compare.pipecat import HOST
from turnfsm.testing import PermutedLoop

Edits = Sequence[tuple[str, str]]

NO_PAUSE: Edits = [
    ("        - {dest: paused, conditions: [interruptible, pausable], actions: pause_output}\n", "")
]
NO_HOLD: Edits = [
    (
        "      user_started_speaking: {conditions: [step_running, interruptible, holdable], "
        "unless: output_held, actions: hold_output}\n",
        "",
    ),
    (
        "        - {conditions: [step_running, interruptible, holdable], actions: hold_output, "
        "restarts: [transcript_wait, false_interruption, noise_limit]}\n",
        "",
    ),
]
NO_HOLD_AT_FIRST: Edits = [
    NO_HOLD[0],
    (
        "        - {conditions: [user_speaking, interruptible, holdable], unless: user_silent, "
        "actions: hold_output}\n",
        "",
    ),
]
NO_NEXT_REPLY: Edits = [
    (
        "      next_reply: {conditions: agenda_open, unless: [user_speaking, endpointing, "
        "answer_pending, turn_open, turn_deferred], actions: request_next_reply}\n",
        "",
    ),
    (
        "        - {conditions: agenda_open, unless: [user_speaking, turn_open, turn_deferred, "
        "manual_turns], actions: request_next_reply}\n",
        "",
    ),
]
DROPPED_RESULTS: Edits = [("pending_result: open", "pending_result: dropped")]
NO_DEFERRED_TURN: Edits = [
    (
        "      deferred_turn: {unless: [user_speaking, user_may_continue, "
        "deferred_turn_blocked, tools_held], actions: take_deferred_turn}\n"
        "      speech_interrupted",
        "      speech_interrupted",
    ),
    (
        "        - {conditions: turn_deferred, unless: [user_speaking, deferred_turn_blocked, "
        "manual_turns], actions: take_deferred_turn}\n",
        "",
    ),
]
NO_OBJECTION: Edits = [
    (
        "      proceed: {unless: [user_speaking, endpointing, answer_pending, turn_open, "
        "transcript_pending], actions: let_tool_proceed}",
        "      proceed: {actions: let_tool_proceed}",
    ),
    (
        "      message_answered: {unless: [acknowledged, empty_transcript], "
        "actions: note_objection}\n",
        "",
    ),
]
NO_TURN_OVER_A_TOOL: Edits = [
    (
        "      turn_committed: {dest: listening, unless: [tools_held, empty_transcript], actions: "
        "[unblock_tools, release_tools, answer_turn]}\n      turn_deferred:",
        "      turn_deferred:",
    )
]
NO_TOOL_LIMIT: Edits = [
    (
        "      tool_limit: {dest: listening, actions: [report_limit, give_up_tools, "
        "release_tools]}\n",
        "      tool_limit: {actions: report_limit}\n",
    )
]

WITHOUT: Mapping[str, Edits] = {
    **dict.fromkeys(("N1", "N2", "N6", "N7", "N9", "N10", "N11", "N12"), NO_PAUSE),
    **dict.fromkeys(("N3", "N8", "E2"), NO_HOLD),
    **dict.fromkeys(("T2", "T3", "T4", "T5", "T7"), NO_NEXT_REPLY),
    "C3": DROPPED_RESULTS,
    **dict.fromkeys(("T1", "T6", "T11"), NO_TURN_OVER_A_TOOL),
    "T8": NO_OBJECTION,
    "D1": NO_DEFERRED_TURN,
    "D2": NO_HOLD_AT_FIRST,
    "E1": NO_TOOL_LIMIT,
}
"""What is taken out of the flow, or let in, by the failure that comes back."""

NOT_BY_A_ROW = {
    "C1": "a reply of the application waits for the floor, which the conductor gives",
    "C2": "the model is asked with results by the reply that has made the calls",
    "C4": "as C1",
    "D3": "as C1",
    "D4": "a response that lacks a result is discarded by the adapter, too",
    "N4": "an interrupted reply cancels its calls, and while a tool runs no reply has the floor",
    "N5": "as N4",
    "N13": "as N4",
    "T10": "its flow declares `corrects`, and the call is compared with earlier ones",
    "T12": "as N4; the service answers by itself, and the result is on the agenda",
    "T9": "the decorator `once`, and the ledger",
}
"""Failures that cannot come back by the YAML alone, and why."""


def _edited(edits: Edits) -> Flow:
    text = shipped_flows()["turn"].read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, f"the shipped flow has no {old!r} any more"
        text = text.replace(old, new)
    return parsed(text)


def test_every_failure_is_taken_apart_or_has_its_reason() -> None:
    assert sorted([*WITHOUT, *NOT_BY_A_ROW]) == sorted(s.id for s in HOST.scenarios)


@pytest.mark.parametrize("id", WITHOUT)
def test_without_the_row_the_failure_is_back(id: str) -> None:
    governor = partial(TurnGovernor, flow=_edited(WITHOUT[id]), proof="off")
    assert HOST.scenario(id).problems(governor) != []


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", [1, 5, 23])
@pytest.mark.parametrize("scenario", HOST.all, ids=lambda s: s.id)
def test_another_order_of_tasks_changes_no_verdict(scenario: Scenario, seed: int) -> None:
    """What is ready at the same time runs in another order; the governor is right all the same."""
    loop = partial(PermutedLoop, seed=seed)
    side = Side.of(scenario, scenario.play(HOST.ours.session, make_loop=loop))
    assert side.right, side.problems


@pytest.mark.parametrize("scenario", HOST.scenarios, ids=lambda s: s.id)
def test_what_fails_on_pipecat_alone_is_no_accident_of_an_order(scenario: Scenario) -> None:
    loop = partial(PermutedLoop, seed=2)
    assert scenario.verdict(scenario.play(None, make_loop=loop))
