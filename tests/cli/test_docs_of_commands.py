"""docs/commands.md has a section for each command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turnfsm.runtime.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


def test_every_command_has_a_section(capsys: pytest.CaptureFixture[str]) -> None:
    """The page has the commands of --help, in their order."""
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^  (\w+)  ", capsys.readouterr().out.partition("Commands:")[2], re.M)
    assert re.findall(r"^## (\w+)$", PAGE, re.M) == listed
