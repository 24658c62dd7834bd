"""The tables of a report as text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import attrs

from turnfsm.fsm.html import html_page, html_table

__all__ = ["NONE", "Table", "as_html", "as_markdown", "as_text", "percent", "seconds"]

NONE = "-"
"""A figure that there is nothing to compute from."""


@attrs.frozen
class Table:
    """A table; the first cell of each row is its name."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def as_text(title: str, tables: Iterable[Table]) -> str:
    """Write tables for a terminal."""
    parts = [title + "\n"]
    for table in tables:
        lines = (table.head, *table.rows)
        widths = [max(len(row[n]) for row in lines) for n in range(len(table.head))]
        parts.append(table.title)
        for name, *cells in lines:
            row = [name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]
            parts.append(f"  {'  '.join(row)}".rstrip())
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def as_markdown(title: str, tables: Iterable[Table]) -> str:
    """Write tables in Markdown."""
    parts = [f"# {title}", ""]
    for table in tables:
        parts += [f"## {table.title}", "", _row(table.head)]
        parts.append(_row(["---"] + ["---:"] * (len(table.head) - 1)))
        parts += [*map(_row, table.rows), ""]
    return "\n".join(parts)


def as_html(title: str, tables: Iterable[Table]) -> str:
    """Write tables as one HTML page."""
    body = [f"<h1>{escape(title)}</h1>"]
    for table in tables:
        body += [f"<h2>{escape(table.title)}</h2>", html_table(table.head, table.rows)]
    return html_page("turnfsm report", "\n".join(body))


def percent(rate: float | None) -> str:
    """A share, as a percentage."""
    return NONE if rate is None else f"{rate:.1%}"


def seconds(value: float | None) -> str:
    """A duration, with its unit."""
    return NONE if value is None else f"{value:.2f} s"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
