"""docs/upstream.md: the hooks that would replace the private names of LiveKit's."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from turnfsm.runtime.livekit_contract import PRIVATE_NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "upstream.md").read_text("utf-8")
SECTIONS = {section.partition("\n")[0]: section for section in PAGE.split("\n### ")[1:]}
LIVEKIT = [name for name, section in SECTIONS.items() if "from pipecat" not in section]


def test_each_private_name_has_the_hook_that_would_replace_it() -> None:
    """Each in one section: a name that comes or goes in the contract is seen here."""
    owners = [(row.owner.partition(":"), row.name) for row in PRIVATE_NAMES]
    listed = [f"{inside or module}.{name}" for (module, _, inside), name in owners]
    written = Counter(
        name
        for line in re.findall(r"^Replaces: (.*)$", PAGE, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", line)
    )
    assert written == Counter(listed)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_signatures_and_an_issue(name: str) -> None:
    """What is asked for is concrete, and somebody asks for it."""
    (block,) = re.findall(r"```python\n(.*?)```", SECTIONS[name], re.DOTALL)
    assert any(isinstance(node, ast.ClassDef) for node in ast.walk(ast.parse(block)))
    assert re.search(
        r"github\.com/(livekit/agents|livekit/livekit|pipecat-ai/pipecat)/issues/\d+",
        SECTIONS[name],
    )
    assert (name in LIVEKIT) == ("\nReplaces: " in SECTIONS[name])


@pytest.mark.parametrize("name", LIVEKIT)
def test_the_signatures_name_types_that_livekit_has(name: str) -> None:
    """They are written for the release that is installed."""
    (block,) = re.findall(r"```python\n(.*?)```", SECTIONS[name], re.DOTALL)
    exec(compile(block, "upstream.md", "exec", dont_inherit=True), {"__name__": __name__})
