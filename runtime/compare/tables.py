"""A comparison as a table for the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

from turnfsm.runtime.testing.heard import Heard

from .scenario import Compared, FailureClass, Host, Scenario, Side

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["as_json", "as_markdown", "as_table", "summary"]

_LONGEST = 44


def summary(host: Host, rows: Sequence[Compared]) -> str:
    """The result in two or three sentences."""
    failing = [row for row in rows if not row.scenario.control]
    right = sum(row.ours.right for row in rows)
    wrong_on_stock = sum(not row.stock.right for row in failing)
    lines = [
        f"{host.ours.name}: {right} of {len(rows)} right. "
        f"{host.stock.name} ({host.framework} {host.version}): wrong in {wrong_on_stock} of the "
        f"{len(failing)} that are known failures.",
    ]
    for row in rows:
        if row.verdict == "stock went right":
            lines.append(f"{row.scenario.id}: stock no longer fails; the row may become a control.")
        elif row.verdict == "stock went wrong":
            lines.append(
                f"{row.scenario.id}: a control goes wrong on stock: {row.stock.problems[0]}."
            )
    return "\n".join(lines)


def as_table(host: Host, rows: Sequence[Compared]) -> Table:
    """The comparison for a terminal, with rich."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("scenario", host.stock.name, host.ours.name, show_lines=True)
    for row in rows:
        table.add_row(
            f"[bold]{escape(row.scenario.id)}[/]\n{escape(_described(row.scenario))}",
            *("\n".join(map(escape, _evidence(side))) for side in (row.stock, row.ours)),
            style="red" if not row.ours.right else "",
        )
    return table


def as_json(host: Host, rows: Sequence[Compared]) -> str:
    """One object a row, times in seconds."""
    package = host.framework.replace("-", "_")
    return json.dumps({package: host.version, "rows": [_object(row) for row in rows]}, indent=2)


def as_markdown(host: Host, rows: Sequence[Compared]) -> str:
    """A page: a table for each class of failure, then the controls."""
    parts = [host.intro.format(version=host.version), summary(host, rows)]
    for failure in host.classes:
        members = [row for row in rows if row.scenario.failure == failure.letter]
        if members:
            parts.append(_section(host, failure, members))
    if controls := [row for row in rows if row.scenario.control]:
        parts.append(
            "## Controls\n\nThese conversations go right on both. They show that the scripted "
            "components work.\n\n" + _markdown_table(host, controls)
        )
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _section(host: Host, failure: FailureClass, rows: Iterable[Compared]) -> str:
    head = f"## {failure.letter}. {failure.title}\n\n{failure.is_}"
    return f"{head}\n\nIn turnfsm: {failure.cure}\n\n{_markdown_table(host, rows)}"


def _markdown_table(host: Host, rows: Iterable[Compared]) -> str:
    lines = [f"| scenario | `{host.stock.name}` | `{host.ours.name}` |", "| --- | --- | --- |"]
    for row in rows:
        head = f"**{row.scenario.id}** {row.scenario.title}{_wrong(row.scenario)}"
        cells = ["<br>".join(_evidence(side)) for side in (row.stock, row.ours)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in (head, *cells)) + " |")
    return "\n".join(lines)


def _described(scenario: Scenario) -> str:
    return f"{scenario.title}\n{scenario.wrong}".strip()


def _wrong(scenario: Scenario) -> str:
    """The harm of a failure, and where it is discussed; empty for a control."""
    if scenario.control:
        return ""
    links = ", ".join(f"[{_short(link)}]({link})" for link in scenario.links)
    return f"<br>*{scenario.wrong}*<br>{links or 'no report known'}"


def _short(link: str) -> str:
    parts = link.split("/")
    return f"{parts[-3]}#{parts[-1]}"


def _evidence(side: Side) -> list[str]:
    """The first problems, or ``right``; then what was heard and when."""
    said = [f"wrong: {problem}" for problem in side.problems[:2]]
    if len(side.problems) > 2:
        said.append(f"and {len(side.problems) - 2} more")
    heard = [_heard(stretch) for stretch in side.heard if stretch.text]
    return [*(said or ["right"]), "heard: " + (", ".join(heard) or "nothing")]


def _heard(heard: Heard) -> str:
    text = heard.text if len(heard.text) <= _LONGEST else heard.text[: _LONGEST - 3] + "..."
    return f"{heard.start:.2f}-{heard.end:.2f} '{text}'"


def _object(row: Compared) -> dict[str, object]:
    return {
        "id": row.scenario.id,
        "title": row.scenario.title,
        "class": row.scenario.failure or None,
        "control": row.scenario.control,
        "wrong": row.scenario.wrong or None,
        "links": list(row.scenario.links),
        "verdict": row.verdict,
        "stock": _side(row.stock),
        "turnfsm": _side(row.ours),
    }


def _side(side: Side) -> dict[str, object]:
    return {"right": side.right, **attrs.asdict(side)}
