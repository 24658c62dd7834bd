"""Small multiples of growing times as SVG; the axis of milliseconds is logarithmic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10

import attrs

__all__ = ["Line", "chart"]

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
