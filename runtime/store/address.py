"""Opens a store by its address."""

from __future__ import annotations

from pathlib import Path

from .protocol import Store, StoreError

__all__ = ["open_store"]

_NEEDED = ("acquire", "append", "delete", "close")


def open_store(store: Store | str | Path) -> Store:
    """The store at an address. Nothing is connected yet.

    Args:
        store: A path is a SQLite file, ``postgresql://...`` a PostgreSQL database. A `Store` is
            returned as it is.

    Returns:
        The store.

    Raises:
        StoreError: The address is neither, or needs an extra that is not installed.

    Example:
        >>> from turnfsm.store import open_store
        >>> open_store("calls.db")
        SqliteStore('calls.db')
    """
    scheme, slashes, _ = store.partition("://") if isinstance(store, str) else ("", "", "")
    if isinstance(store, Path) or (isinstance(store, str) and not slashes):
        from .sqlite import SqliteStore

        return SqliteStore(store)
    if isinstance(store, str):
        if scheme in ("postgresql", "postgres"):
            from .postgres import PostgresStore

            return PostgresStore(store)
        raise StoreError(
            f"there is no store for {scheme}://; give the path of a SQLite file, or "
            "postgresql://user@host/database"
        )
    if isinstance(store, type) or not all(callable(getattr(store, n, None)) for n in _NEEDED):
        text = repr(store)[:60]
        raise StoreError(f"store is {text}; give store='calls.db' or store='postgresql://...'")
    return store
