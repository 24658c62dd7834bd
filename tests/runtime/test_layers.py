"""The conversation and the base of hosts import no framework, and no module imports in a circle."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnfsm.runtime

RUNTIME = Path(turnfsm.runtime.__file__).resolve().parent
CONVERSATION = sorted((RUNTIME / "conversation").glob("*.py"))
HOST = sorted((RUNTIME / "host").glob("*.py"))


def _module(path: Path) -> str:
    parts = path.relative_to(RUNTIME).with_suffix("").parts
    return ".".join(("turnfsm", "runtime", *(p for p in parts if p != "__init__")))


def _imports(path: Path) -> Iterator[str]:
    """The modules of this package that a file imports, also where only types need them."""
    package = _module(path).split(".")
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=name, level=0) if name is not None:
                yield name
            case ast.ImportFrom(module=name, level=level, names=names):
                home = package[: len(package) - level + 1]
                if name is None:
                    yield from (".".join([*home, alias.name]) for alias in names)
                else:
                    yield ".".join([*home, name])


@pytest.mark.parametrize("path", [*CONVERSATION, *HOST], ids=lambda path: path.stem)
def test_the_conversation_imports_no_framework(path: Path) -> None:
    """Neither LiveKit nor the adapter, not even for types."""
    foreign = ("livekit", "pipecat", "turnfsm.runtime.livekit", "turnfsm.livekit")
    foreign += ("turnfsm.runtime.pipecat", "turnfsm.pipecat")
    assert [name for name in _imports(path) if name.startswith(foreign)] == []


def test_the_conversation_runs_without_a_framework() -> None:
    """What it imports imports none either."""
    modules = ", ".join(_module(path) for path in [*CONVERSATION, *HOST])
    script = (
        f"import sys, {modules}\nassert not [m for m in sys.modules if m.startswith('livekit')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("path", CONVERSATION, ids=lambda path: path.stem)
def test_the_conversation_speaks_of_no_framework(path: Path) -> None:
    """What it says holds for any: no name of one, no type that says nothing, no task of another."""
    text = path.read_text("utf-8")
    assert re.findall(r"(?i:livekit|pipecat)|\bAny\b|asyncio\.Task\b", text) == []


def test_the_ports_do_not_grow() -> None:
    """What a framework must provide. A port more needs an action that no other can carry out."""
    tree = ast.parse((RUNTIME / "conversation" / "ports.py").read_text("utf-8"))
    members = [
        f"{port.name}.{ast.unparse(member).split('(')[0]}"
        for port in tree.body
        if isinstance(port, ast.ClassDef) and "Protocol" in map(ast.unparse, port.bases)
        for member in port.body
        if isinstance(member, ast.FunctionDef | ast.AnnAssign)
    ]
    assert len(members) <= 30, members


@pytest.mark.parametrize("package", ["conversation", "host", "livekit", "pipecat", "store", "view"])
def test_nothing_is_imported_in_circles(package: str) -> None:
    """The modules of each package can be ordered so that imports only go backwards."""
    paths = {_module(p): p for p in (RUNTIME / package).rglob("*.py") if p.name != "__init__.py"}
    left = {module: {n for n in _imports(path) if n in paths} for module, path in paths.items()}
    while free := [module for module, needs in left.items() if not needs & set(left)]:
        for module in free:
            del left[module]
    assert left == {}


@pytest.mark.parametrize("path", CONVERSATION, ids=lambda path: path.stem)
def test_no_decision_hides_in_the_host(path: Path) -> None:
    """What an action does depends on the action, not on the trigger that chose it."""
    compared = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Compare | ast.Match | ast.Subscript)
    ]
    decided = [text for text in compared if "event.trigger" in text and "timers[" not in text]
    assert decided == []
