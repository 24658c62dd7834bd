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


@pytest.mark.parametrize("words", ["demo --text", "check turn"])
def test_a_command_prints_what_the_page_shows(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shows some of its lines; seconds of computing time differ."""
    out = ["--out", str(tmp_path)] if words.startswith("demo") else []
    with pytest.raises(SystemExit):
        main([*words.split(), *out])
    printed = _without_times(capsys.readouterr().out)
    shown = PAGE.partition(f"$ turnfsm {words}\n")[2].partition("```")[0].splitlines()
    assert shown
    assert [line for line in shown if _without_times(line) not in printed] == []


def _without_times(text: str) -> str:
    return re.sub(r"[\d.]+ s$", "", text, flags=re.M)
