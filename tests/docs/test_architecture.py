"""docs/architecture.md: what it names exists, and imports go the way that it says."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


FRAMEWORKS = ("livekit", "pipecat")
MAY_USE_LIVEKIT = ("livekit", "demo", "testing", "cli")
FOR_EACH = ("compare", "demo", "testing")  # they have a folder for each framework, or for one more


def imports(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it, for types too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


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


def test_fsm_imports_no_runtime_and_no_framework() -> None:
    """No module of fsm imports runtime, asyncio or a framework."""
    for path in modules("fsm"):
        wrong = [
            name
            for name in imports(path)
            if name.startswith("turnfsm.runtime") or name.split(".")[0] in (*FRAMEWORKS, "asyncio")
        ]
        assert wrong == [], path


def test_runtime_conversation_imports_no_framework() -> None:
    """Nor does anything of it import an adapter, not even for types."""
    for path in [*modules("runtime/conversation"), *modules("runtime/host")]:
        wrong = [
            name
            for name in imports(path)
            if name.split(".")[0] in FRAMEWORKS
            or name.startswith(("turnfsm.runtime.livekit", "turnfsm.runtime.pipecat"))
        ]
        assert wrong == [], path


def test_the_pump_imports_no_conversation_and_no_adapter() -> None:
    """The modules right in runtime import neither the conversation nor an adapter."""
    for path in sorted((ROOT / "runtime").glob("*.py")):
        wrong = [n for n in imports(path) if re.match(r"turnfsm\.runtime\.(conv|livek)", n)]
        assert wrong == [], path


def test_a_framework_is_imported_where_it_belongs() -> None:
    """In its adapter, the comparison, the demo, the test kit and their commands."""
    for path in modules("runtime"):
        part, inside, *_ = (*path.relative_to(ROOT / "runtime").parts, "")
        own = {inside if part in FOR_EACH else part} & {*FRAMEWORKS}
        may = own or ({"livekit"} if part in MAY_USE_LIVEKIT else set())
        used = {name.split(".")[0] for name in imports(path)} & {*FRAMEWORKS}
        assert used <= may, path
