"""Stores of sessions.

If a worker dies, another one can continue: `TurnSession(store=..., session_id=...)`.

`SqliteStore` needs nothing, `PostgresStore` needs `pip install 'turnfsm[postgres]'`.

Example::

    session = TurnSession(store="calls.db", session_id=ctx.job.room.name, stt=..., llm=...)
"""

from turnfsm.runtime.store import (
    Acquired,
    Batch,
    Past,
    PostgresStore,
    SessionTaken,
    SqliteStore,
    Store,
    StoreAway,
    StoreError,
    open_store,
)

__all__ = [
    "Acquired",
    "Batch",
    "Past",
    "PostgresStore",
    "SessionTaken",
    "SqliteStore",
    "Store",
    "StoreAway",
    "StoreError",
    "open_store",
]


def __dir__() -> list[str]:
    return __all__
