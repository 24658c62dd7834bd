"""Pictures of flows and of journals."""

from __future__ import annotations

from typing import Literal, get_args

from turnfsm.fsm.errors import TurnfsmError, near
from turnfsm.fsm.flow import Flow

from .chart import build_chart
from .dot import chart_dot
from .markdown import chart_markdown, chart_mermaid
from .marks import Marks, journal_marks, state_marks
from .metrics import FONT_FILES
from .overview import build_overview
from .svg import chart_svg
from .theme import Theme
from .timeline import timeline

__all__ = [
    "Format",
    "Marks",
    "Theme",
    "format_of",
    "journal_marks",
    "render",
    "state_marks",
    "timeline",
    "to_png",
]


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


Format = Literal["svg", "png", "mmd", "dot", "md"]
"""The format of a picture: ``mmd`` is Mermaid, ``md`` tables in Markdown."""


def render(
    flow: Flow,
    format: Format = "svg",
    *,
    marks: Marks | None = None,
    theme: Theme = "auto",
    focus: bool = False,
    overview: bool = False,
    width: int = 1600,
) -> bytes:
    """Draw a flow. The same flow gives the same bytes.

    Args:
        flow: The flow.
        format: ``svg``, ``png``, ``mmd`` (Mermaid), ``dot`` or ``md`` (tables in Markdown).
        marks: What to show on top: `state_marks` or `journal_marks`.
        theme: ``light``, ``dark``, or ``auto``: as the reader's system has it (PNG: light).
        focus: Fade what does not leave the marked state.
        overview: Draw only the states and the arrows between them, with the most important
            triggers, 800 pixels wide.
        width: Pixels of a PNG.

    Returns:
        The content of a file; text formats are UTF-8.

    Raises:
        TurnfsmError: PNG is asked for and resvg-py is not installed.
        ValueError: An overview is asked for with marks.

    Example:
        >>> from turnfsm import load_flow
        >>> render(load_flow("turn"), overview=True)[:4]
        b'<svg'
    """
    if overview and marks is not None:
        raise ValueError("an overview has no marks; leave overview or marks out")
    chart = build_overview(flow) if overview else build_chart(flow, marks)
    match format:
        case "svg":
            return chart_svg(chart, theme, focus).encode()
        case "png":
            still: Theme = "light" if theme == "auto" else theme
            return to_png(chart_svg(chart, still, focus), width)
        case "mmd":
            return chart_mermaid(chart).encode()
        case "dot":
            return chart_dot(chart).encode()
        case "md":
            return chart_markdown(chart).encode()


def format_of(path: str) -> Format:
    """The format of a file, by the end of its name.

    Args:
        path: The path or name of the file.

    Returns:
        ``svg``, ``png``, ``mmd``, ``dot`` or ``md``.

    Raises:
        TurnfsmError: There is no such format.

    Example:
        >>> from turnfsm.diagram import format_of
        >>> format_of("turn.png")
        'png'
    """
    ending = path.rpartition(".")[2].lower() if "." in path else ""
    for format in get_args(Format):
        if ending == format:
            return format  # type: ignore[no-any-return]
    remedy = near(ending, get_args(Format))
    raise TurnfsmError(f"{path}: cannot draw {'.' + ending if ending else 'that'}; {remedy}")
