"""Stores of sessions.

If a worker dies, another one can continue: `TurnSession(store=..., session_id=...)`.

`SqliteStore` needs nothing, `PostgresStore` needs `pip install 'turnfsm[postgres]'`.

Example::

    session = TurnSession(store="calls.db", session_id=ctx.job.room.name, stt=..., llm=...)
"""

from turnfsm.runtime.store.address import open_store
from turnfsm.runtime.store.past import Past
from turnfsm.runtime.store.postgres import PostgresStore
from turnfsm.runtime.store.protocol import (
    Acquired,
    Batch,
    Check,
    SessionTaken,
    Store,
    StoreError,
    StoreUnavailable,
)
from turnfsm.runtime.store.sqlite import SqliteStore

__all__ = [
    "Acquired",
    "Batch",
    "Check",
    "Past",
    "PostgresStore",
    "SessionTaken",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "open_store",
]


def __dir__() -> list[str]:
    return __all__
