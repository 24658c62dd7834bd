"""The distribution: what the wheel holds, what it asks for, and what an import pulls in."""

import re
import subprocess
import sys
import time
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def names(wheel: Path) -> set[str]:
    """Return the path of every file in the wheel."""
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture
def metadata(wheel: Path) -> Message:
    """Parse the wheel's core metadata."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_puts_nothing_generic_into_site_packages(names: set[str]) -> None:
    """Only the two packages and the metadata stand at the top."""
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"turnfsm", "turnfsm-0.1.0.dist-info"}


@pytest.mark.parametrize(
    ("package", "pattern", "inside"),
    [
        ("turnfsm", "*.py", "turnfsm"),
        ("turnfsm/testing", "*.py", "turnfsm/testing"),
        ("fsm", "**/*.py", "turnfsm/fsm"),
        ("runtime", "**/*.py", "turnfsm/runtime"),
        ("fsm", "**/*.toml", "turnfsm/fsm"),
        ("fsm", "**/*.css", "turnfsm/fsm"),
        ("runtime", "**/*.toml", "turnfsm/runtime"),
        ("specs", "*.yaml", "turnfsm/specs"),
        ("fsm/diagram/fonts", "*", "turnfsm/fsm/diagram/fonts"),
        ("runtime/view/assets", "*", "turnfsm/runtime/view/assets"),
        ("runtime", "**/*.yaml", "turnfsm/runtime"),
        ("runtime/demo/recordings", "*", "turnfsm/runtime/demo/recordings"),
    ],
)
def test_the_wheel_holds_what_the_tree_holds(
    names: set[str], package: str, pattern: str, inside: str
) -> None:
    """Code, shipped flows, fonts and recordings are all in the wheel."""
    here = [path for path in (ROOT / package).glob(pattern) if path.is_file()]
    wanted = {f"{inside}/{path.relative_to(ROOT / package).as_posix()}" for path in here}
    assert wanted, f"{package}/{pattern} matches nothing"
    assert wanted <= names


def test_make_coverage_measures_all_code_of_the_wheel(names: set[str]) -> None:
    """It does not follow the links in `turnfsm`: their folders are named."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]
    code = {(ROOT / name).resolve().relative_to(ROOT) for name in names if name.endswith(".py")}
    assert {path.parts[0] for path in code} == set(options["source"])


def test_the_wheel_is_typed_and_licensed(names: set[str], metadata: Message) -> None:
    """The wheel has py.typed and the licences."""
    assert "turnfsm/py.typed" in names
    assert "turnfsm-0.1.0.dist-info/licenses/LICENSE" in names
    assert metadata.get_all("License-File") == ["LICENSE", "turnfsm/fsm/diagram/fonts/LICENSE.txt"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_core_asks_for_no_livekit_and_no_gpl(metadata: Message) -> None:
    """LiveKit, Piper and Moonshine come with extras only."""
    requirements = metadata.get_all("Requires-Dist", [])
    core = {re.split(r"[^\w-]", r)[0] for r in requirements if "extra ==" not in r}
    assert core == {"attrs", "pyyaml", "transitions", "typer", "rich"}
    assert set(metadata.get_all("Provides-Extra", [])) == {
        *("livekit", "pipecat", "png", "postgres", "smart-turn", "demo")
    }


def test_the_installed_package_finds_its_flows(wheel: Path, tmp_path: Path) -> None:
    """Outside a checkout, a shipped flow loads by its name."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import turnfsm.fsm as fsm; "
        "print(fsm.__file__, fsm.load_flow('turn').name)"
    )
    printed = _python("-c", code, cwd=tmp_path)
    assert printed.split() == [str(tmp_path / "turnfsm" / "fsm" / "__init__.py"), "turn"]


@pytest.mark.parametrize("module", ["turnfsm", "turnfsm.fsm", "turnfsm.runtime.pump"])
def test_the_core_imports_without_livekit(module: str) -> None:
    """The machine and the pump can be used without LiveKit."""
    assert not _modules(f"import {module}") & {"livekit", "numpy", "pydantic", "typer", "rich"}


@pytest.mark.parametrize(
    ("imported", "extra"),
    [
        ("import turnfsm.livekit", "livekit"),
        ("from turnfsm.testing import Stage", "livekit"),
        ("import turnfsm.pipecat", "pipecat"),
        ("import turnfsm.testing.pipecat", "pipecat"),
    ],
)
def test_a_module_without_its_extra_says_how_to_install_it(imported: str, extra: str) -> None:
    code = f"""
import sys
sys.modules["livekit.agents"] = sys.modules["pipecat.frames"] = None
try:
    {imported}
except ModuleNotFoundError as error:
    print(error)
"""
    assert f"pip install 'turnfsm[{extra}]'" in _python("-c", code)


def test_help_imports_little() -> None:
    """`turnfsm --help` stays quick: it loads Typer and nothing that a command needs."""
    code = (
        "import contextlib, io, turnfsm.runtime.cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    turnfsm.runtime.cli.main(['--help'])"
    )
    heavy = {"livekit", "numpy", "transitions", "yaml", "rich", "pydantic", "asyncio"}
    assert not _modules(code) & heavy


def test_help_answers() -> None:
    """The command itself answers; the time is printed, for `pytest -rP`."""
    begin = time.perf_counter()
    printed = _python("-m", "turnfsm.runtime.cli", "--help")
    print(f"turnfsm --help: {time.perf_counter() - begin:.3f} s")
    assert printed.startswith("Usage: turnfsm")


def _modules(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the top-level modules that it loaded."""
    report = "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return set(_python("-c", code + report).split())


def _python(*arguments: str, cwd: Path = ROOT) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout
