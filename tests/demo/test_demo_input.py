"""What bad input of the command gets: status 2, one message with a remedy, no traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from turnfsm.runtime.cli import main as command

WITHOUT = """
import sys
sys.modules["livekit"] = None  # as where it is not installed
from turnfsm.runtime.cli import main
main(["demo", *sys.argv[1:]])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command runs, with some files of the user."""
    (tmp_path / "open.yaml").write_text("flow: x\nstates: [listening\n")
    (tmp_path / "twice.yaml").write_text("extends: turn\nflow: x\nflow: y\n")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told", "remedy"),
    [
        (["--flow", "trun"], "no flow 'trun'", "did you mean 'turn'?"),
        (["--flow", "open.yaml"], "open.yaml:2:9: error: '[' is never closed", "add ']'"),
        (["--flow", "twice.yaml"], "twice.yaml:3:1: error: key 'flow' is given twice", "keep one"),
        (["--flow", "bytes.yaml"], "bytes.yaml:1:1: error: ", "UTF-8"),
        (["--flow", "none.yaml"], "none.yaml: error: no such file", "name a readable file"),
        (["--out", "mine"], "error: mine holds files of no earlier demo", "--out"),
        (["--out", "mine/notes.txt"], "error: mine/notes.txt is no folder", "--out"),
        (["--speed", "2"], "--text takes no time", "leave --speed out"),
    ],
)
def test_one_message_with_its_remedy(
    words: list[str], told: str, remedy: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is printed but the message, nothing is written, what is there stays."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(SystemExit) as ended:
        command(["demo", "--text", *words])
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert printed.out == ""
    assert told in printed.err
    assert remedy in printed.err
    assert "Traceback" not in printed.err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(("words", "extra"), [([], "demo"), (["--text"], "livekit")])
def test_missing_extra_is_named(words: list[str], extra: str, folder: Path) -> None:
    """The spoken conversation needs more than the typed one; each names what brings it all."""
    script = [sys.executable, "-c", WITHOUT, *words]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: livekit")
    assert done.stderr.count("is not installed") == 1
    assert done.stderr.endswith(f"= help: pip install 'turnfsm[{extra}]'\n")
    assert not (folder / "demo-out").exists()
