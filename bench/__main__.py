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

from .engines import ENGINES
from .frame import Frame
from .measure import measure
from .report import CALLS, TABLES, goals_text, versions


def main() -> None:
    """Measure, print the tables, and write them on request."""
    frame = Frame(
        str(__doc__),
        "performance.md",
        part={"flag": "part", "nargs": "?", "default": "engines", "choices": [*PARTS, "docs"]},
        rounds={"type": int, "default": 15},
        real={"type": int, "default": 3, "help": "rounds of calls in real time"},
        json={"metavar": "FILE", "help": "write the figures to FILE, too"},
    )
    options = frame.options
    everything = options.part == "docs"
    options.docs |= everything
    figures: dict[str, Any] = {"versions": versions()}
    for part in PARTS if everything else [options.part]:
        figures[part] = PARTS[part](options)
        text = TABLES[part](figures[part])
        print(text)
        frame.write(part, text)
    if everything:
        frame.write("versions", "\n".join(f"- {n} {v}" for n, v in figures["versions"].items()))
        frame.write("goals", goals_text(figures))
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


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
