"""`python -m bench`: a turn cycle on each engine: the time for a trigger, and its ratio to if/elif.

    python -m bench             the engines
    python -m bench size        bytes and creation time of an instance, a burst of posts
    python -m bench scale       10,000 runtimes on one core
    python -m bench caller      what a caller notices, stock and TurnSession
    python -m bench session     CPU time and memory of a session, stock and TurnSession
    python -m bench session --docs  the same, into docs/performance.md
    python -m bench room        how many rooms this machine can serve (needs a livekit-server)
    python -m bench room --docs the same, into docs/room.md
    python -m bench docs        all of it, into docs/performance.md
    python -m bench.growth      proofs and pictures as flows grow (--docs: into docs/proof.md)

The rounds of the engines are interleaved. A ratio is computed in each round; the table shows
medians. CPU time of this thread is measured, so that other processes hardly matter.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .engines import OURS
from .measure import measure
from .node_xstate import xstate
from .peers import PEERS
from .report import CALLS, TABLES, page, room_table, versions, with_session
from .scale import scale
from .size import burst, sizes

DOCS = Path(__file__).parents[1] / "docs" / "performance.md"


def main() -> None:
    """Measure, print the tables, and write JSON on request."""
    options = _parser().parse_args()
    parts = [part for part in PARTS if part != "room"] if options.part == "docs" else [options.part]
    figures: dict[str, Any] = {"versions": versions()}
    for part in parts:
        figures[part] = PARTS[part](options)
        print((room_table if part == "room" else TABLES[part])(figures[part]))
    if options.docs and "room" in figures:
        from room.docs import write_table

        write_table("python -m bench room", room_table(figures["room"]))
    if options.docs and options.part == "session":
        text = DOCS.read_text(encoding="utf-8")
        DOCS.write_text(with_session(text, figures["session"]), encoding="utf-8")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if options.part == "docs":
        DOCS.write_text(page(figures), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=how
    )
    parser.add_argument("part", nargs="?", default="engines", choices=[*PARTS, "docs"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a run with many runtimes")
    parser.add_argument("--runtimes", type=int, default=10_000)
    parser.add_argument("--rooms", default="1,3,6,9,12,16", help="steps, for room")
    parser.add_argument("--minutes", type=float, default=6.5, help="then no step begins, for room")
    parser.add_argument("--docs", action="store_true", help="into the docs, for room and session")
    parser.add_argument("--real", type=int, default=3, help="rounds of calls in real time")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE, too")
    return parser


def _engines(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "engines": measure({**OURS, **PEERS}, options.rounds),
        "node": xstate(options.rounds),
    }


def _size(options: argparse.Namespace) -> dict[str, Any]:
    return {"size": sizes(rounds=options.rounds), "burst": burst()}


def _scale(options: argparse.Namespace) -> list[dict[str, Any]]:
    count, seconds = options.runtimes, options.seconds
    return [
        scale(count, seconds=seconds),
        scale(count, seconds=seconds, kind="uvloop"),
        scale(count, seconds=seconds, collect=True),
        scale(count // 10, seconds=seconds),
    ]


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
    "size": _size,
    "scale": _scale,
    "caller": _caller,
    "session": _session,
    "room": _room,
}


if __name__ == "__main__":
    main()
