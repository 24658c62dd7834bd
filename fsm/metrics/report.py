"""Formats figures as text, Markdown, JSON and HTML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import attrs

from turnfsm.fsm.journal import (
    AgentEntryFailed,
    AudioStopped,
    Closed,
    ComponentFailed,
    ComponentSwitched,
    VoiceUnrecognised,
)

from .compared import NO_GROUPS, Groups, groups_table, noticed, trend_table
from .figures import Figures, Summary, summarize
from .panel import FIGURES
from .tables import NONE, Table, as_html, as_markdown, as_text, percent, seconds

__all__ = ["Format", "report"]


Format = Literal["text", "markdown", "html", "json"]


def report(
    figures: Figures,
    format: Format = "text",
    groups: Groups = NO_GROUPS,
    trend: Groups = NO_GROUPS,
) -> str:
    """Format figures.

    Args:
        figures: The figures.
        format: ``text`` for a terminal, ``markdown``, ``html`` (a page in one file), or ``json``
            (unrounded, times in seconds).
        groups: The figures of each group of a `rollout`.
        trend: The figures of each period, from `by_time`.

    Returns:
        The text.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.metrics import measure, report
        >>> report(measure(read_journal("journal.jsonl"))).splitlines()[0]
        '1 conversation, 17.0 s'
    """
    if format == "json":
        each = {"groups": {name: _plain(group) for name, group in groups.items()}} if groups else {}
        times = (
            {"trend": {name: noticed(one) for name, one in trend.items()}} if len(trend) > 1 else {}
        )
        return json.dumps(_plain(figures) | each | times, indent=2)
    write = {"text": as_text, "markdown": as_markdown, "html": as_html}[format]
    return write(_title(figures), _tables(figures, groups, trend))


def _title(figures: Figures) -> str:
    many = "conversation" if figures.journals == 1 else "conversations"
    return f"{figures.journals} {many}, {figures.seconds:.1f} s"


def _tables(figures: Figures, groups: Groups, trend: Groups) -> Iterable[Table]:
    if len(groups) > 1:
        yield groups_table(groups)
    if len(trend) > 1:
        yield trend_table(trend)
    yield _latencies(figures)
    yield _rates(figures)
    yield _panel(figures)
    for title, name, counts in (
        ("Turns", "outcome", figures.turns),
        ("The user began over the agent", "outcome", figures.interruptions),
        ("Tool calls", "end", figures.tool_calls),
        ("Limits reached", "limit", figures.limits),
    ):
        if counts:
            yield Table(title, (name, "count"), _counted(counts))
    if parts := figures.response_parts:
        rows = tuple((part, *_summed(summarize(parts[part]))) for part in parts)
        yield Table("Response by part, in seconds", ("part", *_SECONDS), rows)
    if figures.journals == 1 and figures.turn_ends:
        head, turns = _turn_rows(figures)
        yield Table("Each turn, in seconds", head, tuple(turns))
    if failed := tuple(_outages(figures)):
        yield Table("Outages", ("what", "count"), failed)
    if figures.silences:
        rows = tuple((cause, *_summed(summarize(each))) for cause, each in _by_cause(figures))
        yield Table("Silences by cause, in seconds", ("cause", *_SECONDS), rows)
    if figures.refusals:
        named = {f"{trigger} in {state}": n for (trigger, state), n in figures.refusals.items()}
        yield Table("Refusals", ("trigger", "count"), _counted(named))
    yield _states(figures)


_SECONDS = ("count", "mean", "p50", "p90", "p99", "max")


def _latencies(figures: Figures) -> Table:
    silences = summarize(silence.seconds for silence in figures.silences)
    rows = (
        ("response", *_summed(summarize(figures.responses))),
        ("stop", *_summed(summarize(figures.stops))),
        ("silence", *_summed(silences)),
        ("overlap", *_summed(summarize(overlap.seconds for overlap in figures.overlaps))),
    )
    return Table("Seconds", ("", *_SECONDS), rows)


def _rates(figures: Figures) -> Table:
    rates = (
        ("yielded within 2 s", figures.yield_rate),
        ("talked through", figures.talk_through_rate),
        ("interrupted, no transcript", figures.false_interruption_rate),
        ("resumed after that", figures.resume_rate),
    )
    rows = tuple((name, percent(rate)) for name, rate in rates)
    by = Counter(overlap.by for overlap in figures.overlaps)
    rows += (("overlaps begun by the user", str(by["user"])),)
    rows += (("overlaps begun by the agent", str(by["agent"])),)
    rows += (("blips, interrupted within 0.7 s", str(len(figures.blips))),)
    return Table("Rates and counts", ("", "value"), rows)


def _panel(figures: Figures) -> Table:
    rows = []
    for symbol, name, value, count in FIGURES:
        written = (seconds if symbol.startswith("L") else percent)(getattr(figures.panel, value))
        rows.append((f"{symbol} {name}", written, str(getattr(figures.panel.counts, count))))
    return Table("Panel of tau-voice", ("", "value", "of"), tuple(rows))


def _by_cause(figures: Figures) -> list[tuple[str, list[float]]]:
    by: dict[str, list[float]] = {}
    for silence in figures.silences:
        by.setdefault(silence.cause, []).append(silence.seconds)
    return sorted(by.items())


def _states(figures: Figures) -> Table:
    states = figures.states
    total = sum(map(sum, states.values()))
    rows = tuple(
        (state, percent(sum(held) / total if total else None), *_summed(summarize(held)))
        for state, held in states.items()
    )
    return Table("States, in seconds", ("state", "share", *_SECONDS), rows)


def _counted(counts: Any) -> tuple[tuple[str, str], ...]:
    by = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple((name, str(count)) for name, count in by)


def _summed(summary: Summary | None) -> tuple[str, ...]:
    if summary is None:
        return ("0", *[NONE] * 5)
    count, *seconds = attrs.astuple(summary)
    return (str(count), *(f"{value:.2f}" for value in seconds))


def _plain(figures: Figures) -> dict[str, Any]:
    def summary(seconds: Iterable[float]) -> dict[str, Any] | None:
        summed = summarize(seconds)
        return None if summed is None else attrs.asdict(summed)

    return {
        "journals": figures.journals,
        "seconds": figures.seconds,
        "response_latency": summary(figures.responses),
        "stop_latency": summary(figures.stops),
        "yield_rate": figures.yield_rate,
        "talk_through_rate": figures.talk_through_rate,
        "false_interruption_rate": figures.false_interruption_rate,
        "resume_rate": figures.resume_rate,
        "interruptions": dict(figures.interruptions),
        "silences": {cause: summary(seconds) for cause, seconds in _by_cause(figures)},
        "overlaps": [attrs.asdict(overlap) for overlap in figures.overlaps],
        "blips": [attrs.asdict(blip) for blip in figures.blips],
        "refusals": [
            {"trigger": trigger, "state": state, "count": count}
            for (trigger, state), count in figures.refusals.items()
        ],
        "response_parts": {p: summary(s) for p, s in figures.response_parts.items()},
        "turns": dict(figures.turns),
        "turn_ends": [
            attrs.asdict(turn)
            | {
                "response": None if response is None else response.seconds,
                "parts": {} if response is None else dict(response.parts),
            }
            for turn, response in figures.turn_ends
        ],
        "events": [
            {"at": reported.at, "kind": reported.event.KIND, **reported.event.fields()}
            for reported in figures.events
        ],
        "tool_calls": dict(figures.tool_calls),
        "limits": dict(figures.limits),
        "states": {state: summary(held) for state, held in figures.states.items()},
        "panel": attrs.asdict(figures.panel),
    }


def _turn_rows(figures: Figures) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head, and a row for each turn: its outcome, and the response by part."""
    parts = tuple(figures.response_parts)
    rows = []
    for turn, response in figures.turn_ends:
        spent = dict(response.parts) if response is not None else {}
        total = NONE if response is None else f"{response.seconds:.2f}"
        cells = (f"{spent[part]:.2f}" if part in spent else NONE for part in parts)
        rows.append((str(turn.number), turn.outcome, total, *cells, turn.why))
    if any(turn.why for turn, _ in figures.turn_ends):
        return ("turn", "outcome", "response", *parts, "why"), rows
    return ("turn", "outcome", "response", *parts), [row[:-1] for row in rows]


def _outages(figures: Figures) -> Iterator[tuple[str, str]]:
    """Failures and missing inputs with their counts, and how the sessions closed."""
    count: Counter[str] = Counter()
    closed: Counter[str] = Counter()
    for reported in figures.events:
        match reported.event:
            case ComponentFailed() as failure:
                outcome = "tried again" if failure.recoverable else "given up"
                count[f"{failure}, {outcome}"] += 1
            case AgentEntryFailed() as failure:
                count[str(failure)] += 1
            case ComponentSwitched(available=False, component=component):
                count[f"{component} was replaced by another one"] += 1
            case VoiceUnrecognised() as voice if voice.long:
                count["speech of at least 1 s has no transcript"] += 1
            case AudioStopped():
                count["the user's audio stopped"] += 1
            case Closed() as close:
                closed[str(close)] += 1
    yield from ((event, str(times)) for event, times in count.items())
    if count or any(" error" in outcome for outcome in closed):
        yield from ((outcome, str(times)) for outcome, times in closed.items())
