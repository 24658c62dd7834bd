"""A flow as a Mermaid state diagram, and as Markdown with that picture and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from turnfsm.fsm.flow import Row, fires_in_words

from .chart import Chart
from .common import scoped_settings, settings

__all__ = ["chart_markdown", "chart_mermaid"]


def chart_markdown(chart: Chart) -> str:
    """Write a chart as a Markdown page with a diagram that GitHub renders."""
    return "\n".join(_lines(chart)) + "\n"


def _lines(chart: Chart) -> Iterator[str]:
    flow = chart.flow
    yield from (f"# {_safe(flow.name)}", "", _safe(flow.is_), "")
    yield from ("```mermaid", chart_mermaid(chart).rstrip(), "```", "")
    for name, state in flow.states.items():
        yield from (f"## {_safe(name)}", "", _safe(state.is_), "")
        rows = list(flow.rows(name))
        if rows:
            yield "| trigger | guard | leads to | actions |"
            yield "| --- | --- | --- | --- |"
            yield from (_row(chart, row) for row in rows)
            yield ""
        if flow.kind == "turn":
            yield from (f"Agent state: `{state.agent_state}`.", "")
        if tuned := settings(state.tuning):
            yield from (f"Settings in this state: {_listed(tuned)}.", "")
        refuses = () if state.final else flow.refused_in(name)
        for word, triggers in (("Refuses", refuses), ("Ignores", state.ignores)):
            if triggers:
                said = ", ".join(f"~~`{_safe(trigger)}`~~" for trigger in triggers)
                yield from (f"{word} {said}.", "")
    if scoped := list(scoped_settings(flow)):
        yield from ("## Settings of tools, agents and questions", "")
        yield from (f"- {_safe(owner)}: {_listed(values)}" for owner, values in scoped)
        yield ""


def _listed(settings: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {_safe(value)}" for name, value in settings.items())


def _row(chart: Chart, row: Row) -> str:
    body = row.transition
    seconds = chart.flow.timers.get(row.trigger)
    name = f"`{_safe(row.trigger)}`"
    trigger = f"*{fires_in_words(seconds)}* {name}" if row.timer and seconds is not None else name
    trigger += " else" if row.index else ""
    stays = ", ".join(["stays", *(f"restarts `{_safe(timer)}`" for timer in body.restarts)])
    dest = stays if row.internal else f"**{_safe(row.dest)}**"
    cells = (trigger, _safe(body.guard), dest, _safe(", ".join(body.actions)))
    return "| " + " | ".join(cells) + " |"


def _safe(text: str) -> str:
    for special in ("\\", "|", "<", ">", "*", "~", "`"):
        text = text.replace(special, f"\\{special}")
    return text.replace("\n", " ")


def chart_mermaid(chart: Chart) -> str:
    """Write the transitions that change the state as a `stateDiagram-v2`; `[…]` stands for a guard.

    Labels are short, because Mermaid breaks them after 200 pixels and lets them collide.
    """
    return "\n".join(_mermaid_lines(chart)) + "\n"


def _mermaid_lines(chart: Chart) -> Iterator[str]:
    flow = chart.flow
    ids = _ids(list(flow.states))
    yield from ("stateDiagram-v2", "    direction TB")
    for name in flow.states:
        yield f'    state "{_entities(name)}" as {ids[name]}'
    yield f"    [*] --> {ids[flow.initial]}"
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in flow.rows():
        if not row.internal:
            pairs.setdefault((row.source, row.dest), []).append(row)
    for (source, dest), rows in pairs.items():
        text = "<br/>".join(_mermaid_label(chart, row) for row in rows)
        yield f"    {ids[source]} --> {ids[dest]} : {text}"
    for final in chart.finals:
        yield f"    {ids[final.state]} --> [*]"


def _ids(states: list[str]) -> dict[str, str]:
    """Identifiers that Mermaid accepts; the prefix avoids its keywords."""
    return {name: f"s{i}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}" for i, name in enumerate(states)}


def _mermaid_label(chart: Chart, row: Row) -> str:
    body = row.transition
    seconds = chart.flow.timers.get(row.trigger)
    after = f"{fires_in_words(seconds)} " if row.timer and seconds is not None else ""
    return _entities(f"{after}{row.trigger}{' […]' * bool(body.reads)}")


def _entities(text: str) -> str:
    """Escape the characters that Mermaid would read as syntax."""
    special = '#;:"<>{}`%\\'
    return "".join(f"#{ord(c)};" if c in special else c for c in text)
