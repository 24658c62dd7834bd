"""Reads a scenario from its YAML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import attrs

from turnfsm.fsm import Flow, FlowError, TurnfsmError
from turnfsm.fsm.diagnostics import Finding, render_findings
from turnfsm.fsm.load.structure import structure_as
from turnfsm.fsm.load.yaml12 import read_nodes, unfold
from turnfsm.fsm.source import Page, Source, Unreadable

from .script import Script
from .script_rules import check_script

__all__ = ["ScriptError", "load_script"]


class ScriptError(TurnfsmError):
    """A scenario file that cannot be played.

    Args:
        findings: Every problem of the file, in the order of its lines.

    Attributes:
        findings: The same.
    """

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(render_findings(findings))
        self.findings = tuple(sorted(findings))


def load_script(file: str | File) -> Script:
    """Read a scenario.

    Args:
        file: The YAML file.

    Returns:
        The scenario, for `play_script`.

    Raises:
        ScriptError: The file is not a scenario. The message has every finding with its place.

    Example:
        >>> from turnfsm.testing import load_script
        >>> load_script("hello.yaml").name
        'the agent greets'
    """
    file = File(file)
    try:
        page = Page(str(file), file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ScriptError(
            [Page(str(file), "").whole.finding(why.lower(), "name a readable file")]
        ) from None
    if not page.text.strip():
        message = "the scenario is empty"
        raise ScriptError([Finding(1, 1, 1, message, "begin with 'name: ...'", file=str(file))])
    return _read(page, file)


def _read(page: Page, file: File) -> Script:
    root, findings = read_nodes(page)
    source = Source(page)
    script: Script | None = None
    if root is not None:
        try:
            data = unfold(root, source)
        except Unreadable as exc:
            raise ScriptError([*findings, exc.finding]) from None
        script, problems = structure_as(Script, _spelt_out(data), source)
        findings += problems
    if script is not None:
        script = attrs.evolve(script, file=file, source=source)
        findings += check_script(script, source, _flow_of(script))
    if script is None or findings:
        raise ScriptError(findings)
    places = [source.place(("expect", i)).rsplit(":", 1)[0] for i in range(len(script.expect))]
    return attrs.evolve(script, places=tuple(places))


def _flow_of(script: Script) -> Flow | str:
    """The flow, or the reason why there is none."""
    try:
        return script.load_flow()
    except FlowError as error:
        return str(error).splitlines()[0]


def _spelt_out(data: Any) -> Any:
    """Expand short forms: a text is an answer's `text`, a name is a call's `tool`."""
    model = data.get("model") if isinstance(data, dict) else None
    if not isinstance(model, dict):
        return data
    for holder, key in _answers(model):
        if isinstance(holder[key], str):
            holder[key] = {"text": holder[key]}
        elif isinstance(holder[key], dict) and "calls" in holder[key]:
            calls = holder[key]["calls"]
            calls = calls if isinstance(calls, list) else [calls]
            holder[key]["calls"] = [{"tool": c} if isinstance(c, str) else c for c in calls]
    return data


def _answers(model: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for rules in (model.get(key) for key in ("on_user", "on_tool", "on_update")):
        if isinstance(rules, dict):
            yield from ((rules, key) for key in rules)
    if "otherwise" in model:
        yield model, "otherwise"
