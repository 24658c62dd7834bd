"""Caches a function's result per flow object: sessions begin often, and a flow never changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from .flow import Flow

__all__ = ["once_for_each_flow"]

T = TypeVar("T")


def once_for_each_flow(compute: Callable[[Flow], T]) -> Callable[[Flow], T]:
    """Cache a function's result for a flow, unless it raises, as long as the flow is referenced.

    Equal flows are computed twice: comparing them would take as long.
    """
    known: dict[int, tuple[ref[Flow], T]] = {}

    @wraps(compute)
    def remembered(flow: Flow) -> T:
        found = known.get(id(flow))
        if found is not None and found[0]() is flow:
            return found[1]
        said, place = compute(flow), id(flow)
        known[place] = ref(flow, lambda _: known.pop(place, None)), said
        return said

    return remembered
