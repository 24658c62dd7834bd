"""Reads `scenarios.yaml` of a host: the classes of failure, the scenarios, the text of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from .scenario import Build, Contender, FailureClass, Host, Scenario, Verdict

__all__ = ["Check", "read_host", "verdict_of"]

Check = Callable[..., list[str]]
"""Takes the outcome of a conversation, and its arguments. Returns the problems."""


def read_host(
    file: Path,
    *,
    version: str,
    stock: Contender,
    ours: Contender,
    conversation: Callable[[dict[str, Any]], tuple[Build, Verdict]],
) -> Host:
    """Read a host. The other arguments are as in `Host`.

    Args:
        conversation: Takes the entry of a scenario, and removes the keys that it uses. Returns the
            functions that play and judge the scenario.
    """
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    scenarios = []
    for id, entry in data["scenarios"].items():
        build, verdict = conversation(entry)
        scenarios.append(Scenario(id=id, build=build, verdict=verdict, **entry))
    return Host(
        framework=data["framework"],
        version=version,
        stock=stock,
        ours=ours,
        classes=tuple(
            FailureClass(letter, of["title"], of["is"], of["cure"])
            for letter, of in data["classes"].items()
        ),
        all=tuple(scenarios),
        intro=data["intro"],
    )


def verdict_of(written: Iterable[str | Mapping[str, Any]], known: Mapping[str, Check]) -> Verdict:
    """The verdict of an entry's `expect`: the problems that all its checks find.

    Args:
        written: The checks: the name, or a mapping whose first key is the name, with its argument,
            and further arguments.
        known: The checks of the host by name.
    """
    checks = [_check(one, known) for one in written]
    return lambda outcome: [problem for check in checks for problem in check(outcome)]


def _check(written: str | Mapping[str, Any], known: Mapping[str, Check]) -> Check:
    if isinstance(written, str):
        return known[written]
    (name, argument), *more = written.items()
    check = known[name]
    return lambda outcome: check(outcome, argument, **dict(more))
