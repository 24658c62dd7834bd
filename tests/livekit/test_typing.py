"""What a type checker sees of a session: wrong arguments are errors, results have types."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from installed import PIPECAT
from livekit.agents import Agent, AgentSession, RunContext, function_tool

from turnfsm.livekit import TurnContext, TurnSession
from turnfsm.runtime.livekit.options import SessionOptions, StartOptions
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

# More than half of the files that mypy reads otherwise; no type of theirs is in ours.
MYPY = """
[mypy]
strict = true
[mypy-openai.*,mcp.*,cryptography.*,psycopg.*]
follow_imports = skip
"""


@pytest.mark.exhaustive
def test_an_application_passes_mypy_and_its_mistakes_do_not(tmp_path: Path) -> None:
    """The file holds both: a mistake that passed would leave a "type: ignore" without need."""
    file, config = str(HERE / "typed_agent.py"), tmp_path / "mypy.ini"
    config.write_text(MYPY)
    kept = str(ROOT / ".mypy_cache" / "typed_agent")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", kept, file],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


EXAMPLES = [
    folder.name
    for folder in sorted((ROOT / "examples").iterdir())
    if list(folder.glob("*.py")) and folder.name not in ("room", "pipecat")
]
EXAMPLES += ["pipecat"] * PIPECAT


@pytest.mark.exhaustive
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_passes_mypy(example: str, tmp_path: Path) -> None:
    """Also the parts without annotations, as a newcomer writes them; pyright, if it is installed,
    agrees."""
    folder = ROOT / "examples" / example
    files = [file.name for file in folder.glob("*.py")]
    config = tmp_path / "mypy.ini"
    config.write_text(MYPY.replace("strict", "check_untyped_defs"))
    kept = str(ROOT / ".mypy_cache" / "examples")
    mypy = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", kept]
    checkers = [mypy]
    if pyright := shutil.which("pyright"):
        checkers.append([pyright, "--pythonpath", sys.executable])
    for checker in checkers:
        found = subprocess.run(
            [*checker, *files],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("options", "method", "apart"),
    [
        (SessionOptions, AgentSession.__init__, set()),
        (StartOptions, AgentSession.start, {"agent", "capture_run"}),
    ],
    ids=["AgentSession", "start"],
)
def test_the_options_are_those_of_livekit(options: Any, method: Any, apart: set[str]) -> None:
    """A name or type that LiveKit adds, changes or takes away is seen here."""
    theirs = {
        name: _plain(annotation)
        for name, annotation in inspect.get_annotations(inspect.unwrap(method)).items()
        if name not in {"return", *apart}
    }
    assert _given(options) == theirs


def _given(options: Any) -> Mapping[str, str]:
    hints = inspect.get_annotations(options)
    return {name: _plain(hint.__forward_arg__) for name, hint in hints.items()}


def _plain(annotation: str) -> str:
    # LiveKit writes generic classes without their argument, and has its own name for a sampler;
    # `record` may be left out there, as it may here.
    text = "".join(annotation.replace("[Any]", "").replace("_VideoSampler", "VideoSampler").split())
    return text.replace("NotGivenOr[bool|RecordingOptions]", "bool|RecordingOptions")


@pytest.mark.parametrize("annotation", [TurnContext[str], TurnContext, RunContext[str], RunContext])
def test_a_tool_may_name_the_type_of_its_userdata(annotation: Any) -> None:
    """`TurnContext[str]` is taken as `RunContext[str]` is: the model does not see the parameter."""

    async def greet(context: Any) -> str:
        return f"for {context.userdata}"

    greet.__annotations__["context"] = annotation
    tool = function_tool(greet, name="greet", description="Greet.")
    model = ScriptedLLM({"hello": Reply(calls=Call("greet"))}, {"greet": "Good morning."})
    stage = Stage(
        TurnSession,
        user=ScriptedUser().says("hello", at=1.0),
        llm=model,
        agent=lambda: Agent(instructions="Help.", tools=[tool]),
        userdata="Ada",
    )
    outcome = stage.run(6.0)
    assert [run.message for run in outcome.tools] == ["for Ada"]
    assert outcome.heard_saying("Good morning.") is not None
