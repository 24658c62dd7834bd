"""A connection to a database that is used once its tables are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["prepared"]


class _Connection(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_Connection)


def prepared(connection: C, prepare: Callable[[C], None]) -> C:
    """The connection, or the error of `prepare`: it is closed then."""
    try:
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection
