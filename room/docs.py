"""Tables of docs/room.md, which commands write."""

from __future__ import annotations

from .worker import ROOT

__all__ = ["write_table"]

PAGE = ROOT / "docs" / "room.md"
_END = "<!-- to here -->"


def write_table(command: str, table: str) -> None:
    """Replace the text after the marker of a command.

    Args:
        command: As the page has it, such as ``python -m room.beside``.
    """
    page, mark = PAGE.read_text("utf-8"), f"<!-- {command} -->\n"
    head, found, rest = page.partition(mark)
    _, end, tail = rest.partition(_END)
    if not (found and end):
        raise ValueError(f"{PAGE} has no {mark.strip()} with {_END} behind it")
    PAGE.write_text(f"{head}{mark}\n{table.strip()}\n\n{_END}{tail}", encoding="utf-8")
