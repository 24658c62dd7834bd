"""`python -m bench.growth`: how long a proof and a picture take as flows grow.

    python -m bench.growth             the table
    python -m bench.growth --docs      into docs/proof.md, with docs/growth.svg

One dimension grows at a time. CPU time of this thread is measured, the best of some rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator

import attrs

from bench.docs import DOCS, write_table
from bench.growth_chart import Line, chart
from bench.report import table
from turnfsm.fsm import Flow, load_flow, parse_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.diagram import render
from turnfsm.fsm.load.loader import shipped_flows


@attrs.frozen
class Point:
    """One flow: its size, and seconds of the proof and of the SVG."""

    states: int
    facts: int
    rows: int
    configurations: int
    moves: int
    check: float
    render: float


def made(states: int, facts: int, rows: int) -> Flow:
    """A ring of states. Every fact can change at any time, and some guard reads it."""
    ring = [f"s{i}" for i in range(states)]
    on: list[list[str]] = [[] for _ in ring]
    for i in range(max(rows, states)):
        reads = [f"f{(2 * i) % facts}", f"f{(2 * i + 1) % facts}"] if facts > 1 else []
        dest = ring[(i * 7 // states + i + 1) % states]
        on[i % states].append(f"t{i // states}: {{dest: {dest}, conditions: {sorted({*reads})}}}")
    triggers = [f"t{i}" for i in range(max(len(lines) for lines in on))]
    triggers += [f"{change}{i}" for i in range(facts) for change in ("set", "clear")]
    text = "flow: grown\ninitial: s0\n"
    text += f"events: {{{', '.join(f'{t}: {{}}' for t in triggers)}}}\nfacts:\n  session:\n"
    text += "".join(f"    f{i}: {{set_by: set{i}, cleared_by: clear{i}}}\n" for i in range(facts))
    text += "states:\n"
    text += "".join(f"  {s}: {{on: {{{', '.join(o)}}}}}\n" for s, o in zip(ring, on, strict=True))
    flow, findings = parse_flow(text)
    if flow is None:
        raise SystemExit(f"a made flow does not load: {findings[0].message}")
    return flow


FAMILIES: dict[str, tuple[Callable[[int], Flow], tuple[int, ...]]] = {
    "facts": (lambda n: made(6, n, 36), (2, 4, 6, 8, 10, 12, 14)),
    "states": (lambda n: made(n, 6, 3 * n), (4, 8, 16, 32, 64)),
    "transitions": (lambda n: made(12, 6, n), (12, 24, 48, 96, 192)),
}


def best(work: Callable[[], object], rounds: int) -> float:
    """The least CPU time in some rounds."""
    seconds = []
    for _ in range(rounds):
        begun = time.thread_time()
        work()
        seconds.append(time.thread_time() - begun)
    return min(seconds)


def measured(flow: Flow, rounds: int) -> Point:
    """Prove and draw one flow."""
    report = check_flow(flow)
    if not report.complete:
        raise SystemExit(f"{flow.name}: too large to be proved")
    return Point(
        len(flow.states),
        report.facts,
        len(list(flow.rows())),
        report.configurations,
        report.transitions,
        best(lambda: check_flow(flow), rounds),
        best(lambda: render(flow), rounds),
    )


def main() -> None:
    """Measure; print the table, or write it with its picture."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--docs", action="store_true", help="write docs/proof.md and its picture")
    options = parser.parse_args()
    shipped = {name: measured(load_flow(name), options.rounds) for name in shipped_flows()}
    grown = {
        kind: {n: measured(make(n), options.rounds) for n in sizes}
        for kind, (make, sizes) in FAMILIES.items()
    }
    text = "\n".join(_tables(shipped, grown))
    print(text)
    if options.docs:
        _write(text, grown)


_HEAD = ("states", "facts", "rows", "configurations", "moves", "check, ms", "render, ms")


def _tables(shipped: dict[str, Point], grown: dict[str, dict[int, Point]]) -> Iterator[str]:
    yield table(("shipped flow", *_HEAD), _rows(shipped.items()))
    for kind, points in grown.items():
        named = ((f"{n} {kind}", point) for n, point in points.items())
        yield table((f"as {kind} grow", *_HEAD), _rows(named))


def _rows(points: Iterable[tuple[str, Point]]) -> list[tuple[str, ...]]:
    return [
        (
            name,
            *(f"{n:,}" for n in attrs.astuple(point)[:5]),
            f"{point.check * 1000:.1f}",
            f"{point.render * 1000:.1f}",
        )
        for name, point in points
    ]


def _write(text: str, grown: dict[str, dict[int, Point]]) -> None:
    picture = "![Check and render times as a flow grows](growth.svg)"
    write_table(DOCS / "proof.md", "python -m bench.growth", f"{picture}\n\n{text}")
    panels = {
        kind: [
            Line("check", [(n, p.check * 1000) for n, p in points.items()]),
            Line("render", [(n, p.render * 1000) for n, p in points.items()]),
        ]
        for kind, points in grown.items()
    }
    (DOCS / "growth.svg").write_text(chart(panels), encoding="utf-8")


if __name__ == "__main__":
    main()
