"""What the user is asked for ends their turn in a pipeline: at once when it is whole, later when a
part is missing."""

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage

from turnfsm import TurnfsmError
from turnfsm.fsm import parse_flow
from turnfsm.runtime.pipecat.schemas import FunctionSchema, ToolsSchema
from turnfsm.runtime.testing.pipecat import Messages, Says, Script, said

ASKED = """
flow: asked
extends: turn
states: {listening: {tuning: {expect: {kind: digits, length: 10}}}}
"""


def model(messages: Messages) -> Says:
    return Says(f"I heard {said(messages)}.")


def in_groups(*groups: str, gap: float = 1.5) -> Script:
    """Groups of digits with silence between them."""

    async def script(stage: Stage) -> None:
        for group in groups:
            await stage.says(group, 1.0)
            await stage.until(stage.now + gap - 0.4)  # since the end of the sound

    return script


def answered(stage: Stage) -> list[str]:
    return [said(request.messages) for request in stage.asked]


def test_ten_digits_with_gaps_of_a_second_and_a_half_are_one_turn() -> None:
    groups = "one two three", "four five six", "seven eight nine zero"
    stage = Stage(model, flow=parse_flow(ASKED)[0]).play(in_groups(*groups), seconds=15)
    assert answered(stage) == [" ".join(groups)]
    alone = Stage(model).play(in_groups(*groups), seconds=25)
    assert len(answered(alone)) == 3


QUESTIONS = """
flow: asks
extends: turn
questions: {account: {asked: your number, kind: digits, length: 10}}
"""


@pytest.mark.parametrize(("sentence", "turns"), [("What is your number?", 1), ("Go on.", 3)])
def test_the_last_sentence_of_the_agent_says_what_is_expected(sentence: str, turns: int) -> None:
    groups = "one two three", "four five six", "seven eight nine zero"

    async def script(stage: Stage) -> None:
        await stage.says("hello", 0.5)
        await stage.until(6.0)
        await in_groups(*groups, gap=3.0)(stage)

    def asks(messages: Messages) -> Says:
        return Says(sentence if said(messages) == "hello" else "Thank you.")

    stage = Stage(asks, flow=parse_flow(QUESTIONS)[0]).play(script, seconds=25)
    assert len(answered(stage)) - 1 == turns
    assert answered(stage)[-1].endswith(groups[-1])


def test_the_whole_value_ends_the_turn_without_the_timeout_of_the_strategy() -> None:
    words = "one two three four five six seven eight nine zero"
    asked = Stage(model, flow=parse_flow(ASKED)[0]).play(in_groups(words), seconds=8)
    usual = Stage(model).play(in_groups(words), seconds=8)
    assert asked.asked[0].at < usual.asked[0].at - 0.1


def test_a_user_who_does_not_say_the_rest_is_answered_after_the_wait() -> None:
    stage = Stage(model, flow=parse_flow(ASKED)[0]).play(in_groups("one two three"), seconds=15)
    assert answered(stage) == ["one two three"]
    assert 5.0 < stage.asked[0].at < 5.8  # 1.2 s of speech with the VAD's silence, then 4 s


def test_a_question_asks_for_a_value_with_expect() -> None:
    async def script(stage: Stage) -> None:
        assert stage.governor is not None
        stage.governor.turn.expect("yes_no")
        await stage.says("yes", 0.4)

    yes = Stage(model).play(script, seconds=6)
    usual = Stage(model).play(in_groups("yes"), seconds=6)
    assert answered(yes) == ["yes"]
    assert yes.asked[0].at - 0.4 < usual.asked[0].at - 1.0 - 0.1


def test_a_parameter_of_a_tool_says_what_to_expect() -> None:
    number = FunctionSchema("book", "", {"number": {"type": "string", "pattern": r"^\d{6}$"}}, [])

    async def script(stage: Stage) -> None:
        assert stage.governor is not None
        stage.context.set_tools(ToolsSchema([number]))
        stage.governor.turn.expect_parameter("book", "number")
        with pytest.raises(TurnfsmError, match="no tool 'boook'"):
            stage.governor.turn.expect_parameter("boook", "number")
        await in_groups("one two three", "four five six")(stage)

    stage = Stage(model).play(script, seconds=10)
    assert answered(stage) == ["one two three four five six"]
