"""The conversations of the conformance suite, which `conformance.yaml` lists."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from turnfsm.fsm import load_flow, parse_flow

from .conformance import Talk, Tool
from .script import Answer, Call, Sound, Step

__all__ = ["TALKS"]


def _read(file: Path) -> Mapping[str, Talk]:
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    flows = {name: parse_flow(text)[0] for name, text in data["flows"].items()}
    answers = {words: _answer(**given) for words, given in data["answers"].items()}
    talks = {}
    for name, given in data["talks"].items():
        flow = given.pop("flow", "turn")
        fields: dict[str, Any] = {
            **given,
            **{key: tuple(given.get(key, ())) for key in ("heard", "interrupted", "effects")},
            "user": tuple(Sound(**sound) for sound in given["user"]),
            "do": tuple(Step(**step) for step in given.get("do", ())),
            "states": tuple(given.get("states", "").split()),
            "tools": {tool: Tool(**of) for tool, of in given.get("tools", data["tools"]).items()},
            "flow": flows[flow] if flow in flows else load_flow(flow),
        }
        talks[name] = Talk(answers=answers, results=data["results"], **fields)
    return talks


def _answer(
    *, error: str | None = None, calls: tuple[str, ...] = (), **given: Any
) -> Answer | Exception:
    if error is not None:
        return RuntimeError(error)
    return Answer(calls=tuple(map(Call, calls)), **given)


TALKS: Mapping[str, Talk] = _read(Path(__file__).with_name("conformance.yaml"))
"""By name."""
