"""Light and dark colours. Dashes, italics and brackets mean the same without colour."""

from __future__ import annotations

from typing import Literal

__all__ = ["DARK", "LIGHT", "Theme", "state_color", "style"]

Theme = Literal["auto", "light", "dark"]
"""The colours of a picture; ``auto`` follows the reader's system."""

LIGHT = {
    "paper": "#ffffff", "card": "#ffffff", "box": "#f8fafc", "ink": "#0f172a", "quiet": "#64748b",
    "line": "#cbd5e1", "guard": "#1e5a8a", "timer": "#92400e", "refused": "#b42318",
    "accent": "#ea580c", "held": "#fff4e5", "user": "#15803d", "agent": "#1d4ed8",
    "tool": "#b45309",
}  # fmt: skip
DARK = {
    "paper": "#0d1117", "card": "#161b22", "box": "#12171e", "ink": "#e6edf3", "quiet": "#8b98a9",
    "line": "#3a4552", "guard": "#8cc4f5", "timer": "#e3b341", "refused": "#ff8b80",
    "accent": "#ff9d4d", "held": "#33240f", "user": "#56d364", "agent": "#79aaff",
    "tool": "#f0a83c",
}  # fmt: skip

_LIGHT_STATES = (
    "#0f766e", "#7c3aed", "#b45309", "#1d4ed8", "#4d6278", "#be185d",
    "#15803d", "#0e7490", "#7c4a21", "#4f46e5", "#657013", "#a21caf",
)  # fmt: skip
_DARK_STATES = (
    "#2dd4bf", "#b79bff", "#f0a83c", "#79aaff", "#9fb3c8", "#f778ba",
    "#56d364", "#39c5cf", "#d2a679", "#a5a0ff", "#c0cc5a", "#e38bf5",
)  # fmt: skip


def state_color(index: int, theme: Theme = "light") -> str:
    """The colour of the state that is declared at this index."""
    colors = _DARK_STATES if theme == "dark" else _LIGHT_STATES
    return colors[index % len(colors)]


def style(rules: str, theme: Theme, states: int) -> str:
    """CSS from rules that name colours as `@paper`; `auto` follows the reader's system.

    Rules that name a colour appear twice, for renderers without CSS variables.
    """
    plain = _filled(rules, "dark" if theme == "dark" else "light", states)
    if theme != "auto":
        return plain
    return f"{plain}@media (prefers-color-scheme:dark){{{_filled(rules, 'dark', states, True)}}}"


def _filled(rules: str, theme: Theme, states: int, only_colors: bool = False) -> str:
    colors = DARK if theme == "dark" else LIGHT
    lines = [line.strip() for line in rules.strip().splitlines()]
    kept = [line for line in lines if not only_colors or "@" in line]
    text = "".join(kept)
    for name, value in colors.items():
        text = text.replace(f"@{name}", value)
    for index in range(min(states, len(_LIGHT_STATES))):
        color = state_color(index, theme)
        text += f".tf .s{index}{{fill:{color}}}.tf .l{index}{{stroke:{color}}}"
    return text
