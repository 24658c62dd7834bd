"""`turnfsm livekit`: what a livekit-agents lacks, and which features that costs."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import livekit.agents
import pytest
from command import run as command_run

from turnfsm.runtime.livekit_contract.elsewhere import interpreter_with

RENAMED = "_disable_vad_interruption_soon"


run = partial(command_run, "livekit")


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An interpreter with a wheel of the livekit-agents that is installed here, in which one
    private method has another name."""
    home = Path(livekit.agents.__file__).parent
    name = "livekit_agents-1.8.99"
    wheel = tmp_path_factory.mktemp("wheel") / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in home.rglob("*.py"):
            text = path.read_text("utf-8").replace(RENAMED, f"{RENAMED}s")
            archive.writestr(f"livekit/agents/{path.relative_to(home).as_posix()}", text)
        facts = {
            "METADATA": "Metadata-Version: 2.1\nName: livekit-agents\nVersion: 1.8.99\n",
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }
        for file, text in facts.items():
            archive.writestr(f"{name}.dist-info/{file}", text)
    with interpreter_with(str(wheel)) as interpreter:
        yield str(interpreter)


def test_the_installed_release_lacks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Without an argument: the livekit-agents that is imported here."""
    assert run() == 0
    version = livekit.agents.__version__
    assert capsys.readouterr().out.startswith(f"livekit-agents {version}: ")


def test_an_environment_is_looked_at_by_its_own_interpreter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By its folder; the result is that of the environment."""
    assert run() == 0
    here = capsys.readouterr().out
    assert run(sys.prefix) == 0
    assert capsys.readouterr().out == here


@pytest.mark.exhaustive
def test_a_wheel_is_looked_at(renamed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A renamed method is named, with the feature that it costs; nothing is installed here."""
    assert run(renamed) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("livekit-agents 1.8.99: ")
    assert "lost: LiveKit's turn detection knows when audio is paused (turn_detection)" in printed
    assert f"  - the method AgentActivity.{RENAMED} is missing" in printed
    assert livekit.agents.__version__ != "1.8.99"


def test_a_command_runs_with_the_release(
    renamed: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What follows `--` are arguments of Python; its exit status is that of the command."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, turnfsm.fsm\nfrom importlib.metadata import version\n"
        "print(version('livekit-agents'), sys.argv[1:])\nsys.exit(3)\n"
    )
    assert run(renamed, "--", str(script), "-x") == 3
    assert capfd.readouterr().out == "1.8.99 ['-x']\n"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("{tmp}", "error: {tmp} is no environment: it has no bin/python"),
        ("{tmp}/no.whl", "error: {tmp}/no.whl is no file"),
        ("{tmp}/python", "error: {tmp}/python cannot look at livekit-agents: it is broken"),
    ],
    ids=["folder", "no file", "broken interpreter"],
)
def test_what_cannot_be_looked_at_is_said(
    named: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2, and what is wrong with the argument."""
    (tmp_path / "python").write_text("#!/bin/sh\necho it is broken >&2; exit 1\n")
    (tmp_path / "python").chmod(0o755)
    assert run(named.format(tmp=tmp_path)) == 2
    assert capsys.readouterr().err.startswith(said.format(tmp=tmp_path))
