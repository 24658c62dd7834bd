"""docs/failures.md, row by row: each is held against the conversation that a test plays anyway."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from livekit.agents import __version__

from turnfsm.runtime.compare import Scenario, as_markdown
from turnfsm.runtime.compare.livekit import HOST
from turnfsm.runtime.compare.scenario import Compared, Side
from turnfsm.runtime.testing.livekit import Outcome

ALL = HOST.all
PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
STALE = "run `turnfsm compare --format markdown -o docs/failures.md`"


def page(*, stock: bool = True) -> str:
    """The page. What it says of `AgentSession` is skipped with another livekit-agents than its."""
    written = PAGE.read_text(encoding="utf-8")
    (version,) = re.findall(r"^TurnSession: .* AgentSession \(livekit-agents (.*)\)", written, re.M)
    if stock and version != __version__:
        pytest.skip(f"the page was written with livekit-agents {version}, this is {__version__}")
    return written


def head_of(line: str) -> str:
    """Which scenario a row is about."""
    return _cells(line)[0]


def assert_on_page(scenario: Scenario, outcome: Outcome, *, stock: bool) -> None:
    """The page says of this conversation what was heard, and what was wrong."""
    side = Side.of(scenario, outcome)
    made = as_markdown(HOST, [Compared(scenario, side, side)])
    column = 1 if stock else 2
    assert _row(made, scenario)[column] == _row(page(stock=stock), scenario)[column], STALE


def _row(text: str, scenario: Scenario) -> list[str]:
    (line,) = (line for line in text.splitlines() if f"| **{scenario.id}** " in line)
    return _cells(line)


def _cells(line: str) -> list[str]:
    return line.removeprefix("| ").removesuffix(" |").split(" | ")
