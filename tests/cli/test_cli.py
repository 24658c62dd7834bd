"""The command line: its registry, and what a user sees when something is wrong."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

import runtime.cli
from fsm.errors import FlowError
from runtime.cli import COMMANDS, main


def run(*words: str) -> int:
    """Run the command line and return its exit status."""
    with pytest.raises(SystemExit) as stopped:
        main(words)
    return int(stopped.value.code or 0)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Register a command `probe` whose function a test sets."""
    module = ModuleType("runtime.cli.probe")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(runtime.cli.COMMANDS, "probe", "A command of this test.")
    return module


def raising(error: Exception) -> object:
    """Return a command that raises this error."""

    def probe() -> None:
        raise error

    return probe


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each registered command stands in the help with its whole line."""
    assert run("--help") == 0
    lines = {line.strip() for line in capsys.readouterr().out.splitlines()}
    width = max(map(len, COMMANDS))
    assert {f"{name:{width}}  {line}" for name, line in COMMANDS.items()} <= lines


def test_the_registry_is_the_folder() -> None:
    """Every public module of runtime.cli is a command, and every command has its module."""
    folder = Path(runtime.cli.__file__).parent
    assert {path.stem for path in folder.glob("[!_]*.py")} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command loads and says how it is called."""
    assert run(name, "--help") == 0
    assert capsys.readouterr().out.startswith(f"Usage: turnfsm {name} ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the name and the version of the distribution."""
    assert run("--version") == 0
    assert capsys.readouterr().out == "turnfsm 0.1.0\n"


def test_an_unknown_command_is_answered_with_the_near_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A misspelt command exits with 2 and names the one that was meant."""
    assert run("rendr") == 2
    assert "No such command 'rendr'. Did you mean 'render'?" in capsys.readouterr().err


def test_a_flow_error_is_printed_whole_and_alone(
    command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error in a flow goes to stderr as it is, without a traceback, and exits with 2."""
    error = FlowError("a.yaml:3:1: no such state")
    command.probe = raising(error)
    assert run("probe") == 2
    assert capsys.readouterr() == ("", f"{error}\n")


@pytest.mark.parametrize(
    ("module", "extra"),
    [("livekit.agents", "livekit"), ("resvg_py", "png"), ("piper", "demo")],
)
def test_a_missing_extra_is_named(
    module: str, extra: str, command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not installed is named together with the words that install it."""
    command.probe = raising(ModuleNotFoundError(f"No module named {module!r}", name=module))
    assert run("probe") == 2
    written = capsys.readouterr().err
    assert module in written
    assert f"pip install 'turnfsm[{extra}]'" in written
    assert "Traceback" not in written


def test_an_unreadable_file_is_named(
    command: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that cannot be opened is named with the system's reason."""
    command.probe = lambda: print((tmp_path / "gone.yaml").read_text())
    assert run("probe") == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/gone.yaml: No such file or directory\n"


def test_a_bug_of_ours_keeps_its_traceback(command: ModuleType) -> None:
    """Errors that no input explains are not swallowed."""
    command.probe = raising(KeyError("ours"))
    with pytest.raises(KeyError, match="ours"):
        main(["probe"])
