"""`tools: {tuning: ...}`: settings of the session while the turn waits for a tool."""

from __future__ import annotations

from functools import partial

from flow_text import parsed
from scripted_tool import tool

from turnfsm.fsm import load_flow, parse_flow
from turnfsm.fsm.flow import Tuning
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

WAIT = "I am transferring it now, and that takes a little while."
FLOW = """
flow: mine
extends: turn
states: {tool_running: {tuning: {min_words: 1, min_duration: 0.9}}}
tools: {tuning: {transfer_money: {min_words: 3}}}
"""


transfer_money = tool("transfer_money", "done", seconds=3.0)


search = tool("search", "done", seconds=3.0)


def settings(words: str, *seconds: float) -> list[tuple[int, float]]:
    """The settings in force at these moments. The tool runs from 2.1 to 5.1 s."""
    flow = parsed(FLOW)
    seen: list[tuple[int, float]] = []

    def look(stage: Stage) -> None:
        options = stage.session.options.interruption
        seen.append((options["min_words"], options["min_duration"]))

    calls = {name: Reply(calls=Call(name)) for name in ("transfer_money", "search")}
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=ScriptedUser().says(words, at=1.0, duration=0.6),
        llm=ScriptedLLM(calls, on_tool=dict.fromkeys(calls, "It is done.")),
        tools=[transfer_money, search],
    )
    for at in seconds:
        stage.at(at, look)
    assert stage.run(9.0).errors == []
    return seen


def test_the_settings_of_the_tool_come_before_those_of_the_state() -> None:
    assert settings("transfer_money", 0.5, 3.0, 7.0) == [(0, 0.5), (3, 0.9), (0, 0.5)]


def test_another_tool_leaves_those_of_the_state() -> None:
    assert settings("search", 0.5, 3.0, 7.0) == [(0, 0.5), (1, 0.9), (0, 0.5)]


def test_it_holds_while_the_agent_speaks_and_the_tool_runs() -> None:
    """The tool runs from the beginning of the preamble on: one word does not interrupt it."""
    for words, stops in (("stop", False), ("stop it right now", True)):
        flow, _ = parse_flow(FLOW)
        stage = Stage(
            partial(TurnSession, flow=flow, proof="off"),
            user=ScriptedUser()
            .says("transfer_money", at=1.0, duration=0.6)
            .says(words, at=3.0, duration=0.9),
            llm=ScriptedLLM(
                {"transfer_money": Reply(WAIT, calls=Call("transfer_money"))},
                on_tool={"transfer_money": "It is done."},
                otherwise="As you like.",
            ),
            tts=ScriptedTTS(durations={WAIT: 3.5}),
            tools=[transfer_money],
        )
        outcome = stage.run(12.0)
        assert (" ".join(one.text for one in outcome.heard[:1]) != WAIT) is stops, (
            outcome.timeline()
        )


def test_what_one_tuning_leaves_out_is_that_of_the_other() -> None:
    one, other = Tuning(min_words=2), Tuning(min_words=1, mute=True)
    assert one.over(other) == Tuning(min_words=2, mute=True)
    assert Tuning().over(other) == other


def test_the_flow_names_the_tool() -> None:
    flow = parsed(FLOW)
    assert tuple(flow.named_tools) == ("transfer_money",)
    assert load_flow("turn").tools.tuning == {}
