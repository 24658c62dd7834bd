"""The flow `overlap` while a tool runs: a backchannel ends nothing."""

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage

from turnfsm.fsm import parse_flow
from turnfsm.runtime.testing.pipecat import Messages, Says, Script, ScriptedVAD, Tool, said, shows

FLOW = """
flow: desk
extends: overlap
tools: {by_name: {look: POLICY}}
"""


def model(messages: Messages) -> Says:
    if shows(messages, "half past two"):
        return Says("Ten or half past two.")
    if "slot" in said(messages):
        return Says("Let me look.", calls=(("look", {}),))
    return Says("I see.")


def interrupting(words: str, at: float) -> Script:
    async def script(stage: Stage) -> None:
        await stage.says("a slot", 0.6)
        await stage.until(at)
        await stage.says(words, 0.3)

    return script


def play(policy: str, words: str, at: float) -> Stage:
    flow = parse_flow(FLOW.replace("POLICY", policy))[0]
    tool = Tool(5.0, "ten or half past two")
    return Stage(model, {"look": tool}, flow=flow, vad=ScriptedVAD()).play(interrupting(words, at))


@pytest.mark.parametrize("policy", ["cancel", "detach", "hold"])
@pytest.mark.parametrize("at", [2.2, 3.0, 4.5])
def test_a_backchannel_cancels_no_tool_and_gets_no_answer(policy: str, at: float) -> None:
    """Over the preamble, and after it."""
    stage = play(policy, "mhm", at)
    assert "Ten or half past two." in stage.heard
    assert "I see." not in stage.heard
    assert len(stage.asked) == 2


def test_other_words_end_the_wait() -> None:
    stage = play("cancel", "what about Monday", 4.5)
    assert "I see." in stage.heard
    assert "Ten or half past two." not in stage.heard
