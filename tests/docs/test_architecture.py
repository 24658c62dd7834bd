"""docs/architecture.md: what it names exists; tests/runtime/test_layers.py looks at imports."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_that_the_page_names_exists() -> None:
    """Folders end with a slash."""
    named = set(re.findall(r"`((?:fsm|runtime|specs|turnfsm|bench|tests|examples)/[\w./]*)`", PAGE))
    assert len(named) > 30
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
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
