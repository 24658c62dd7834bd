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

from livekit.agents import __version__ as LIVEKIT

from .docs import DOCS, write_table
from .overlap_calls import measure
from .overlap_report import missed, table

__all__ = ["main"]


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
    text, wrong = table(seen), missed(seen['flow="overlap"'])
    print(text)
    print(wrong)
    if options.docs:
        page = DOCS / "overlap.md"
        command = f"`python -m bench.overlap --docs --seed {seed} --count {options.count}`"
        text += f"\n\nWritten by {command}, with livekit-agents {LIVEKIT}."
        write_table(page, "python -m bench.overlap", text)
        write_table(page, "wrong", wrong)
        on = measure(seed, options.count // 4, can_pause=False)  # the first of the same overlaps
        write_table(page, "on an output that cannot pause", table(on))


if __name__ == "__main__":
    main()
