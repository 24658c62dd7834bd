"""All Python of the pages: it is compiled, its imports are made, and what it passes by name exists.

Most of it is also run: each page with a whole program has a test of its own.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from installed import PIPECAT

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(page, found[1], id=f"{page.stem}-{n}")
    for page in PAGES
    for n, found in enumerate(
        re.finditer(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.M)
    )
]
LOCAL = {"agent", "clerk", "desk", "phone", "waiter"}
"""Files of the examples."""

EARLIER = {
    name: getattr(importlib.import_module("turnfsm.livekit"), name)
    for name in ("TurnSession", "EventRecorder", "LiveView", "Telemetry")
}
"""What a block may use without its import, as an earlier block of its page has it."""


def imported(tree: ast.Module) -> dict[str, Any]:
    """What a block imports."""
    names = dict(EARLIER)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] not in LOCAL:
                if "pipecat" in module.split(".") and not PIPECAT:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # those of what Pipecat imports
                    found = importlib.import_module(module)
                names |= {one.asname or one.name: getattr(found, one.name) for one in node.names}
            case ast.Import():
                for one in node.names:
                    importlib.import_module(one.name)
    return names


@pytest.mark.parametrize(("page", "code"), BLOCKS)
def test_the_code_of_a_page_fits_the_library(page: Path, code: str) -> None:
    """A name that is gone, or an argument with another name, is found."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    tree = compile(code, str(page), "exec", flags=flags)
    names = imported(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        called = names.get(node.func.id)
        if not getattr(called, "__module__", "").startswith("turnfsm"):
            continue
        parameters = inspect.signature(called).parameters
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
            continue
        wrong = {one.arg for one in node.keywords if one.arg} - set(parameters)
        assert not wrong, f"{page.name}: {node.func.id}() has no {sorted(wrong)}"
