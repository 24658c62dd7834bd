"""docs/quickstart.md: every block of it is a file of examples/quickstart, and each is run."""

import ctypes.util
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from turnfsm.runtime.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "quickstart"
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the files that a reader of the page has saved."""
    for path in EXAMPLE.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    return tmp_path


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in the folder, as the page's commands do."""
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_the_blocks_are_the_files_of_the_example() -> None:
    """Python and YAML blocks are the files, each shown once."""
    blocks = re.findall(r"```(?:python|yaml)\n(.*?)```", PAGE, re.DOTALL)
    files = [p.read_text(encoding="utf-8") for p in EXAMPLE.iterdir() if p.is_file()]
    assert sorted(blocks) == sorted(files)


def test_the_flow_is_proved(project: Path) -> None:
    """`turnfsm check clerk.yaml` exits 0."""
    with pytest.raises(SystemExit) as exited:
        main(["check", str(project / "clerk.yaml")])
    assert exited.value.code in (0, None)


@pytest.mark.exhaustive
def test_stock_moves_the_money_and_one_word_stops_the_unchanged_flow(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the page says of AgentSession and of the flow as it ships."""
    barge_in = project / "test_agent.py"
    text = barge_in.read_text(encoding="utf-8")
    stock = "from livekit.agents import AgentSession as TurnSession"
    barge_in.write_text(text.replace("from turnfsm.livekit import TurnSession", stock))
    words = project / "test_one_word.py"
    text = words.read_text(encoding="utf-8")
    assert "clerk.yaml" in text
    words.write_text(text.replace('Path(__file__).with_name("clerk.yaml")', '"turn"'))
    plugins = ("-p", "turnfsm.testing.scenarios", "-p", "no:cacheprovider")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take seconds to import
    played = run(project, "pytest", "-q", *plugins, ".")
    failed = re.findall(r"^FAILED (\S+)", played.stdout, re.MULTILINE)
    assert failed == [
        "test_agent.py::test_a_caller_who_objects_keeps_the_money",
        "test_one_word.py::test_one_word_does_not_stop_the_clerk",
    ], played.stdout


@pytest.mark.exhaustive
@pytest.mark.skipif(
    ctypes.util.find_library("portaudio") is None, reason="LiveKit's console needs PortAudio"
)
def test_the_agent_answers_in_the_console(project: Path) -> None:
    """`python agent.py console --text` on a terminal: the typed sentence leads to the transfer."""
    sentence, typed = "please transfer fifty", ""
    missing = ["I transfer fifty euros now", "50 euros were transferred", "are on their way"]
    shown = ""
    terminal, its = pty.openpty()
    command = [sys.executable, "agent.py", "console", "--text"]
    agent = subprocess.Popen(command, cwd=project, stdin=its, stdout=its, stderr=its)
    until = time.monotonic() + 180  # a busy machine; it takes 5
    again = 0.0
    try:
        while missing and time.monotonic() < until:
            if select.select([terminal], [], [], 0.2)[0]:
                # the console draws itself many times a second: only the last of it is looked at
                new = os.read(terminal, 65536).decode(errors="replace")
                shown = words(shown[-5000:] + new)
                missing = [one for one in missing if one not in shown]
            # the console drops keys that come while it draws: each is typed until it is shown
            prompt = f"\u276f {typed}\u2588" if typed else "Type to talk"
            if prompt in shown and not typed.endswith("\r"):
                typed, again = (sentence + "\r")[: len(typed) + 1], 0.0
            if typed and time.monotonic() > again:
                os.write(terminal, typed[-1].encode())
                again = time.monotonic() + 5.0
    finally:
        agent.kill()
        agent.wait()
        os.close(its)
        os.close(terminal)
    assert missing == [], shown[-3000:]


def words(shown: str) -> str:
    """What a terminal shows, without its colours and line breaks."""
    return re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown))
