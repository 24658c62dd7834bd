"""Watches writes to an attribute of a LiveKit object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Watched"]


class Watched:
    """Calls a function when the attribute is set, without cost for reads.

    LiveKit reads some attributes several times per audio frame, and sets them once per turn. A
    descriptor without `__get__` is not called: Python reads the instance's dictionary.

    Args:
        wrote: Called with the instance and the value. It stores the value in the instance's
            dictionary, where LiveKit's constructor has put the first one.
    """

    def __init__(self, wrote: Callable[[Any, Any], None]) -> None:
        self._wrote = wrote

    def __set__(self, instance: Any, value: Any) -> None:
        self._wrote(instance, value)
