"""The scripted models of these conversations, by the rules of `models.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import attrs
import yaml

from turnfsm.runtime.compare.answers import Rules, Seen, answer_to, calls_of
from turnfsm.runtime.testing.pipecat import Messages, Model, Says, said

__all__ = ["MODELS", "slowly", "with_preamble"]

RULES: Mapping[str, Rules] = yaml.safe_load(
    Path(__file__).with_name("models.yaml").read_text(encoding="utf-8")
)["models"]


def _model(name: str, messages: Messages) -> Says:
    texts = [(str(message.get("role")), str(message.get("content"))) for message in messages]
    by, last = texts[-1]
    seen = Seen(
        last=last,
        by=by,
        user=said(messages),
        said=" ".join(text for role, text in texts if role == "assistant"),
        shown=[text for _, text in texts],
        results=[text for role, text in texts if role == "tool"],
        called=any(message.get("tool_calls") for message in messages),
    )
    answer = answer_to(seen, RULES[name], RULES)
    return Says(answer["text"], tuple(calls_of(answer)), fails=answer.get("fails", False))


MODELS: Mapping[str, Model] = {name: partial(_model, name) for name in RULES}
"""By name."""


def with_preamble(model: Model, preamble: str) -> Model:
    """The same model, and it says something before it calls a tool."""

    def speaks_first(messages: Messages) -> Says:
        says = model(messages)
        return Says(preamble, says.calls) if says.calls else says

    return speaks_first


def slowly(model: Model, seconds: float = 1.5) -> Model:
    """The same model, after a number of seconds."""
    return lambda messages: attrs.evolve(model(messages), after=seconds)
