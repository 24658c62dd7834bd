"""What must be the same on both sessions if no switch is on: effects, and the conversation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

from .facts import Finding, outputs
from .play import Played

__all__ = ["disagreements"]


def disagreements(stock: Played, ours: Played) -> list[Finding]:
    """Where they differ."""
    return [Finding("differs", text) for text in _differences(stock, ours)]


def _differences(stock: Played, ours: Played) -> Iterator[str]:
    effects = [Counter((r.job, r.asked) for r in p.runs if r.second) for p in (stock, ours)]
    if effects[0] != effects[1]:
        yield f"effects: {dict(effects[1])}, on AgentSession {dict(effects[0])}"
    histories = [list(_history(played)) for played in (stock, ours)]
    pairs = zip_longest(*histories, fillvalue="nothing")
    if first := next(((a, b) for a, b in pairs if a != b), None):
        yield f"history: {first[1]}, on AgentSession {first[0]}"


def _history(played: Played) -> Iterator[str]:
    """What was said, by what it means, then the results."""
    history = played.outcome.history
    for item in history.items:
        if item.type == "message" and item.role in ("user", "assistant"):
            words = (item.text_content or "").replace(".", "").split()
            yield f"{item.role}: {' '.join(_meaning(played, word) for word in words)}"
    yield from sorted(f"{asked}: {output}" for asked, output in outputs(history))


def _meaning(played: Played, word: str) -> str:
    """A word of the model is named by its request, which may have another number elsewhere."""
    about = played.meaning.get(word)
    return word if about is None else f"{about}".replace(" ", "") + re.sub(r".*w", "", word)
