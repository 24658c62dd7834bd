"""How often something happens on either session, side by side; and whether it has become worse."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import attrs

from .facts import Finding, heard_words, with_results
from .play import Played
from .script import Sound
from .silence import waits

__all__ = ["KINDS", "RECORD", "Rates", "seen", "worse"]

RECORD = Path(__file__).with_name("rates.json")
"""The rates that were last written into docs/soak.md."""

KINDS: Mapping[str, str] = {
    "twice": "a tool took effect twice for one request of the user",
    "unconfirmed": "a tool that needs a yes ran without one",
    "unfounded": "a section of the flow says something without a reason",
    "undone": "a tool never took effect, or half of it",
    "lost": "a result is not in the history",
    "unseen": "a request does not show a result that there is",
    "unheard": "a result was never delivered",
    "lies": "an output or the history says what did not happen",
    "words": "words of the user are not in the history, or twice",
    "leftovers": "something is left at the end",
    "failed": "the conversation did not come to its end",
    "differs": "the sessions differ although no switch is on",
    "late answer": "an answer is late, or never comes",
    "late result": "a result is late, or never comes",
    "not heard": "the user never heard a result (the model may have left it out)",
    "interrupted": "a reply was interrupted",
    "overlap": "user and agent spoke at once for more than a second",
}
"""What is counted, and what it is."""


def seen(played: Played, found: Sequence[Finding]) -> frozenset[str]:
    """What of `KINDS` has happened in a conversation."""
    kinds = {finding.kind for finding in found} & set(KINDS)
    if played.failed:
        return frozenset(kinds)
    late = {wait.about for wait in waits(played) if wait.late}
    kinds |= {"late result" if about == "result" else "late answer" for about in late}
    heard = heard_words(played)
    told = {about for word, about in played.meaning.items() if word in heard}
    if any(("result", (run.job, run.asked)) not in told
           for run, *_ in with_results(played, played.script.end - 10.0)):  # fmt: skip
        kinds.add("not heard")
    if any(s.words and s.words[0] in heard and s.words[-1] not in heard for s in played.said):
        kinds.add("interrupted")
    if sum(_overlap(played, s) for s in played.script.sounds if s.words) > 1.0:
        kinds.add("overlap")
    return frozenset(kinds)


def _overlap(played: Played, sound: Sound) -> float:
    both = (min(h.end, sound.over) - max(h.start, sound.at) for h in played.outcome.heard)
    return sum(max(0.0, seconds) for seconds in both)


@attrs.define
class Rates:
    """In how many conversations something has happened."""

    conversations: int = 0
    stock: Counter[str] = attrs.field(factory=Counter)
    ours: Counter[str] = attrs.field(factory=Counter)

    def add(self, stock: Iterable[str], ours: Iterable[str]) -> None:
        """Count one conversation."""
        self.conversations += 1
        self.stock.update(stock)
        self.ours.update(ours)

    def table(self) -> str:
        """In percent, as Markdown."""
        lines = ["| in percent of the conversations | AgentSession | TurnSession |",
                 "| --- | --- | --- |"]  # fmt: skip
        for kind, what in KINDS.items():
            shares = (100 * c[kind] / max(1, self.conversations) for c in (self.stock, self.ours))
            lines.append(f"| {kind}: {what} | {' | '.join(f'{s:.2f}' for s in shares)} |")
        return "\n".join(lines)

    def write(self, record: Path, page: Path, first: int) -> None:
        """Put the rates into the record, and into the page between its two marks."""
        counted: dict[str, Any] = {"conversations": self.conversations, "ours": dict(self.ours)}
        record.write_text(json.dumps(counted, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        before, mark, rest = page.read_text(encoding="utf-8").partition("<!-- rates -->\n")
        _, end, after = rest.partition("<!-- end of the rates -->")
        assert mark, f"{page} has no mark for the rates"
        assert end, f"{page} has no mark for the end of the rates"
        played = f"{self.conversations} conversations from seed {first} on:\n\n"
        page.write_text(f"{before}{mark}{played}{self.table()}\n{end}{after}", encoding="utf-8")


def worse(rates: Rates, record: Path = RECORD) -> list[str]:
    """What happens more often on `TurnSession` than was recorded, by more than chance explains."""
    known = json.loads(record.read_text(encoding="utf-8"))
    found = []
    for kind in KINDS:
        before = (known["ours"].get(kind, 0) + 1) / (known["conversations"] + 1)
        now = rates.ours[kind] / max(1, rates.conversations)
        spread = sqrt(before * (1 / max(1, rates.conversations) + 1 / known["conversations"]))
        if now > before + 3 * spread:
            found.append(f"{kind}: {100 * now:.2f} %, recorded were {100 * before:.2f} %")
    return found
