"""What callers notice, compared between groups of conversations, or over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from .figures import Figures, summarize
from .tables import Table, percent, seconds

__all__ = ["NO_GROUPS", "Groups", "by_time", "groups_table", "noticed", "trend_table"]

Groups: TypeAlias = Mapping[str, Figures]
"""The figures of each group, or of each period, by its name."""

NO_GROUPS: Groups = {}

_LAST_HOURS, _LAST_DAYS = timedelta(days=2), timedelta(days=31)
"""How long a time is divided into hours, and into days; a longer one is divided into weeks."""


def by_time(started: Iterable[tuple[float, Figures]]) -> Groups:
    """Group conversations by the hour, the day or the week in which they began, in UTC.

    Args:
        started: When each conversation began, in seconds since 1970, and its figures. A time of 0
            is not known: such a conversation is left out.

    Returns:
        The combined figures of each period with conversations, in order. The periods are hours if
        all conversations are within two days, days if they are within 31 days, otherwise weeks.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.metrics import by_time, measure
        >>> figures = measure(read_journal("journal.jsonl"))
        >>> list(by_time([(1_700_000_000.0, figures), (1_700_500_000.0, figures)]))
        ['2023-11-14', '2023-11-20']
    """
    known = [(datetime.fromtimestamp(t, UTC), figures) for t, figures in started if t]
    if not known:
        return NO_GROUPS
    times = [t for t, _ in known]
    lasted = max(times) - min(times)
    form = "%Y-%m-%d %H:00" if lasted <= _LAST_HOURS else "%Y-%m-%d"
    periods: dict[str, list[Figures]] = {}
    for t, figures in sorted(known, key=lambda one: one[0]):
        first = t if lasted <= _LAST_DAYS else t - timedelta(days=t.weekday())
        periods.setdefault(first.strftime(form), []).append(figures)
    return {name: Figures.over(parts) for name, parts in periods.items()}


def _quantile(name: Literal["p50", "p90"], of: Iterable[float]) -> float | None:
    return getattr(summarize(of), name, None)


def _silent(figures: Figures) -> float | None:
    """The share of the time that is silence."""
    silent = sum(silence.seconds for silence in figures.silences)
    return silent / figures.seconds if figures.seconds else None


_NOTICED: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("conversations", lambda figures: str(figures.journals)),
    ("response, p50", lambda figures: seconds(_quantile("p50", figures.responses))),
    ("response, p90", lambda figures: seconds(_quantile("p90", figures.responses))),
    ("stop, p50", lambda figures: seconds(_quantile("p50", figures.stops))),
    ("yielded within 2 s", lambda figures: percent(figures.yield_rate)),
    ("silences", lambda figures: str(len(figures.silences))),
    ("silent, share of the time", lambda figures: percent(_silent(figures))),
    ("overlaps", lambda figures: str(len(figures.overlaps))),
)


def groups_table(groups: Groups) -> Table:
    """A column for each group."""
    rows = tuple((name, *map(write, groups.values())) for name, write in _NOTICED)
    return Table("Groups", ("", *groups), rows)


def trend_table(trend: Groups) -> Table:
    """A row for each period."""
    head = ("from, UTC", *(name for name, _ in _NOTICED))
    rows = ((name, *(write(figures) for _, write in _NOTICED)) for name, figures in trend.items())
    return Table("Trend", head, tuple(rows))


def noticed(figures: Figures) -> dict[str, float | None]:
    """The same figures for JSON, times in seconds."""
    return {
        "journals": figures.journals,
        "response_p50": _quantile("p50", figures.responses),
        "response_p90": _quantile("p90", figures.responses),
        "stop_p50": _quantile("p50", figures.stops),
        "yield_rate": figures.yield_rate,
        "silences": len(figures.silences),
        "silent_share": _silent(figures),
        "overlaps": len(figures.overlaps),
    }
