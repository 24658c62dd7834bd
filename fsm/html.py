"""Self-contained HTML pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["html_page", "html_table"]


def html_page(title: str, body: str, style: str = "") -> str:
    """A page of headings and tables.

    Args:
        title: Its title, without markup.
        body: Its HTML.
        style: CSS that is added.
    """
    return _PAGE.replace("TITLE", title).replace("STYLE", style).replace("BODY", body)


def html_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table. The first cell of a row is its head."""
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(str(first))}</th>'
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
        + "</tr>"
        for first, *cells in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .15rem .8rem; border-bottom: 1px solid #8884; }
td { text-align: right; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; }
thead th { font-weight: 400; opacity: .75; }
STYLE</style></head><body>
BODY
</body></html>
"""
