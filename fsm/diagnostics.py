"""Findings: the problem, its place, and a remedy. Printed with the line and a caret."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

__all__ = ["Finding", "render_findings"]

_WINDOW = 120


@attrs.frozen(order=False)
class Finding:
    """One problem of a flow. Findings sort by file and place.

    Attributes:
        file: The file.
        line, column: The place, counted from 1 (column in characters). Both are 0 if the finding is
            about the file as a whole, such as a missing one.
        width: How many characters the caret underlines.
        message: The problem, as one sentence without a full stop.
        remedy: What to write instead, or an empty string.
        code: A stable identifier, for tools; docs/diagnostics.md lists them.
        severity: ``error`` or ``warning``.
        text: The whole line.
        also: The codes of other problems with the same cause, which are not reported separately.

    Example:
        >>> from turnfsm import parse_flow
        >>> _, [finding] = parse_flow("{flow: door, initial: open, states: {shut: {}}}")
        >>> finding.code, finding.message
        ('unknown-state', "state 'open' is not declared")
    """

    line: int
    column: int
    width: int
    message: str
    remedy: str = ""
    code: str = "flow"
    severity: str = "error"
    file: str = "<flow>"
    text: str = ""
    also: tuple[str, ...] = ()

    def __lt__(self, other: Finding) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[str, int, int, str, str]:
        return self.file, self.line, self.column, self.code, self.message

    @property
    def place(self) -> str:
        """``file:line:column``, or only the file if the finding is about the whole file."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    @property
    def sentence(self) -> str:
        """The problem, with the others that have the same cause."""
        more = f" (the same cause breaks {', '.join(self.also)})" if self.also else ""
        return self.message + more

    def render(self) -> str:
        """The finding in the style of a compiler: place, line, caret, remedy."""
        head = f"{self.place}: {self.severity}: {self.sentence}"
        if not self.text.strip():
            return head + (f"\n  {self.remedy}" if self.remedy else "")
        before, marked, after = self._window()
        gutter = f"{self.line:>5} | "
        caret = " " * (len(gutter) - 2) + "| " + _blank(before) + "^" * max(1, _cells(marked))
        caret += f" {self.remedy}" if self.remedy else ""
        return f"{head}\n{gutter}{before}{marked}{after}\n{caret}"

    def _window(self) -> tuple[str, str, str]:
        """The part of the line around the caret, in three pieces. A very long line is shortened."""
        text = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in self.text)
        start = self.column - 1
        before, marked, after = text[:start], text[start:][: self.width], text[start + self.width :]
        if len(text) > _WINDOW:
            before = "..." + before[-50:] if len(before) > 50 else before
            marked = marked[:50]
            room = max(20, _WINDOW - len(before) - len(marked))
            after = after[:room] + "..." if len(after) > room else after
        return before, marked, after


def _blank(text: str) -> str:
    # A tab in the caret line is as wide as the one above it, whatever the terminal makes of it.
    return "".join("\t" if c == "\t" else " " * _cells(c) for c in text)


def _cells(text: str) -> int:
    from rich.cells import cell_len  # imported only if there are findings

    return cell_len(text)


def render_findings(findings: Iterable[Finding]) -> str:
    """All findings, in the order of their places."""
    return "\n".join(f.render() for f in sorted(findings))
