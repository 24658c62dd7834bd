"""Spans of time, in seconds or in ticks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["spans_of"]

Time = TypeVar("Time", int, float)


def spans_of(moments: Iterable[tuple[Time, bool]], end: Time) -> Iterator[tuple[Time, Time]]:
    """The spans in which something is the case.

    Args:
        moments: Times in their order, each with whether it is the case from then on.
        end: The end of the last span if it is still the case.
    """
    since: Time | None = None
    for t, holds in moments:
        if holds and since is None:
            since = t
        elif not holds and since is not None:
            yield since, t
            since = None
    if since is not None:
        yield since, end
