"""The command line: its registry, and what a user sees when something is wrong."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from command import run

import turnfsm.runtime.cli
from turnfsm.fsm.errors import FlowError, HostError, TurnfsmError
from turnfsm.runtime.cli import COMMANDS, main

Register = Callable[[Callable[[], None]], None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Register a function as the command `probe`."""
    module = ModuleType("turnfsm.runtime.cli.probe")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(turnfsm.runtime.cli.COMMANDS, "probe", "A command of this test.")
    return lambda command: monkeypatch.setattr(module, "probe", command, raising=False)


def raising(error: Exception) -> Callable[[], None]:
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
    """Every public module of turnfsm.runtime.cli is a command, and every command has its module."""
    folder = Path(turnfsm.runtime.cli.__file__).parent
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


@pytest.mark.parametrize("kind", [FlowError, HostError, TurnfsmError])
def test_a_user_error_is_printed_without_a_traceback(
    kind: type[TurnfsmError], register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that the user can correct goes to stderr after "error:"; the exit status is 2."""
    register(raising(kind("a.yaml:3:1: no such state")))
    assert run("probe") == 2
    assert capsys.readouterr() == ("", "error: a.yaml:3:1: no such state\n")


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("livekit.agents", "livekit"),
        ("pipecat", "pipecat"),
        ("resvg_py", "png"),
        ("piper", "demo"),
    ],
)
def test_a_missing_extra_is_named(
    module: str, extra: str, register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not installed is named together with the words that install it."""
    register(raising(ModuleNotFoundError(f"No module named {module!r}", name=module)))
    assert run("probe") == 2
    written = capsys.readouterr().err
    assert module in written
    assert f"pip install 'turnfsm[{extra}]'" in written
    assert "Traceback" not in written


def test_compare_without_pipecat_says_how_to_install_it() -> None:
    """In a process of its own, as this one may have imported it."""
    script = (
        "import sys; sys.modules['pipecat'] = None; from turnfsm.runtime.cli import main; "
        "main(['compare', '--host', 'pipecat'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'turnfsm[pipecat]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unreadable_file_is_named(
    register: Register, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that cannot be opened is named with the system's reason."""
    register(lambda: print((tmp_path / "gone.yaml").read_text()))
    assert run("probe") == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/gone.yaml: No such file or directory\n"


def test_a_bug_keeps_its_traceback(register: Register) -> None:
    """Errors that no input explains are not swallowed."""
    register(raising(KeyError("ours")))
    with pytest.raises(KeyError, match="ours"):
        main(["probe"])
