"""What docs/architecture.md names exists, and each file that a page names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


NAMED = r"`((?:fsm|runtime|specs|turnfsm|bench|room|tests|examples|docs)/[\w./]*)`"
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    """A name in capitals stands for any."""
    named = set(re.findall(NAMED, page.read_text(encoding="utf-8")))
    there = {name for name in named if (ROOT / name).exists() or (ROOT / f"{name}.py").exists()}
    assert sorted(name for name in named - there if name == name.lower()) == []


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_folders_of_the_page_end_with_a_slash() -> None:
    named = set(re.findall(NAMED, PAGE))
    assert len(named) > 30
    assert sorted(n for n in named if (ROOT / n).is_dir() and not n.endswith("/")) == []


def test_the_names_of_the_walk_exist() -> None:
    """Methods, triggers and actions stand in the files of their steps."""
    for step in re.findall(r"^\d\. (`.*?)(?=^\d\. |^$)", PAGE, re.MULTILINE | re.DOTALL):
        file, *names = re.findall(r"`([^`]+)`", step)
        text = (ROOT / file).read_text(encoding="utf-8")
        text += (ROOT / "specs" / "turn.yaml").read_text(encoding="utf-8")
        text += (ROOT / "runtime/conversation/ports.py").read_text(encoding="utf-8")
        known = {"TurnRuntime", "agent_state_changed", "Conductor"}
        missing = [n for n in names if "/" not in n and n.split(".")[-1] not in text]
        assert set(missing) <= known, f"{file}: {missing}"
