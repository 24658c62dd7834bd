"""A tool of Pipecat asks before its effect whether the user has objected."""

from types import SimpleNamespace

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage, brief

from turnfsm import TurnfsmError
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said, shows
from turnfsm.testing import run

TRANSFER = {"transfer": Tool(2.0, "transferred", commits=True)}


def _transfers(messages: Messages) -> Says:
    if shows(messages, "nothing was done"):
        return Says("I have transferred nothing.")
    if shows(messages, "transferred"):
        return Says("It is transferred.")
    if "leave" in said(messages):
        return Says("I leave it.")
    return Says(calls=(("transfer", {"amount": 50}),))


def _and_then(words: str, seconds: float = 1.0) -> Stage:
    async def script(stage: Stage) -> None:
        await stage.says("please transfer fifty")  # the tool has its commit point at 4.2
        await stage.until(3.5)
        if words:
            await stage.says(words, seconds)
        else:
            await stage.coughs(seconds)

    return Stage(_transfers, TRANSFER).play(script)


def test_words_that_object_come_before_the_effect() -> None:
    """They are recognised after the tool wanted to go on."""
    stage = _and_then("no leave it")
    assert stage.effects == []
    assert "nothing" in stage.heard
    assert any("nothing was done" in line for line in brief(stage.context.messages))


def test_a_noise_is_no_objection() -> None:
    stage = _and_then("", 1.0)
    assert (stage.effects, stage.heard) == (["transfer"], "It is transferred.")


def test_thanks_are_no_objection() -> None:
    assert _and_then("okay thanks").effects == ["transfer"]


def test_the_commit_point_of_an_unknown_call_is_an_error() -> None:
    governor = TurnGovernor()
    call = SimpleNamespace(tool_call_id="call_9")
    with pytest.raises(TurnfsmError, match="does not know of the call 'call_9'; register"):
        run(governor.commit_point(call))
