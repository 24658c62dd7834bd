"""The scenes of the simulator are what a session would post, and the flow decides how they end."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flow_text import parsed

from turnfsm import Flow, load_flow, shipped_flows
from turnfsm.livekit import TurnSession
from turnfsm.runtime.view.simulator import scenes_for, simulate
from turnfsm.testing import ScriptedLLM, ScriptedUser, Stage

OKAY, BUT, STOP, COUGH, TOOL = range(5)

STORY = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


def played(flow: Flow, number: int) -> list[dict[str, Any]]:
    """The records of a scene."""
    done = simulate(flow, scenes_for(flow)[number]["presses"])
    assert done["trouble"] is None
    records: list[dict[str, Any]] = done["records"]
    return records


def moves(records: list[dict[str, Any]]) -> list[str]:
    """The states, one after the other."""
    return ["listening", *(row["d"] for row in records if row.get("d", row["s"]) != row["s"])]


@pytest.fixture
def patient(tmp_path: Path) -> Flow:
    """A flow in which one word does not interrupt."""
    file = tmp_path / "mine.yaml"
    file.write_text("flow: mine\nextends: turn\nstates:\n  speaking: {tuning: {min_words: 2}}\n")
    return load_flow(file)


@pytest.mark.parametrize(
    ("flow", "number"),
    [("turn", OKAY), ("overlap", OKAY), ("mine", OKAY), ("overlap", BUT), ("turn", STOP)],
)
def test_a_scene_goes_as_in_a_session(flow: str, number: int, patient: Flow) -> None:
    """Through the same states, until the floor is free or the agent goes on."""
    chosen = patient if flow == "mine" else load_flow(flow)
    words = ("okay", "okay but", "stop please")[number]
    user = ScriptedUser().says("tell me all", at=1.0).says(words, at=4.0)
    model = ScriptedLLM({"tell": STORY, words: "Fine."})
    stage = Stage(partial(TurnSession, flow=chosen), user=user, llm=model)
    stage.run(14.0)
    entries = stage.session.turn.journal.read().entries
    real = ["listening"] + [e.verdict.dest for e in entries if e.verdict.dest != e.verdict.state]
    scene = moves(played(chosen, number))
    assert scene == real[: len(scene)]
    assert len(scene) >= 3


def test_okay_stops_the_agent_or_does_not_as_the_flow_says(patient: Flow) -> None:
    """The shipped turn stops, `overlap` goes on, and with `min_words: 2` nothing happens at all."""
    ends = [
        moves(played(flow, OKAY)) for flow in (load_flow("turn"), load_flow("overlap"), patient)
    ]
    assert [end[2:] for end in ends] == [
        ["speaking", "paused", "interrupted", "listening"],
        ["speaking", "paused", "speaking"],
        ["speaking"],
    ]


def test_what_the_words_are_taken_for_is_revised_with_the_next_one() -> None:
    """A flow that reads no interim transcripts judges them once."""
    for name, judged in (("turn", 1), ("overlap", 3)):
        rows = played(load_flow(name), BUT)
        heard = [
            row for row in rows if row["k"].endswith("_transcript") and row["s"] != "listening"
        ]
        assert len(heard) == judged
    assert [row.get("a") for row in heard[:2]] == [None, ["interrupt_speech"]]


def test_a_cough_is_resumed_after_and_a_tool_gives_way() -> None:
    """The flow `turn`."""
    assert moves(played(load_flow("turn"), COUGH))[-2:] == ["paused", "speaking"]
    assert moves(played(load_flow("turn"), TOOL))[-2:] == ["tool_running", "listening"]


@pytest.mark.parametrize("name", shipped_flows())
def test_a_scene_has_only_triggers_of_its_flow(name: str) -> None:
    """A flow that is not about turns has no scene."""
    flow = load_flow(name)
    scenes = scenes_for(flow)
    assert bool(scenes) == ("playout_started" in flow.triggers)
    for number in range(len(scenes)):
        assert played(flow, number)


def test_a_section_brings_its_scene() -> None:
    """It ends with what the section says."""
    sections = "fillers: {say: Moment.}\nhold: {say: Take your time., then: Are you back?}\n"
    sections += "backchannels: {say: Mhm.}\n"
    flow = parsed(f"flow: mine\nextends: turn\n{sections}")
    assert len(scenes_for(flow)) == len(scenes_for(load_flow("turn"))) + 3
    slow, talks, held = (played(flow, TOOL + number) for number in (1, 2, 3))
    assert talks[-1]["a"] == ["say_backchannel"]
    assert slow[-1]["a"] == ["say_filler_1"]
    said = [action for row in held for action in row.get("a", [])]
    assert said == ["prepare_backchannel", "leave_turn", "say_hold", "say_hold_limit"]


CLERK = """
flow: mine
extends: turn
tools:
  by_name: {search: cancel}
  tuning: {pay: {min_words: 2}}
overlays: {clerk: {interruptible: false, policies: {pay: hold}}}
questions: {pin: {asked: your PIN, kind: digits, length: 4, tuning: {min_words: 1}}}
"""


def test_the_settings_in_force_are_shown_with_what_they_belong_to() -> None:
    """Those of a question override those of a tool, which override those of an agent."""
    owners = {"agent": "clerk", "tools": ["pay"], "question": "pin"}
    presses: list[dict[str, Any]] = [{"owners": owners}, {"owners": {**owners, "question": None}}]
    done = simulate(parsed(CLERK), presses)
    first, second = ({name: rest for name, *rest in row["g"]} for row in done["records"])
    assert first["min_words"] == ["1", "question pin", "question pin.min_words"]
    assert first["expect"][1:] == ["question pin", "=question pin"]
    assert second == {
        "policy of a tool": ["detach", "flow", "tools.interrupted"],
        "policy of search": ["cancel", "flow", "tools.by_name.search"],
        "policy of pay": ["hold", "agent clerk", "agent clerk.policies"],
        "interruptible": ["false", "agent clerk", "agent clerk.interruptible"],
        "min_words": ["2", "tool pay", "tool pay.min_words"],
    }
    assert done["owners"] == [
        {"kind": "agent", "name": "clerk", "on": True},
        {"kind": "tool", "name": "pay", "on": True},
        {"kind": "question", "name": "pin", "on": False},
    ]


def test_a_scene_counts_the_words_that_the_settings_in_force_ask_for() -> None:
    """With `min_words: 2` of a running tool one word does not interrupt."""
    flow = parsed(CLERK)
    presses = [{"owners": {"tools": ["pay"]}}, *scenes_for(flow)[OKAY]["presses"]]
    _, *records = simulate(flow, presses)["records"]
    assert moves(records)[2:] == ["speaking"]
