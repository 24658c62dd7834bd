"""Findings: what is wrong, where, and the remedy; printed with the line and a caret."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

__all__ = ["Finding", "render_findings"]


@attrs.frozen(order=True)
class Finding:
    """One problem of a flow.

    Attributes:
        line, column: Where, counted from 1 (column in characters).
        width: How many characters the caret underlines.
        message: What is wrong, one sentence without a full stop.
        remedy: What to write instead, or an empty string.
        code: A stable identifier, for tools.
        severity: ``error`` or ``warning``.
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

    def render(self) -> str:
        """The finding as a compiler would print it: place, line, caret, remedy."""
        head = f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message}"
        if not self.text.strip():
            return head + (f"\n  {self.remedy}" if self.remedy else "")
        gutter = f"{self.line:>5} | "
        caret = " " * (len(gutter) - 2) + "| " + " " * (self.column - 1) + "^" * self.width
        return f"{head}\n{gutter}{self.text}\n{caret}" + (f" {self.remedy}" if self.remedy else "")


def render_findings(findings: Iterable[Finding]) -> str:
    """All findings, in the order of their places."""
    return "\n".join(f.render() for f in sorted(findings))
