"""The kit's scripted model, in a pipeline."""

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage

from turnfsm.runtime.testing.pipecat import Messages, Says, said, shows


def model(messages: Messages) -> Says:
    if shows(messages, "lok"):
        return Says("It called a tool that is not there.")
    return Says(f"You said {said(messages)}.", calls=(("lok", {}),))


def test_a_tool_that_the_pipeline_lacks_is_not_called() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("a slot", 0.6)

    stage = Stage(model).play(script)
    assert stage.heard == "You said a slot."
    assert len(stage.asked) == 1
