"""`python -m bench.dictation`: the end of a turn that answers a question, on both sessions.

    python -m bench.dictation                  200 answers from a new seed
    python -m bench.dictation --seed 7 --count 400
    python -m bench.dictation --docs           the same, into docs/dictation.md

Each answer is a conversation in virtual time. The STT gives interim transcripts, and revises some.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from .dictation_calls import measure
from .dictation_report import page, table

__all__ = ["main"]

DOCS = Path(__file__).parents[1] / "docs" / "dictation.md"


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
    seen = measure(seed, options.count)
    print(table(seen))
    if options.docs:
        DOCS.write_text(page(seed, options.count, seen), encoding="utf-8")


if __name__ == "__main__":
    main()
