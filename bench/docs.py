"""The tables of the docs, which commands write."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DOCS", "write_table"]

DOCS = Path(__file__).parents[1] / "docs"
_END = "<!-- to here -->"


def write_table(page: Path, mark: str, table: str) -> None:
    """Replace the text after the comment with this mark, up to the next ``<!-- to here -->``.

    Args:
        mark: The content of the comment, such as ``python -m bench.overlap``.
    """
    text, comment = page.read_text("utf-8"), f"<!-- {mark} -->\n"
    head, found, rest = text.partition(comment)
    _, end, tail = rest.partition(_END)
    if not (found and end):
        raise ValueError(f"{page} has no {comment.strip()} with {_END} behind it")
    page.write_text(f"{head}{comment}\n{table.strip()}\n\n{_END}{tail}", encoding="utf-8")
