"""The scripted models of these conversations, by the rules of `models.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import yaml

from turnfsm.runtime.compare.answers import Rules, Seen, answer_to, calls_of
from turnfsm.runtime.testing.pipecat import Messages, Model, Says, said

__all__ = ["MODELS", "model"]

RULES: Mapping[str, Rules] = yaml.safe_load(
    Path(__file__).with_name("models.yaml").read_text(encoding="utf-8")
)["models"]


def model(name: str, messages: Messages, *, preamble: str = "", thinks: float = 0.4) -> Says:
    """The answer of a model.

    Args:
        name: The name of its rules.
        messages: The request.
        preamble: What it says before it calls a tool, instead of what the rules say.
        thinks: Seconds until its first token.
    """
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
    calls = tuple(calls_of(answer))
    text = preamble if preamble and calls else answer["text"]
    return Says(text, calls, after=thinks, fails=answer.get("fails", False))


MODELS: Mapping[str, Model] = {name: partial(model, name) for name in RULES}
"""By name."""
