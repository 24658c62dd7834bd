"""What fails on a stock `AgentSession` goes right with `TurnSession`, because the flow says so."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import failures
import pytest

from turnfsm.fsm import shipped_flows
from turnfsm.fsm.journal import replay
from turnfsm.livekit import TurnSession
from turnfsm.runtime.compare import Scenario
from turnfsm.runtime.compare.livekit import HOST
from turnfsm.runtime.testing.livekit import Stage

WATCHDOG = "speech not done in time after interruption"
"""LiveKit's last resort, 5 s after an interruption. The flow ends what it waits for sooner."""


@pytest.mark.parametrize("case", failures.ALL, ids=lambda case: case.id)
def test_goes_right_with_turn_session(case: Scenario) -> None:
    """The scenario has no problem, leaves no task, does not need LiveKit's watchdog, replays; it
    went as docs/failures.md says."""
    stage = case.build(TurnSession)
    outcome = stage.run(case.seconds)
    assert case.verdict(outcome) == [], outcome.timeline()
    assert outcome.orphans == ()
    assert not any(WATCHDOG in message for _, message in outcome.errors)
    _assert_replays(stage)
    failures.assert_on_page(case, outcome, stock=False)


def _assert_replays(stage: Any) -> None:
    """The journal, replayed through the flow, gives every verdict, state and fact again."""
    turn = stage.session.turn
    assert replay(turn.journal.read(), turn.flow) is None
    assert turn.closed


def _edited(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    text = shipped_flows()["turn"].read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, f"the shipped flow has no {old!r} any more"
        text = text.replace(old, new)
    path = tmp_path / "edited.yaml"
    path.write_text(text, encoding="utf-8")
    return path


WITHOUT = {
    "S1": [
        (
            "      tools_released: {dest: listening}\n",
            "      tools_released: {dest: listening}\n"
            "      preemptive_generation: {actions: start_preemptive_generation}\n",
        ),
    ],
    "S3": [
        (
            "        - {conditions: [step_running, interruptible, holdable], actions: hold_output, "
            "restarts: [transcript_wait, false_interruption, noise_limit]}",
            "        - {dest: paused, conditions: interruptible, actions: pause_output}",
        ),
        ("unless: output_held, actions: hold_output}", "unless: output_held}"),
    ],
    "S5-interrupt": [("speech_interrupted: {actions: release_tools}", "speech_interrupted: {}")],
    "S6b": [
        (
            "    agent_state: speaking\n    on:\n",
            "    agent_state: speaking\n    on:\n"
            "      reply: {dest: thinking, unless: result_uncommitted, actions: request_reply}\n",
        )
    ],
}


WITHOUT["S1d"] = WITHOUT["S6b"]  # the tool's reply is generated while another one is heard


@pytest.mark.parametrize("name", WITHOUT)
def test_without_the_guard_the_failure_is_back(name: str, tmp_path: Path) -> None:
    """Taking the guard out of the YAML brings the failure back: the flow decides, not the code."""
    flow = _edited(tmp_path, *WITHOUT[name])
    case = HOST.scenario(name)
    stage: Stage = case.build(partial(TurnSession, flow=flow, proof="off"))  # type: ignore[arg-type]
    assert case.verdict(stage.run(case.seconds)) != []
