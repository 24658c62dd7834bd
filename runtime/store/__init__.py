"""Stores of sessions: another worker can continue a session whose worker has died."""

from .address import open_store
from .past import Past
from .postgres import PostgresStore
from .protocol import Acquired, Batch, SessionTaken, Store, StoreAway, StoreError
from .sqlite import SqliteStore

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
