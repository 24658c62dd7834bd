"""docs/commands.md has a section for each command, and the figures that they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turnfsm.fsm import load_flow
from turnfsm.fsm.cover import cover
from turnfsm.runtime.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


def test_every_command_has_a_section(capsys: pytest.CaptureFixture[str]) -> None:
    """The page has the commands of --help, in their order."""
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^  (\w+)  ", capsys.readouterr().out.partition("Commands:")[2], re.M)
    assert re.findall(r"^## (\w+)$", PAGE, re.M) == listed


def test_the_figures_of_the_paths_are_current() -> None:
    """As many paths and goals as the flow has, and a path as it is printed."""
    found = cover(load_flow("turn"))
    goals = sum(len(path.covers) for path in found.paths)
    assert f"turn: {len(found.paths)} paths cover {goals} goals" in PAGE
    assert f"turn: {len(found.paths)} paths run on the event pump, 0 problems" in PAGE
