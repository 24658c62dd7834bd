"""The answers of a scripted model, by rules from a YAML file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

__all__ = ["Rules", "Seen", "answer_to", "calls_of"]

Rules = Sequence[Mapping[str, Any]]
"""The first rule whose conditions hold gives the answer. Its other keys: the `text` and `calls` of
the answer; `all`: rules whose texts are joined; `as`: the name of other rules that give the answer,
optionally with a `preamble` for their calls."""


@attrs.frozen
class Seen:
    """A request as the rules see it.

    Attributes:
        last: The text to answer.
        by: The role of its author, such as ``user`` or ``developer``.
        user: The user's last message.
        said: Everything that the agent has said.
        shown: Every message and result.
        results: The results of the calls.
        called: The request contains a call.
    """

    last: str
    by: str
    user: str
    said: str
    shown: Sequence[str]
    results: Sequence[str]
    called: bool


_CONDITIONS: Mapping[str, Callable[[Seen, Any], bool]] = {
    "last": lambda seen, text: text in seen.last,
    "by": lambda seen, who: who == seen.by,
    "user": lambda seen, text: text in seen.user,
    "said": lambda seen, text: text in seen.said,
    "not_said": lambda seen, text: text not in seen.said,
    "shown": lambda seen, text: any(text in one for one in seen.shown),
    "not_shown": lambda seen, text: not any(text in one for one in seen.shown),
    "result": lambda seen, text: any(text in one for one in seen.results),
    "called": lambda seen, called: called == seen.called,
}


def answer_to(
    seen: Seen, rules: Rules, named: Mapping[str, Rules] | None = None
) -> Mapping[str, Any]:
    """The answer that the rules give.

    Args:
        seen: The request.
        rules: The rules; one of them must hold.
        named: The rules that `as` may name.
    """
    rule = next(rule for rule in rules if _holds(rule, seen))
    if "as" in rule:
        answer = answer_to(seen, (named or {})[rule["as"]], named)
        spoken = "preamble" in rule and "calls" in answer
        return {**answer, "text": rule["preamble"]} if spoken else answer
    texts = [one["text"] for one in rule.get("all", (rule,)) if "text" in one and _holds(one, seen)]
    result = seen.results[-1] if seen.results else ""
    return {**rule, "text": " ".join(texts).format(user=seen.user, result=result)}


def calls_of(answer: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls of an answer: name and arguments."""
    for call in answer.get("calls", ()):
        yield (call, {}) if isinstance(call, str) else (call["name"], dict(call["arguments"]))


def _holds(rule: Mapping[str, Any], seen: Seen) -> bool:
    return all(
        condition(seen, wanted)
        for name, condition in _CONDITIONS.items()
        if name in rule
        for wanted in (rule[name] if isinstance(rule[name], list) else [rule[name]])
    )
