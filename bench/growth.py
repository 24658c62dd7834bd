"""`python -m bench.growth`: how long a proof and a picture take as flows grow.

    python -m bench.growth             the table
    python -m bench.growth --docs      into docs/proof.md, with docs/growth.svg

One dimension grows at a time. CPU time of this thread is measured, the best of some rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil, floor, log10

import attrs

from bench.docs import DOCS, write_table
from bench.report import table
from turnfsm.fsm import Flow, load_flow, parse_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.diagram import render
from turnfsm.fsm.load.loader import shipped_flows

WIDE, HIGH, LEFT, TOP, GAP = 250, 240, 62, 56, 50

_STYLE = """
text{font:13px Inter,Helvetica,Arial,sans-serif;fill:#334155}
.t{font-weight:600;fill:#0f172a}.g{stroke:#e2e8f0}.a{stroke:#94a3b8}
.l{fill:none;stroke-width:2.2}.check{stroke:#0f766e}.render{stroke:#b45309;stroke-dasharray:6 4}
.dcheck{fill:#0f766e}.drender{fill:#b45309}.paper{fill:#fff}
@media (prefers-color-scheme:dark){
text{fill:#8b98a9}.t{fill:#e6edf3}.g{stroke:#21262d}.a{stroke:#3a4552}.paper{fill:#0d1117}
.check{stroke:#2dd4bf}.dcheck{fill:#2dd4bf}.render{stroke:#f0a83c}.drender{fill:#f0a83c}}
"""


@attrs.frozen
class Line:
    """What was measured: a name (and CSS class), then size and milliseconds."""

    name: str
    points: Sequence[tuple[int, float]]


@attrs.frozen
class _Panel:
    """One pair of axes; all panels have the same scale of milliseconds."""

    x: float
    lines: Sequence[Line]
    low: int
    high: int

    def across(self, size: int) -> float:
        """Pixels of a size. All steps are equally wide."""
        sizes = [n for n, _ in self.lines[0].points]
        return self.x + sizes.index(size) / (len(sizes) - 1) * WIDE

    def down(self, ms: float) -> float:
        """Pixels of a time."""
        return TOP + HIGH * (self.high - log10(ms)) / (self.high - self.low)


def chart(panels: Mapping[str, Sequence[Line]]) -> str:
    """One panel for each kind of growth, beside one another."""
    times = [ms for lines in panels.values() for line in lines for _, ms in line.points]
    low, high = floor(log10(min(times))), ceil(log10(max(times)))
    width = LEFT + len(panels) * (WIDE + GAP)
    height = TOP + HIGH + 52
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>Milliseconds of CPU time to check and to render, as a flow grows</title>",
        f'<style>{_STYLE.strip()}</style><rect class="paper" width="100%" height="100%"/>',
        *_legend(next(iter(panels.values()))),
    ]
    for index, (kind, lines) in enumerate(panels.items()):
        panel = _Panel(LEFT + index * (WIDE + GAP), lines, low, high)
        body += [*_axes(panel, kind, first=not index), *_drawn(panel)]
    return "\n".join([*body, "</svg>", ""])


def _legend(lines: Sequence[Line]) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="22" class="t">milliseconds of CPU time</text>'
    for index, line in enumerate(lines):
        x = LEFT + 210 + index * 110
        yield f'<path class="l {line.name}" d="M{x} 18h30"/>'
        yield f'<text x="{x + 38}" y="22">{line.name}</text>'


def _axes(panel: _Panel, kind: str, first: bool) -> Iterator[str]:
    right, bottom = panel.x + WIDE, TOP + HIGH
    for power in range(panel.low, panel.high + 1):
        y = panel.down(10.0**power)
        yield f'<path class="g" d="M{panel.x} {y:.1f}H{right}"/>'
        if first:
            label = f"{10.0**power:g}"
            yield f'<text x="{panel.x - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    yield f'<path class="a" d="M{panel.x} {bottom}H{right}"/>'
    for size, _ in panel.lines[0].points:
        x = panel.across(size)
        yield f'<path class="a" d="M{x:.1f} {bottom}v5"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{size}</text>'
    middle = panel.x + WIDE / 2
    yield f'<text class="t" x="{middle}" y="{bottom + 42}" text-anchor="middle">{kind}</text>'


def _drawn(panel: _Panel) -> Iterator[str]:
    for line in panel.lines:
        places = [(panel.across(size), panel.down(ms)) for size, ms in line.points]
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        yield f'<path class="l {line.name}" d="M{way}"/>'
        yield from (
            f'<circle class="d{line.name}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places
        )


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
