"""Self-contained HTML pages."""

from __future__ import annotations

__all__ = ["html_page"]


def html_page(title: str, body: str, style: str = "") -> str:
    """A page of headings and tables.

    Args:
        title: Its title, without markup.
        body: Its HTML.
        style: CSS that is added.
    """
    return _PAGE.replace("TITLE", title).replace("STYLE", style).replace("BODY", body)


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
