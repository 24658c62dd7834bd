"""The examples and the code of docs/testing.md do what the page says."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.metadata import distributions
from io import StringIO
from pathlib import Path
from textwrap import indent

import pytest

ROOT = Path(__file__).parents[2]
BOOKING = ROOT / "examples" / "booking"
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
INI = """\
[pytest]
asyncio_default_fixture_loop_scope = function
pythonpath = .
"""
WRONG = """\
name: what nobody says
user:
  - {at: 1.0, says: hello}
expect:
  - {speaking: Good evening, within: 1.0, after: hello}
"""
RADIO = """\
flow: radio
extends: push_to_talk
button: {}
"""
LINES = """\
from functools import partial

from turnfsm.livekit import TurnSession
from turnfsm.testing import *


def test_lines_can_run():
"""
"""What stands before lines that are no test by themselves."""
PIPECAT = any(one.name == "pipecat-ai" for one in distributions())
"""Whether the blocks that play a pipeline can run."""


def blocks(language: str) -> list[str]:
    """The code of the page in that language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


# An installed turnfsm brings its plugin along; others take seconds to import.
PLUGINS = [f"-p{name}" for name in ("turnfsm.testing.scenarios", "pytest_asyncio.plugin")]
PLUGINS.append("-pno:cacheprovider")


@pytest.mark.exhaustive
def test_examples_run_as_documented() -> None:
    """The command of the page plays the tests and the scenarios, all of them."""
    console = blocks("console")[0]
    assert console.startswith("$ pytest ")
    words = console.removeprefix("$ pytest ").split()
    command = [sys.executable, "-m", "pytest", *PLUGINS, *words, "-o", "addopts="]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    scenarios = list((BOOKING / "scenarios").glob("*.yaml"))
    tests = (BOOKING / "test_waiter.py").read_text().count("\ndef test_")
    assert done.returncode == 0, done.stdout
    assert f"{len(scenarios) + tests} passed" in done.stdout


def test_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block in Python is a test that passes, or lines of one; each in YAML is a scenario that
    passes. One that fails shows what was expected, where that stands, and all that happened
    instead; no traceback."""
    assert (len(blocks("python")), len(blocks("yaml"))) == (6, 1)
    shutil.copy(BOOKING / "waiter.py", tmp_path)
    (tmp_path / "radio.yaml").write_text(RADIO)
    runs = [code for code in blocks("python") if PIPECAT or "turnfsm.testing.pipecat" not in code]
    for number, code in enumerate(runs):
        (tmp_path / f"test_block{number}.py").write_text(
            code if "def test_" in code else LINES + indent(code, "    ")
        )
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["turnfsm.testing.plugin"]\n')
    (tmp_path / "pytest.ini").write_text(INI)
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    for number, code in enumerate(blocks("yaml")):
        (scenarios / f"block{number}.yaml").write_text(code)
    (scenarios / "wrong.yaml").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delitem(sys.modules, "waiter", raising=False)
    monkeypatch.delitem(sys.modules, "conftest")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with redirect_stdout(StringIO()) as out:
        pytest.main([*PLUGINS, ".", "--turnfsm-scenarios", "scenarios"])
    printed = out.getvalue()

    assert f"{len(runs) + 1} passed" in printed, printed
    assert "1 failed" in printed
    assert "wrong.yaml:5" in printed
    assert "Good evening" in printed
    assert re.search(r"turn +thinking -> speaking \(playout_started\)", printed)
    assert re.search(r"heard +.I see\.. until", printed)
    assert "Traceback" not in printed
