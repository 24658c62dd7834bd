"""Text of several styles, wrapped to a given width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from .metrics import Face, text_width

__all__ = [
    "FACES",
    "LINE",
    "Part",
    "Run",
    "Token",
    "extent",
    "flow_parts",
    "times",
    "wrap",
]

LINE = 17.0
"""The distance of two lines of text, pixels."""

FACES = {
    "trigger": Face("SemiBold"),
    "timer": Face("Italic"),
    "guard": Face(),
    "action": Face(),
    "quiet": Face(),
    "refused": Face(),
    "comma": Face(),
    "badge": Face("SemiBold"),
    "dest": Face("SemiBold"),
    "title": Face("SemiBold", 15),
    "heading": Face("SemiBold", 22),
    "small": Face("Regular", 11),
    "wait": Face("Regular", 11),
    "said": Face(),
    "denied": Face("SemiBold"),
    "on": Face("SemiBold"),
}
"""The face of each kind of word; the kind is also its class in the SVG."""

_INDENT = 14.0
_SPACE = text_width(" ", FACES["guard"])


@attrs.frozen
class Token:
    """Words of one kind that are never broken apart."""

    text: str
    kind: str

    @property
    def width(self) -> float:
        return text_width(self.text, FACES[self.kind])


@attrs.frozen
class Part:
    """Words that belong together and are found by the same ids.

    Attributes:
        ids: The ids of the SVG groups around them, the outermost first.
        tip: What they mean, shown under the pointer.
        marks: More classes of the innermost group.
    """

    ids: tuple[str, ...]
    tokens: tuple[Token, ...]
    tip: str = ""
    marks: tuple[str, ...] = ()


@attrs.frozen
class Run:
    """Text that stands in one line, of one kind; `x` and `line` count from the block's corner."""

    part: int
    x: float
    line: int
    text: str
    kind: str

    @property
    def width(self) -> float:
        return text_width(self.text, FACES[self.kind])


def flow_parts(parts: Sequence[Part], width: float) -> tuple[Run, ...]:
    """Fill lines with the parts' words; lines after the first are indented."""
    runs: list[Run] = []
    x, line = 0.0, 0
    tokens = ((index, token) for index, part in enumerate(parts) for token in part.tokens)
    for index, token in tokens:
        glued = token.kind == "comma"
        if x and not glued and x + _SPACE + token.width > width:
            x, line = _INDENT, line + 1
        elif x and not glued:
            x += _SPACE
        _append(runs, Run(index, x, line, token.text, token.kind))
        x += token.width
    return tuple(runs)


def _append(runs: list[Run], run: Run) -> None:
    """Neighbours of one part and kind become one run."""
    last = runs[-1] if runs else None
    if last and (last.part, last.line, last.kind) == (run.part, run.line, run.kind):
        runs[-1] = attrs.evolve(last, text=f"{last.text} {run.text}")
    else:
        runs.append(run)


def wrap(text: str, face: Face, width: float) -> list[str]:
    """The lines of a plain sentence; a word that is too long stands alone."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, face) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def times(count: int) -> str:
    """A count as a badge shows it: a multiplication sign and the number."""
    return f"\u00d7{count}"


def extent(runs: Iterable[Run]) -> float:
    """The right end of the widest line."""
    return max((run.x + run.width for run in runs), default=0.0)
