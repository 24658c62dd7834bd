"""`tools: confirm` on Pipecat: a handler runs only when the user has said yes."""

import pytest
from flow_text import parsed

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage, brief

from turnfsm import Flow
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, shows

QUESTION = "Shall I transfer 500 euros?"
DONE, NOTHING, OTHERWISE = "It is done.", "Then I leave it.", "I have not transferred anything."
CONFIRM = '{say: "Shall I transfer {amount} euros?", when: {amount: {above: 100}}}'


def _flow(confirm: str = CONFIRM, more: str = "") -> Flow:
    text = f"flow: bank\nextends: turn\n{more}tools: {{confirm: {{transfer: {confirm}}}}}\n"
    return parsed(text)


def _bank(amount: int = 500) -> object:
    def model(messages: Messages) -> Says:
        if shows(messages, "transferred it"):
            return Says(DONE)
        if shows(messages, "nothing was done"):
            return Says(NOTHING)
        return Says(calls=(("transfer", {"amount": amount}),))

    return model


def _play(
    answer: str | None, flow: Flow | None = None, *, at: float = 8.0, amount: int = 500
) -> Stage:
    async def script(stage: Stage) -> None:
        await stage.says("send my brother some money")
        if answer is not None:
            await stage.until(at)
            await stage.says(answer)

    tools = {"transfer": Tool(1.0, "transferred it", {})}
    stage = Stage(_bank(amount), tools, flow=flow or _flow(), proof="off")
    return stage.play(script, seconds=40.0)


@pytest.mark.parametrize("words", ["yes", "yes please go ahead"])
def test_the_handler_runs_after_a_yes_to_the_question(words: str) -> None:
    stage = _play(words)
    assert stage.heard == f"{QUESTION} {DONE}"
    assert stage.effects == ["transfer"]
    assert f"user: {words}" in brief(stage.context.messages)


@pytest.mark.parametrize("words", ["no", "yes but only fifty", "what does it cost"])
def test_everything_else_is_answered_and_the_handler_does_not_run(words: str) -> None:
    stage = _play(words)
    assert stage.effects == []
    assert stage.heard == f"{QUESTION} {NOTHING}"
    assert len(stage.requests) == 2
    assert shows(stage.requests[-1], "did not answer with a yes")


def test_a_yes_before_the_question_was_heard_does_not_count() -> None:
    stage = _play("yes", at=3.8)
    assert stage.effects == []
    assert shows(stage.context.messages, "before they had heard the question")


def test_no_answer_ends_the_call_and_the_model_says_so() -> None:
    stage = _play(None)
    assert (stage.effects, stage.heard) == ([], f"{QUESTION} {NOTHING}")


def test_no_answer_ends_the_call_with_the_declared_text() -> None:
    stage = _play(None, _flow(CONFIRM[:-1] + f", otherwise: {OTHERWISE}}}"))
    assert (stage.effects, stage.heard) == ([], f"{QUESTION} {OTHERWISE}")
    assert shows(stage.context.messages, "nothing was done")
    assert len(stage.requests) == 1


def test_a_call_that_the_condition_leaves_out_runs_at_once() -> None:
    stage = _play(None, amount=100)
    assert (stage.effects, stage.heard) == (["transfer"], DONE)
