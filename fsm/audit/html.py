"""Audits as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from turnfsm.fsm.html import html_page, html_table

from .audit import Audit
from .kinds import CLASSES, cost_of, kinds_of

__all__ = ["audits_as_html"]

_LANES = ("user", "agent", "tools")


def audits_as_html(audits: Sequence[tuple[str, Audit]]) -> str:
    """Write audits as a page in one file: what was found, and each session over time.

    Args:
        audits: The name of each file, and what was found in it.

    Returns:
        The page. It loads nothing and has no script. The session that cost its caller the most
        silence comes first.

    Example:
        >>> from turnfsm.audit import audit_recording, audits_as_html, parse_recording
        >>> audit = audit_recording(parse_recording(b'{"events": 1}', "events.jsonl"))
        >>> audits_as_html([("events.jsonl", audit)])[:15]
        '<!doctype html>'
    """
    worst = sorted(audits, key=lambda named: (-cost_of(named[1]), -_count(named[1]), named[0]))
    wrong = sum(not audit.ok for _, audit in audits)
    many = "session" if len(audits) == 1 else "sessions"
    head = f"{len(audits)} {many}, {wrong} with findings"
    body = [f"<main><h1>{head}</h1>", *_kinds(audits), "<h2>Sessions</h2>", _LEGEND]
    opened = len(audits) == 1
    body += [_session(file, audit, opened) for file, audit in worst]
    return html_page("turnfsm audit", "\n".join([*body, "</main>"]), _STYLE)


def _kinds(audits: Iterable[tuple[str, Audit]]) -> Iterator[str]:
    kinds = kinds_of(audit for _, audit in audits)
    if not kinds:
        return
    heads = ("class", "what", "findings", "sessions", "silence, s", "property")
    rows = [
        (
            *(one.failure or "-", CLASSES.get(one.failure, "-"), one.findings, one.sessions),
            *(f"{one.silence:.1f}", one.property or "-"),
        )
        for one in kinds
    ]
    yield "<h2>What was found, and the silence that callers had</h2>"
    yield '<div class="wide" tabindex="0" role="region" aria-label="what was found">'
    yield f"{html_table(heads, rows)}</div>"


def _session(file: str, audit: Audit, opened: bool) -> str:
    cost = cost_of(audit)
    summary = f"{_count(audit)} found" + (f", {cost:.1f} s of silence" if cost else "")
    lines = [_finding(*finding.lines()) for finding in audit.findings]
    lines += [_finding(line) for line in (*audit.broken, *map(str, audit.silences))]
    findings = f"<ul>{''.join(lines)}</ul>" if lines else "<p>Nothing was found.</p>"
    if audit.unjudged:
        missing = escape("; ".join(audit.unjudged))
        findings += f"<p>Not judged, or in part, as the file does not say {missing}.</p>"
    return (
        f"<details{' open' * opened}><summary>{escape(file)} <small>({audit.of}) {summary}</small>"
        f"{_timeline(audit)}</summary>{findings}</details>"
    )


def _finding(text: str, decision: str = "") -> str:
    below = f"<br><code>{escape(decision.strip())}</code>" if decision else ""
    return f"<li>{escape(text.strip())}{below}</li>"


def _timeline(audit: Audit) -> str:
    """Three lanes, a thousand units wide; silences behind them, findings across them."""
    end = max(audit.end, 0.1)

    def bar(name: str, start: float, stop: float, y: int, height: int) -> str:
        x, width = 1000 * start / end, max(1.0, 1000 * (stop - start) / end)
        title = f"{name}, {start:.2f} to {stop:.2f} s"
        box = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"'
        return f'<rect class="{name}" {box}><title>{title}</title></rect>'

    marks = [bar("silence", gap.start, gap.end, 0, 48) for gap in audit.silences]
    for n, name in enumerate(_LANES):
        marks += [bar(name, *span, 16 * n + 2, 12) for span in audit.spans.get(name, ())]
    for finding in audit.findings:
        x = 1000 * finding.at / end
        title = escape(str(finding).strip())
        marks.append(f'<rect class="found" x="{x:.1f}" y="0" width="3" height="48">')
        marks[-1] += f"<title>{title}</title></rect>"
    label = f"{end:.1f} s over time: user, agent, tools, silences and findings"
    return (
        f'<svg viewBox="0 0 1000 48" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(marks)}</svg>"
    )


def _count(audit: Audit) -> int:
    return len(audit.findings) + len(audit.broken)


_LEGEND = (
    "<p>"
    + " ".join(
        f'<span class="key"><svg width="12" height="12" aria-hidden="true">'
        f'<rect class="{name}" width="12" height="12"/></svg> {label}</span>'
        for name, label in (
            ("user", "user"),
            ("agent", "agent"),
            ("tools", "tools"),
            ("silence", "silence over 2 s"),
            ("found", "finding"),
        )
    )
    + "</p>"
)

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
