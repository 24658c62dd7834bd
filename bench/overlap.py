"""`python -m bench.overlap`: what the user says over the agent, on AgentSession and on TurnSession.

    python -m bench.overlap                    400 overlaps from a new seed
    python -m bench.overlap --seed 7 --count 800
    python -m bench.overlap --docs             the same, into docs/overlap.md

Each overlap is a conversation in virtual time: the agent speaks, and the caller says a phrase of
bench/overlap.yaml over it. The STT gives interim transcripts, with the delay of a streaming STT.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from .overlap_calls import measure
from .overlap_report import missed, page, table

__all__ = ["main"]

DOCS = Path(__file__).parents[1] / "docs" / "overlap.md"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m bench.overlap", description=__doc__, formatter_class=how
    )
    parser.add_argument("--seed", type=int, help="draw the same overlaps again")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--docs", action="store_true", help="write docs/overlap.md")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}, {options.count} overlaps")
    seen = measure(seed, options.count)
    print(table(seen))
    print(missed(seen['flow="overlap"']))
    if options.docs:
        on = measure(seed, options.count // 4, can_pause=False)  # the first of the same overlaps
        DOCS.write_text(page(seed, options.count, seen, on), encoding="utf-8")


if __name__ == "__main__":
    main()
