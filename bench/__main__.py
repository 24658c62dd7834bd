"""`python -m bench`: a turn cycle on each engine: the time for a trigger, and its ratio to if/elif.

    python -m bench             the engines
    python -m bench caller      what a caller notices, stock and TurnSession
    python -m bench session     CPU time and memory of a session, stock and TurnSession
    python -m bench docs        all of it, into docs/performance.md

With --docs a table is also written into its page. The rounds of the engines are interleaved. A
ratio is computed in each round; the table shows medians. CPU time of this thread is measured, so
that other processes hardly matter.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .docs import DOCS, write_table
from .engines import ENGINES
from .measure import measure
from .report import CALLS, TABLES, goals_text, versions


def main() -> None:
    """Measure, print the tables, and write them on request."""
    options = _parser().parse_args()
    everything = options.part == "docs"
    parts = list(PARTS) if everything else [options.part]
    figures: dict[str, Any] = {"versions": versions()}
    tables = {}
    for part in parts:
        figures[part] = PARTS[part](options)
        tables[part] = TABLES[part](figures[part])
        print(tables[part])
    if everything:
        tables["versions"] = "\n".join(f"- {n} {v}" for n, v in figures["versions"].items())
        tables["goals"] = goals_text(figures)
    if options.docs or everything:
        for part, text in tables.items():
            write_table(DOCS / "performance.md", part, text)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=how
    )
    parser.add_argument("part", nargs="?", default="engines", choices=[*PARTS, "docs"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--docs", action="store_true", help="write the table into the docs")
    parser.add_argument("--real", type=int, default=3, help="rounds of calls in real time")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE, too")
    return parser


def _engines(options: argparse.Namespace) -> dict[str, Any]:
    return measure(ENGINES, options.rounds)


def _caller(options: argparse.Namespace) -> dict[str, Any]:
    from .caller import caller  # imports livekit-agents, which takes a while

    return caller(real=options.real)


def _session(options: argparse.Namespace) -> dict[str, Any]:
    from .begin import begin
    from .caller import SESSIONS
    from .history import stall
    from .minute import minute

    return {
        "minute": minute(options.rounds),
        "begin": begin(SESSIONS, options.rounds),
        "stall": stall(max(3, options.rounds // 3), CALLS),
    }


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "engines": _engines,
    "caller": _caller,
    "session": _session,
}


if __name__ == "__main__":
    main()
