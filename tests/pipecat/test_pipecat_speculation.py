"""A service predicts the end of the user's turn, and the model is asked before the turn is
committed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies
from pipecat_stage import Stage, brief

from turnfsm import parse_flow
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said

SPEECH = 1.1
SLOW = 1.5
"""Seconds of the model until the first token."""


def _echo(messages: Messages) -> Says:
    return Says(f"You said {said(messages).strip('.').lower()}.", after=SLOW)


async def _speaks(stage: Stage, predicted: str, committed: str, *, pause: float = 1.0) -> None:
    """The service predicts the end of the speech, and commits to it after the pause. The commit is
    not at a tick of Pipecat's strategy, every 0.5 s, which would end the turn at the same time."""
    user = stage.microphone
    await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
    await asyncio.sleep(SPEECH)
    if predicted:
        await user.push_frame(f.EagerTranscriptionFrame(predicted, "user", "now"))
    await asyncio.sleep(pause)
    await user.push_frame(f.TranscriptionFrame(committed, "user", "now", finalized=True))
    await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)


def _play(
    script: Any, model: Any = _echo, tools: Any = None, *, seed: int | None = None, **options: Any
) -> Stage:
    stage = Stage(model, tools, strategies=EagerUserTurnStrategies, **options)
    stage.schedule = seed
    return stage.play(script)


def _verdicts(stage: Stage) -> list[str]:
    """What the flow said to each request before the end of a turn."""
    assert stage.governor is not None
    entries = stage.governor.turn.journal
    return [
        type(entry.verdict).__name__
        for entry in entries
        if entry.verdict.trigger == "preemptive_generation"
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", [None, *range(6)])
def test_the_answer_comes_earlier_by_the_time_of_the_prediction(seed: int | None) -> None:
    """The committed transcript stands in the context. Nothing is heard before the commit."""

    async def script(stage: Stage) -> None:
        await _speaks(stage, "hello", "Hello.")

    stage = _play(script, seed=seed)
    assert stage.heard == "You said hello."
    assert [request.at for request in stage.asked] == [pytest.approx(SPEECH, abs=0.01)]
    assert 2.1 < stage.when("You") < 3.0
    assert brief(stage.context.messages) == ["user: Hello.", "assistant: You said hello."]
    assert stage.user_turns == {"replied": 1}
    assert _verdicts(stage) == ["Taken"]


def test_a_response_that_is_complete_before_the_commit_is_heard_after_it() -> None:
    async def script(stage: Stage) -> None:
        await _speaks(stage, "hello", "hello", pause=3.0)

    stage = _play(script)
    assert stage.heard == "You said hello."
    assert 4.1 < stage.when("You") < 4.5
    assert len(stage.asked) == 1


def test_other_words_are_asked_again() -> None:
    async def script(stage: Stage) -> None:
        await _speaks(stage, "hello", "hello and goodbye")

    stage = _play(script)
    assert stage.heard == "You said hello and goodbye."
    assert len(stage.asked) == 2
    assert stage.user_turns == {"replied": 1}


def test_a_prediction_that_the_service_withdraws_is_not_heard() -> None:
    async def script(stage: Stage) -> None:
        user = stage.microphone
        await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
        await asyncio.sleep(1.0)
        await user.push_frame(f.EagerTranscriptionFrame("hello", "user", "now"))
        await asyncio.sleep(0.5)
        await user.push_frame(f.EagerEndOfTurnCancelFrame())
        await asyncio.sleep(3.0)
        await user.push_frame(f.TranscriptionFrame("hello you", "user", "now", finalized=True))
        await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)

    stage = _play(script)
    assert stage.heard == "You said hello you."
    assert stage.user_turns == {"replied": 1}


def _weighs(messages: Messages) -> Says:
    results = [m for m in messages if "80" in str(m.get("content"))]
    if results and said(messages) != "thanks":
        return Says("You weigh 80.")
    if said(messages) == "weigh me":
        return Says(calls=(("weigh", {}),))
    return Says(f"You said {said(messages)}{' and weigh 80' if results else ''}.")


def test_a_tool_is_called_only_after_the_commit_and_once() -> None:
    """Pipecat withdraws a speculative request that would call a tool."""

    async def script(stage: Stage) -> None:
        await _speaks(stage, "weigh me", "weigh me", pause=3.0)

    stage = _play(script, _weighs, {"weigh": Tool(1.0, 80)})
    assert [call.start > 4.0 for call in stage.tools] == [True]
    assert stage.heard == "You weigh 80."
    assert stage.user_turns == {"replied": 1}


def test_while_a_tool_runs_the_flow_refuses_and_the_turn_is_asked_when_it_is_committed() -> None:
    async def script(stage: Stage) -> None:
        await _speaks(stage, "", "weigh me")
        await stage.until(4.0)
        await _speaks(stage, "hello", "hello")

    stage = _play(script, _weighs, {"weigh": Tool(8.0, 80)})
    assert _verdicts(stage) == ["Refused"]
    assert stage.heard == "You said hello. You weigh 80."
    assert stage.user_turns == {"superseded": 1, "replied": 1}  # the first had no words


def test_a_result_that_comes_after_the_prediction_is_in_the_request() -> None:
    """What was asked without it is thrown away."""

    async def script(stage: Stage) -> None:
        await _speaks(stage, "", "weigh me")
        await stage.until(4.0)
        await _speaks(stage, "", "hello")  # releases the tool
        await stage.until(9.0)
        await _speaks(stage, "thanks", "thanks", pause=4.0)  # its result comes in the pause

    stage = _play(script, _weighs, {"weigh": Tool(9.0, 80)})
    assert _verdicts(stage) == ["Taken"]
    assert stage.heard == "You said hello. You said thanks and weigh 80."
    assert stage.user_turns == {"superseded": 1, "replied": 2}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", [None, *range(6)])
@pytest.mark.parametrize("gap", [0.05, 0.5, 1.0])
def test_a_user_who_goes_on_after_the_commit_hears_the_answer_to_both(
    gap: float, seed: int | None
) -> None:
    """The first answer is prepared and interrupted. The second is asked anew."""

    async def script(stage: Stage) -> None:
        await _speaks(stage, "hello", "hello", pause=0.2)
        await asyncio.sleep(gap)
        await _speaks(stage, "again", "again", pause=0.2)

    stage = _play(script, seed=seed)
    assert stage.heard == "You said again."
    assert [brief(request)[-2:] for request in stage.requests][-1] == ["user: hello", "user: again"]
    assert stage.user_turns == {"superseded": 1, "replied": 1}


IGNORES = """
flow: ignores
kind: turn
is: No turn is answered.
extends: turn
requests: {ignore_turn: May the turn go unanswered?}
actions: {discard_turn: Discard the turn.}
states:
  listening:
    on:
      ignore_turn: {actions: discard_turn}
"""


def test_what_the_flow_ignores_is_not_heard_although_it_was_asked() -> None:
    async def script(stage: Stage) -> None:
        await _speaks(stage, "hello", "hello")
        await stage.until(8.0)
        await stage.pushes(f.LLMRunFrame())

    flow, _ = parse_flow(IGNORES)
    stage = _play(script, flow=flow, proof="off")
    assert [round(request.at) for request in stage.asked] == [1, 8]
    assert stage.asked[1].messages == []
    assert stage.when("You") > 8.0
    assert stage.user_turns == {}
