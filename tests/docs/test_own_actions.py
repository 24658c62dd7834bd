"""docs/own-actions.md shows the files of examples/supervisor, whose tests are run by pytest."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "supervisor"


def test_the_blocks_are_the_files_of_the_example() -> None:
    """Each file is shown once, whole."""
    page = (ROOT / "docs" / "own-actions.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|yaml)\n(.*?)```", page, re.DOTALL)
    files = [p.read_text(encoding="utf-8") for p in EXAMPLE.iterdir() if p.is_file()]
    assert sorted(blocks) == sorted(files)
