"""The pytest plugin that plays YAML scenarios: `pytest --turnfsm-scenarios DIR`."""

from turnfsm.runtime.testing.scenarios import (
    ScenarioFailed,
    ScenarioFile,
    ScenarioItem,
    pytest_addoption,
    pytest_collect_file,
    pytest_configure,
)

__all__ = [
    "ScenarioFailed",
    "ScenarioFile",
    "ScenarioItem",
    "pytest_addoption",
    "pytest_collect_file",
    "pytest_configure",
]
