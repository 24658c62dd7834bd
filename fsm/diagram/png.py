"""SVG to PNG with the shipped fonts only, so that a picture is the same on every machine."""

from __future__ import annotations

from turnfsm.fsm.errors import TurnfsmError

from .metrics import FONT_FILES

__all__ = ["to_png"]


def to_png(svg: str, width: int = 1600) -> bytes:
    """Rasterize one of our pictures.

    Args:
        width: Pixels.

    Raises:
        TurnfsmError: resvg-py is not installed.
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
