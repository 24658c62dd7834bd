"""What the flow ignores is in no conversation."""

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage, brief, moments

from turnfsm import parse_flow
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said

ADDRESS = "We are at five Mill Road next to the bakery on the second floor."
HOLDS = """\
flow: can_wait
extends: turn
hold: {say: Take your time., until: [I am back], limit: 60, then: Are you back?}
"""
CONFIRMS = """\
flow: confirms
extends: turn
tools: {confirm: {book: {say: "Shall I book?"}}}
"""


def _answers(messages: Messages) -> Says:
    return Says(ADDRESS)


def test_what_is_said_during_a_hold_is_not_in_the_context() -> None:
    script = moments(
        (0.0, "what is your address"),
        (10.0, "hold on"),
        (15.0, "mary where is the diary"),
        (20.0, "i am back what is your address"),
    )
    stage = Stage(_answers, flow=parse_flow(HOLDS)[0]).play(script, seconds=35.0)
    assert brief(stage.context.messages) == [
        "user: what is your address",
        f"assistant: {ADDRESS}",
        "assistant: Take your time.",
        "user: i am back what is your address",
        f"assistant: {ADDRESS}",
    ]


def test_ignored_words_do_not_come_with_those_that_follow_at_once() -> None:
    script = moments(
        (0.0, "hold on"), (6.0, "mary where is the diary"), (8.0, "i am back what is your address")
    )
    stage = Stage(_answers, flow=parse_flow(HOLDS)[0]).play(script, seconds=20.0)
    assert "user: i am back what is your address" in brief(stage.context.messages)
    assert not any("mary" in line for line in brief(stage.context.messages))


def test_a_yes_to_a_question_is_in_the_context() -> None:
    """It is not answered, but it belongs to the conversation."""

    def model(messages: Messages) -> Says:
        if "booked" in str(messages[-1].get("content")):
            return Says("It is booked.")
        return Says(calls=(("book", {}),)) if "book" in said(messages) else Says()

    flow = parse_flow(CONFIRMS)[0]
    stage = Stage(model, {"book": Tool(1.0, "booked")}, flow=flow).play(
        moments((0.0, "please book ten"), (6.0, "yes please")), seconds=20.0
    )
    assert "user: yes please" in brief(stage.context.messages)
    assert stage.heard == "Shall I book? It is booked."
