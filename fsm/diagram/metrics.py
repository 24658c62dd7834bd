"""The width of a text in the shipped fonts; `fonts/widths.json` has that of each character."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from pathlib import Path

import attrs

__all__ = ["FONT_FILES", "Face", "clip", "text_width"]

_FOLDER = Path(__file__).parent / "fonts"
FONT_FILES = tuple(_FOLDER / f"Inter-{style}.otf" for style in ("Regular", "Italic", "SemiBold"))
"""Inter, cut to Latin, Greek, Cyrillic and arrows, without kerning: a width is a sum."""

_UNITS = 2816  # of the fonts, for an em
_WIDE, _OTHER = 1.0, 0.65  # em, for characters that the fonts lack


@attrs.frozen
class Face:
    """One of the shipped fonts at one size in pixels."""

    style: str = "Regular"
    size: float = 12


@cache
def _advances(style: str) -> dict[str, float]:
    """The width of each character in em."""
    units = json.loads((_FOLDER / "widths.json").read_text(encoding="utf-8"))[style]
    return {character: width / _UNITS for character, width in units.items()}


def text_width(text: str, face: Face) -> float:
    advances = _advances(face.style)
    return face.size * sum(advances.get(c) or _guess(c) for c in text)


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
