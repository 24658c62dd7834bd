"""docs/defaults.md: each switch works as it stands there, and the seconds are those of the flow."""

from __future__ import annotations

import re
import wave
from pathlib import Path
from typing import Any

import attrs
import pytest
from flow_text import parsed
from livekit.agents import FunctionToolsExecutedEvent, function_tool

from turnfsm import FlowError, JsonlSink, load_flow
from turnfsm.fsm.flow_parts import in_words
from turnfsm.livekit import TurnContext, TurnSession, on_interruption, once
from turnfsm.runtime.conversation.policies import is_once, policy_of
from turnfsm.runtime.proof import require_proof

PAGE = (Path(__file__).parents[2] / "docs" / "defaults.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| what", "| ---", "| **"))
]
SWITCHES = [code for row in ROWS for code in re.findall(r"`([^`]+)`", row[2])]
SESSIONS = [code for code in SWITCHES if re.match(r"TurnSession\((?!proof|observe)", code)]
DECORATORS = [code for code in SWITCHES if code.startswith("@")]
LINES = [code for code in SWITCHES if re.match(r"[a-z_]+: ", code)]
NAMED = {
    "function_tools_executed": FunctionToolsExecutedEvent,
    "cancel_tool_reply()": FunctionToolsExecutedEvent.cancel_tool_reply,
    "await ctx.commit_point()": TurnContext.commit_point,
    'TurnSession(proof="warn")': TurnSession,
    "TurnSession(observe=True)": TurnSession,
}
"""What is no line of code by itself."""


@pytest.fixture(autouse=True)
def _sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sound that a line names, beside the flow."""
    monkeypatch.chdir(tmp_path)
    with wave.open("typing.wav", "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(bytes(3200))


def _flow(line: str) -> Any:
    return parsed(f"flow: mine\nextends: turn\n{line}\n", "mine.yaml")


def test_each_row_has_four_cells_and_each_switch_is_run() -> None:
    """A switch that no test knows would be text only."""
    assert [row for row in ROWS if len(row) != 4] == []
    assert len(ROWS) > 25
    assert set(SWITCHES) == {*SESSIONS, *DECORATORS, *LINES, *NAMED}


@pytest.mark.exhaustive
@pytest.mark.parametrize("line", LINES)
async def test_a_line_changes_the_flow_and_the_flow_is_proved(line: str) -> None:
    """Nothing but this line, `flow` and `extends`; a session proves it before it uses it."""
    flow, base = _flow(line), load_flow("turn")
    assert attrs.evolve(flow, name=base.name, is_=base.is_) != base
    assert require_proof(flow) == ()
    assert TurnSession(flow=flow).turn.state == "listening"


@pytest.mark.parametrize("code", SESSIONS)
async def test_an_argument_is_accepted(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the session differs from one without it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("turnfsm.runtime.view.live._MORE_PORTS", 100)  # others test the page, too
    session = eval(code, {"TurnSession": TurnSession, "JsonlSink": JsonlSink})
    try:
        assert _settings(session) != _settings(TurnSession())
    finally:
        for sink in session._sinks:
            sink.close()


def _settings(session: Any) -> tuple[Any, ...]:
    """What an argument may change."""
    observers = session._observers
    return (
        session.turn.flow.name,
        session.timers,
        session.options.interruption,
        len(session._sinks),
        session._keeping is not None,
        observers.telemetry is not None,
        observers._audit,
        observers._publish_state,
    )


async def test_a_flow_that_is_not_proved_runs_if_the_application_wants_it() -> None:
    """By default it does not."""
    flow = _flow("states: {thinking: {on: {start_playout: {actions: start_output}}}}")
    with pytest.raises(FlowError):
        TurnSession(flow=flow)
    assert TurnSession(flow=flow, proof="warn").turn.flow is flow


@pytest.mark.parametrize("code", DECORATORS)
def test_a_decorator_marks_the_tool(code: str) -> None:
    """Above `@function_tool`."""
    names: dict[str, Any] = {
        "function_tool": function_tool,
        "on_interruption": on_interruption,
        "once": once,
    }
    exec(f"{code}\n@function_tool\nasync def book() -> str:\n    '''Book.'''", names)
    tools, tool = load_flow("turn").tools, names["book"]
    assert is_once("book", tool, tools) or policy_of("book", tool, tools) != "detach"


def test_the_seconds_are_those_of_the_flow() -> None:
    """Of each timer that a switch names."""
    timers = {**load_flow("outages").timers, **load_flow("turn").timers}
    for row in ROWS:
        for name in re.findall(r"timers: {(\w+): ", row[2]):
            assert in_words(timers[name]) in row[1] + row[2], row
