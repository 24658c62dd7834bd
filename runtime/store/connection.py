"""Opens a database connection, and prepares its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["prepared"]


class _Connection(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_Connection)


def prepared(connection: C, prepare: Callable[[C], None]) -> C:
    """The prepared connection. If `prepare` raises, the connection is closed."""
    try:
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection
