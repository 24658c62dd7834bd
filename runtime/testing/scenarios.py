"""A pytest plugin: `pytest --turnfsm-scenarios DIR` plays the YAML scenarios of a folder.

pytest finds it by itself (an entry point). Without the option it does nothing and imports no
framework.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .script import Script

__all__ = ["ScenarioFailed", "ScenarioFile", "ScenarioItem"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("turnfsm").addoption(
        "--turnfsm-scenarios",
        action="append",
        default=[],
        metavar="DIR",
        help="play the turnfsm scenarios (*.yaml) in this folder, too; may be repeated",
    )


def _folders(config: pytest.Config) -> list[Path]:
    return [config.invocation_params.dir / d for d in config.getoption("turnfsm_scenarios")]


def pytest_configure(config: pytest.Config) -> None:
    for folder in _folders(config):
        if not folder.is_dir():
            raise pytest.UsageError(f"--turnfsm-scenarios: there is no folder {folder}")
        config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    if not any(file_path.is_relative_to(d.resolve()) for d in _folders(parent.config)):
        return None
    collected: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
    return collected


class ScenarioFailed(AssertionError):
    """A scenario has failed checks. Carries the problems and the timeline."""


class ScenarioFile(pytest.File):
    """A YAML file with one scenario."""

    def collect(self) -> Iterator[ScenarioItem]:
        from .script_file import ScriptError, load_script

        try:
            script = load_script(_shown(self.path, self.config))
        except ScriptError as error:
            raise self.CollectError(str(error)) from None
        yield ScenarioItem.from_parent(self, name=script.name, script=script)


class ScenarioItem(pytest.Item):
    """One scenario, played on its host in virtual time."""

    def __init__(self, *, script: Script, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.script = script

    def runtest(self) -> None:
        home = import_module(f"turnfsm.runtime.testing.{self.script.host}")
        played = home.play_script(self.script)
        if played.problems:
            raise ScenarioFailed("\n".join(played.problems) + "\n\n" + played.timeline())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from turnfsm.fsm import TurnfsmError

        if isinstance(excinfo.value, ScenarioFailed | TurnfsmError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"scenario {self.name}"


def _shown(path: Path, config: pytest.Config) -> Path:
    """The path for findings, relative to the folder in which pytest was started."""
    start = config.invocation_params.dir
    return path.relative_to(start) if path.is_relative_to(start) else path
