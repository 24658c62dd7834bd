"""The width of a text in the shipped fonts, read from the font files."""

from __future__ import annotations

import struct
import unicodedata
from functools import cache
from pathlib import Path

import attrs

__all__ = ["FONT_FILES", "Face", "clip", "text_width"]

_FOLDER = Path(__file__).parent / "fonts"
FONT_FILES = tuple(_FOLDER / f"Inter-{style}.otf" for style in ("Regular", "Italic", "SemiBold"))
"""Inter, cut to Latin, Greek, Cyrillic and arrows, without kerning: a width is a sum."""

_WIDE, _OTHER = 1.0, 0.65  # em, for characters that the fonts lack


@attrs.frozen
class Face:
    """One of the shipped fonts at one size in pixels."""

    style: str = "Regular"
    size: float = 12


@cache
def _advances(style: str) -> dict[int, float]:
    """Code point to advance in em: `cmap` format 4 joined with `hmtx`."""
    data = (_FOLDER / f"Inter-{style}.otf").read_bytes()
    tables = {}
    for i in range(struct.unpack_from(">H", data, 4)[0]):
        tag, _sum, offset, _length = struct.unpack_from(">4sIII", data, 12 + 16 * i)
        tables[tag] = offset
    (unit,) = struct.unpack_from(">H", data, tables[b"head"] + 18)
    (metrics,) = struct.unpack_from(">H", data, tables[b"hhea"] + 34)
    widths = [
        struct.unpack_from(">H", data, tables[b"hmtx"] + 4 * i)[0] / unit for i in range(metrics)
    ]
    glyphs = _glyphs(data, tables[b"cmap"])
    return {code: widths[min(glyph, metrics - 1)] for code, glyph in glyphs.items()}


def _glyphs(data: bytes, cmap: int) -> dict[int, int]:
    (offset,) = struct.unpack_from(">I", data, cmap + 8)
    base = cmap + offset
    segments = struct.unpack_from(">H", data, base + 6)[0] // 2

    def column(index: int, kind: str = "H") -> tuple[int, ...]:
        # the pad of two bytes stands after the first column
        start = base + 14 + 2 * segments * index + (2 if index else 0)
        return struct.unpack_from(f">{segments}{kind}", data, start)

    found: dict[int, int] = {}
    ends, starts, deltas, ranges = column(0), column(1), column(2, "h"), column(3)
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for code in range(start, min(end, 0xFFFE) + 1):
            glyph = code
            if ranges[i]:
                here = base + 16 + 6 * segments + 2 * i
                (glyph,) = struct.unpack_from(">H", data, here + ranges[i] + 2 * (code - start))
                if not glyph:
                    continue
            found[code] = (glyph + deltas[i]) & 0xFFFF
    return found


def text_width(text: str, face: Face) -> float:
    advances = _advances(face.style)
    return face.size * sum(advances.get(ord(c)) or _guess(c) for c in text)


def _guess(character: str) -> float:
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _OTHER


def clip(text: str, face: Face, width: float) -> str:
    """The text, or as much of it as fits with an ellipsis; empty when nothing fits."""
    if text_width(text, face) <= width:
        return text
    room = width - text_width("…", face)
    for count, character in enumerate(text):
        room -= text_width(character, face)
        if room < 0:
            return text[:count].rstrip() + "…" if count else ""
    return text
