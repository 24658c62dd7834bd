"""`python -m bench.dictation`: the end of a turn that answers a question, on both sessions.

    python -m bench.dictation                  200 answers from a new seed
    python -m bench.dictation --seed 7 --count 400
    python -m bench.dictation --docs           the same, into docs/dictation.md

Each answer is a conversation in virtual time. The STT gives interim transcripts, and revises some.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence

from livekit.agents import __version__ as LIVEKIT

from .dictation_calls import Kind, Seen, measure
from .docs import DOCS, write_table

__all__ = ["main", "table"]

_ROWS: tuple[tuple[str, Kind, float | None], ...] = (
    ("numbers that are cut off", "number", None),
    ("number to answer, median", "number", 0.5),
    ("number to answer, p95", "number", 0.95),
    ("yes or no to answer, median", "yes or no", 0.5),
    ("yes or no to answer, p95", "yes or no", 0.95),
    ("numbers that are not finished, and are cut off", "part of a number", None),
    ("last digit to answer, if the number is not finished, median", "part of a number", 0.5),
)
"""A line of the table: its name, the kind of answer, and a quantile of the seconds; None: the share
that is cut off."""


def table(seen: Mapping[str, Sequence[Seen]]) -> str:
    """The figures as Markdown."""
    names = [f"`{name}`" for name in seen]
    lines = [f"| | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    for name, kind, share in _ROWS:
        cells = [
            _cell([one for one in of if one.drawn.kind == kind], share) for of in seen.values()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(seen: Sequence[Seen], share: float | None) -> str:
    if share is None:
        return f"{sum(one.cut_off for one in seen)} of {len(seen)}"
    seconds = sorted(one.answered_after for one in seen if one.answered_after is not None)
    return (
        f"{seconds[min(len(seconds) - 1, int(share * len(seconds)))]:.2f} s" if seconds else "none"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m bench.dictation", description=__doc__, formatter_class=how
    )
    parser.add_argument("--seed", type=int, help="draw the same answers again")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--docs", action="store_true", help="write docs/dictation.md")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}, {options.count} answers")
    text = table(measure(seed, options.count))
    print(text)
    if options.docs:
        command = f"`python -m bench.dictation --docs --seed {seed} --count {options.count}`"
        text += f"\n\nWritten by {command}, with livekit-agents {LIVEKIT}."
        write_table(DOCS / "dictation.md", "python -m bench.dictation", text)


if __name__ == "__main__":
    main()
