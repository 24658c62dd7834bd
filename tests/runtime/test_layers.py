"""Imports go the way that docs/architecture.md says, and never in a circle."""

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
FSM = sorted((RUNTIME.parent / "fsm").rglob("*.py"))
ADAPTERS = ("livekit", "pipecat", "turnfsm.runtime.livekit", "turnfsm.runtime.pipecat")
ADAPTERS += ("turnfsm.livekit", "turnfsm.pipecat")

LAYERS = {
    "fsm": (FSM, ("turnfsm.runtime", "asyncio", *ADAPTERS)),
    "pump": (sorted(RUNTIME.glob("*.py")), ("turnfsm.runtime.conversation", *ADAPTERS)),
    "conversation": (CONVERSATION, ADAPTERS),
    "host": (HOST, ADAPTERS),
}
"""The modules of each layer, and what none of them imports."""

MAY_USE_LIVEKIT = ("livekit", "demo", "testing", "cli")
FOR_EACH = ("compare", "demo", "testing")  # they have a folder for each framework, or for one more


def _module(path: Path) -> str:
    parts = path.relative_to(RUNTIME.parent).with_suffix("").parts
    return ".".join(("turnfsm", *(p for p in parts if p != "__init__")))


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


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_those_below(layer: str) -> None:
    """Not even for types."""
    paths, foreign = LAYERS[layer]
    assert paths
    wrong = {path.name: [n for n in _imports(path) if n.startswith(foreign)] for path in paths}
    assert not any(wrong.values()), wrong


def test_a_framework_is_imported_where_it_belongs() -> None:
    """In its adapter, the comparison, the demo, the test kit and their commands."""
    for path in RUNTIME.rglob("*.py"):
        part, inside, *_ = (*path.relative_to(RUNTIME).parts, "")
        own = {inside if part in FOR_EACH else part} & {"livekit", "pipecat"}
        may = own or ({"livekit"} if part in MAY_USE_LIVEKIT else set())
        used = {name.split(".")[0] for name in _imports(path)} & {"livekit", "pipecat"}
        assert used <= may, path


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


def test_nothing_is_imported_in_circles() -> None:
    """All modules can be ordered so that imports only go backwards, also those that only types
    need, or one function."""
    paths = {_module(path): path for path in (*FSM, *RUNTIME.rglob("*.py"))}
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
