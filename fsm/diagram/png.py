"""SVG to PNG with the shipped fonts only, so that a picture is the same on every machine."""

from __future__ import annotations

from turnfsm.fsm.errors import TurnfsmError

from .metrics import FONT_FILES

__all__ = ["to_png"]


def to_png(svg: str, width: int = 1600) -> bytes:
    """Make a PNG of an SVG that turnfsm has drawn.

    Args:
        svg: The SVG.
        width: Pixels.

    Returns:
        The content of the file.

    Raises:
        TurnfsmError: resvg-py is not installed.

    Example:
        >>> from turnfsm import load_flow
        >>> from turnfsm.diagram import render, to_png
        >>> to_png(render(load_flow("session"), theme="light").decode(), width=400)[1:4]
        b'PNG'
    """
    try:
        import resvg_py
    except ModuleNotFoundError:
        raise TurnfsmError(
            "error: resvg_py is not installed, PNG needs it\n"
            "  = help: pip install 'turnfsm[png]', or write .svg"
        ) from None
    fonts = [str(path) for path in FONT_FILES]
    # system fonts are skipped: a missing glyph is then missing everywhere
    png = resvg_py.svg_to_bytes(
        svg_string=svg, width=width, skip_system_fonts=True, font_files=fonts
    )
    return bytes(png)
