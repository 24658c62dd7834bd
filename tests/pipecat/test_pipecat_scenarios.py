"""Scenarios in YAML that are played in a pipeline: `host: pipecat`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from turnfsm.fsm import TurnfsmError
from turnfsm.testing import ScriptError, load_script
from turnfsm.testing import play_script as play_on_livekit
from turnfsm.testing.pipecat import play_script

TOOLS = """\
import asyncio

from turnfsm.livekit import on_interruption


def tools(governor):
    @on_interruption("detach")
    async def book(call):
        await asyncio.sleep(1.5)
        await governor.commit_point(call)
        await call.result_callback(f"booked for {call.arguments['time']}")

    return {"book": book}
"""

STORY = """\
name: a story
host: pipecat
agent: tools.py:tools
user:
  - {at: 1.0, says: a table please}
  - {at: 3.5, noise: 0.4}
model:
  on_user:
    a table: {text: One moment., calls: {tool: book, arguments: {time: eight}}}
    more: There is no more.
  on_tool: {book: See you at eight.}
"""

CHECKS = """\
expect:
  - {speaking: One moment., within: 2, after: a table}
  - {speaking: See you at eight., within: 4, after: 3.0}
  - {taken: turn_committed, while: listening}
  - {never: interrupted}
  - {tool: book, times: 1}
  - {history: booked for eight}
  - {state: listening, at: 12.0}
"""


def written(folder: Path, more: str, story: str = STORY) -> Path:
    (folder / "tools.py").write_text(TOOLS)
    file = folder / "story.yaml"
    file.write_text(story + more)
    return file


def test_a_scenario_is_played_with_the_tools_of_the_application(tmp_path: Path) -> None:
    played = play_script(load_script(written(tmp_path, CHECKS)))
    assert played.problems == (), played.timeline()


@pytest.mark.parametrize(
    ("step", "check"),
    [
        ("{at: 3.2, interrupt: true}", "{taken: step_interrupted}"),
        ("{at: 9.0, say: The shop closes.}", "{speaking: The shop closes., after: 9}"),
        ("{at: 9.0, reply: more}", "{speaking: There is no more., within: 2, after: 9}"),
    ],
)
def test_a_step_has_its_effect(step: str, check: str, tmp_path: Path) -> None:
    """What an application does at a moment."""
    played = play_script(load_script(written(tmp_path, f"do: [{step}]\nexpect: [{check}]\n")))
    assert played.problems == (), played.timeline()


@pytest.mark.parametrize(
    ("check", "instead"),
    [
        ("{speaking: Good bye.}", "'Good bye.' is not heard after 0.00 s"),
        ("{tool: book, times: 2}", "the tool book runs 1 time(s)"),
        ("{history: at nine}", "'at nine' is not in the conversation"),
        ("{never: thinking}", "thinking is entered at"),
    ],
)
def test_a_check_that_fails_says_what_happened_instead(
    check: str, instead: str, tmp_path: Path
) -> None:
    (problem,) = play_script(load_script(written(tmp_path, f"expect: [{check}]\n"))).problems
    assert problem.startswith(f"{tmp_path / 'story.yaml'}:12: {instead}")


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("turn_detection: stt", "turn_detection"),
        ("session: {max_tool_steps: 5}", "session"),
        ("do: [{at: 1.0, close: true}]", "close"),
    ],
)
def test_what_only_livekit_has_is_refused(key: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=f"'{named}' is not played on pipecat"):
        load_script(written(tmp_path, f"{key}\n{CHECKS}"))


def test_livekit_does_not_play_it(tmp_path: Path) -> None:
    with pytest.raises(TurnfsmError, match=r"story.yaml:2:1: .*turnfsm.testing.pipecat"):
        play_on_livekit(load_script(written(tmp_path, CHECKS)))


def test_pytest_plays_the_scenarios_of_the_example() -> None:
    folder = Path(__file__).parents[2] / "examples" / "pipecat" / "scenarios"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--turnfsm-scenarios",
        ".",
        "-pno:cacheprovider",
        "-Wignore",
    ]
    played = subprocess.run(
        [*command, "-o", "addopts="], cwd=folder, capture_output=True, text=True
    )
    assert "2 passed" in played.stdout, played.stdout + played.stderr
