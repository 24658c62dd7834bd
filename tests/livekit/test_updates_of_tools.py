"""The scripted model tells what a tool reports with `ctx.update()` from its result."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import AgentSession, RunContext, function_tool

from turnfsm.livekit import TurnSession
from turnfsm.testing import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
    load_script,
    play_script,
)

BOOK = Reply("One moment.", calls=Call("book"))
STILL, BOOKED = "I am still looking.", "Your table is booked."


@function_tool
async def book(ctx: RunContext[Any]) -> str:
    """Book a table."""
    await ctx.update("still looking")
    await asyncio.sleep(4.0)
    await ctx.update("nearly there")
    await asyncio.sleep(4.0)
    return "booked"


def heard(session_class: Any, model: ScriptedLLM) -> list[str]:
    user = ScriptedUser().says("a table please", at=1.0)
    stage = Stage(session_class, user=user, llm=model, tools=[book])
    return [span.text for span in stage.run(20.0).heard]


@pytest.mark.parametrize("session_class", [AgentSession, TurnSession])
def test_a_report_and_the_result_are_answered_differently(session_class: Any) -> None:
    """The first report has the id of the call itself, and is still none of its result."""
    model = ScriptedLLM({"table": BOOK}, {"book": BOOKED}, on_update={"book": STILL})
    assert heard(session_class, model) == ["One moment.", STILL, STILL, BOOKED]


def test_without_a_rule_a_report_is_answered_as_the_result_is() -> None:
    """A rule for another tool is none."""
    model = ScriptedLLM({"table": BOOK}, {"book": BOOKED}, on_update={"look": STILL})
    assert heard(TurnSession, model) == ["One moment.", BOOKED, BOOKED, BOOKED]


def test_a_scenario_has_answers_to_reports(tmp_path: Path) -> None:
    """`on_update` stands beside `on_tool`."""
    (tmp_path / "clerk.py").write_text(
        "from test_updates_of_tools import book\n"
        "from livekit.agents import Agent\n\n"
        "def clerk() -> Agent:\n"
        "    return Agent(instructions='Help.', tools=[book])\n"
    )
    file = tmp_path / "booked.yaml"
    file.write_text(
        "name: the reports are told\n"
        "agent: clerk.py:clerk\n"
        "user: [{at: 1.0, says: a table please}]\n"
        "model:\n"
        "  on_user: {table: {text: One moment., calls: book}}\n"
        f"  on_update: {{book: {STILL}}}\n"
        f"  on_tool: {{book: {BOOKED}}}\n"
        "seconds: 20\n"
        "expect:\n"
        f"  - {{speaking: {STILL}, within: 3.0, after: a table please}}\n"
        f"  - {{speaking: {BOOKED}, within: 12.0, after: a table please}}\n"
    )
    played = play_script(load_script(file))
    assert played.problems == ()
    assert [span.text for span in played.outcome.heard] == ["One moment.", STILL, STILL, BOOKED]
