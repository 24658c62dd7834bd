"""`python -m bench`: a turn cycle on each engine: the time for a trigger, and its ratio to if/elif.

    python -m bench             the engines
    python -m bench caller      what a caller notices, stock and TurnSession
    python -m bench session     CPU time and memory of a session, stock and TurnSession
    python -m bench room        how many rooms this machine can serve (needs a livekit-server)
    python -m bench docs        all of it but the rooms, into docs/performance.md

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
from .engines import OURS
from .measure import measure
from .report import CALLS, TABLES, goals_text, versions


def main() -> None:
    """Measure, print the tables, and write them on request."""
    options = _parser().parse_args()
    everything = options.part == "docs"
    parts = [part for part in PARTS if part != "room"] if everything else [options.part]
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
            if part == "room":
                write_table(DOCS / "room.md", "python -m bench room", text)
            else:
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
    parser.add_argument("--rooms", default="1,3,6,9,12,16", help="steps, for room")
    parser.add_argument("--minutes", type=float, default=6.5, help="then no step begins, for room")
    parser.add_argument("--docs", action="store_true", help="write the table into the docs")
    parser.add_argument("--real", type=int, default=3, help="rounds of calls in real time")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE, too")
    return parser


def _engines(options: argparse.Namespace) -> dict[str, Any]:
    return measure(OURS, options.rounds)


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


def _room(options: argparse.Namespace) -> dict[str, Any]:
    from .room import room_figures

    return room_figures([int(step) for step in options.rooms.split(",")], 60 * options.minutes)


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "engines": _engines,
    "caller": _caller,
    "session": _session,
    "room": _room,
}


if __name__ == "__main__":
    main()
