"""The flow `overlap` while a tool runs: a backchannel ends nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.proof import Proof
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

FLOW = """
flow: desk
extends: overlap
fillers: {after: 1.5, say: "One moment, please."}
tools: {by_name: {look: POLICY}, MORE}
"""
RESULT = "Ten or half past two."


def play(
    tmp_path: Path,
    user: ScriptedUser,
    *,
    policy: str = "cancel",
    preamble: str = "Let me look.",
    seconds: float = 6.0,
    more: str = "once: []",
    proof: Proof = "require",
    **options: Any,
) -> Outcome:
    """The user asks for a slot at 1 s; the tool begins at about 2.3 s."""
    flow = tmp_path / "desk.yaml"
    flow.write_text(FLOW.replace("POLICY", policy).replace("MORE", more))
    model = ScriptedLLM(
        {"slot": Reply(preamble, calls=Call("look"))}, {"look": RESULT}, otherwise="I see."
    )
    stage = Stage(
        partial(TurnSession, flow=flow, proof=proof),
        user=user,
        llm=model,
        vad=ScriptedVAD(min_silence=0.55),
        agent=lambda: Agent(instructions="Help.", tools=[tool("look", "10", seconds=seconds)]),
        **options,
    )
    return stage.run(16.0)


def test_a_backchannel_after_the_yes_cancels_no_tool(tmp_path: Path) -> None:
    """The question whether the tool may run has its answer."""
    user = asks().says("yes", at=3.5).says("mhm", at=4.8)
    confirm = 'confirm: {look: {say: "Shall I look?"}}'
    outcome = play(tmp_path, user, preamble="", more=confirm, proof="off")
    assert [run.status for run in outcome.tools] == ["done"], outcome.timeline()
    assert "user: yes" in outcome.context
    assert "user: mhm" not in outcome.context


def asks() -> ScriptedUser:
    return ScriptedUser().says("a slot", at=1.0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("policy", ["cancel", "detach", "finish", "hold"])
@pytest.mark.parametrize("at", [2.5, 2.9, 3.5, 4.9, 8.3])
def test_a_backchannel_cancels_no_tool_and_gets_no_answer(
    tmp_path: Path, policy: str, at: float
) -> None:
    """Over the preamble, after it, over the filler, and while the answer is requested."""
    outcome = play(tmp_path, asks().says("mhm", at=at), policy=policy)
    assert [run.status for run in outcome.tools] == ["done"], outcome.timeline()
    assert outcome.heard_saying(RESULT), outcome.timeline()
    assert not outcome.heard_saying("I see."), outcome.timeline()
    assert "user: mhm" not in outcome.context
    assert len(outcome.requests) == 2


def test_a_silent_tool_is_not_ended_either(tmp_path: Path) -> None:
    """A question that came before the user's turn has its answer: "okay" does not answer it."""
    outcome = play(tmp_path, asks().says("okay", at=3.0), preamble="", seconds=2.5)
    assert [run.status for run in outcome.tools] == ["done"], outcome.timeline()
    assert "user: okay" not in outcome.context


@pytest.mark.parametrize("words", ["stop", "what about Monday"])
def test_other_words_end_the_wait(tmp_path: Path, words: str) -> None:
    outcome = play(tmp_path, asks().says(words, at=3.5))
    assert [run.status for run in outcome.tools] == ["cancelled"], outcome.timeline()
    assert f"user: {words}" in outcome.context


def test_an_answer_to_the_preamble_is_a_turn(tmp_path: Path) -> None:
    outcome = play(tmp_path, asks().says("yes", at=4.3), preamble="Is Tuesday fine?")
    assert "user: yes" in outcome.context, outcome.timeline()
