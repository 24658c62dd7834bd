"""Sessions in one SQLite file: for the workers of one machine, and for tests."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from turnfsm.runtime.journal import Redact

from .protocol import SCHEMA, StoreError, StoreUnavailable
from .sql import SqlStore

__all__ = ["SqliteStore"]

logger = logging.getLogger("turnfsm")

_TABLES = (
    "CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, epoch INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS record (session TEXT NOT NULL, epoch INTEGER NOT NULL, "
    "n INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, epoch, n)) WITHOUT ROWID",
)

# An update that changes nothing, for a durable batch: it flushes earlier writes.
_HELD = "SELECT 1 FROM session WHERE id = ? AND epoch = ?"
_HELD_DURABLY = "UPDATE session SET epoch = epoch WHERE id = ? AND epoch = ? RETURNING 1"


class SqliteStore(SqlStore):
    """A store in a SQLite file, in WAL mode. A missing file is created; only its owner can read it.

    Args:
        path: The file. It must be on a local disk: SQLite's locks do not work over a network.
        patience: How long a call waits for other writers of the same file, in seconds.
        redact: How the text of the conversation is redacted: ``leave_out``, ``hash``, or None to
            store it.

    Example:
        >>> from turnfsm.store import Batch, SqliteStore
        >>> import tempfile, pathlib
        >>> store = SqliteStore(pathlib.Path(tempfile.mkdtemp()) / "calls.db")
        >>> held = store.acquire("room-1")
        >>> store.append([Batch("room-1", held.epoch, 1, ('{"note": "hello"}',))])
        [None]
        >>> store.acquire("room-1")
        Acquired(session='room-1', epoch=2, records=('{"note": "hello"}',))
        >>> store.close()
    """

    def __init__(
        self, path: str | Path, *, patience: float = 2.0, redact: Redact | None = None
    ) -> None:
        super().__init__(redact, _sql)
        self.path = Path(path)
        self._patience = patience

    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"

    def close(self) -> None:
        """As `Store.close`."""
        connection, self._open = self._open, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.rollback()  # an open cursor would keep the lock
            with suppress(sqlite3.Error):
                connection.close()

    # -- inside

    def _held(self, *, durable: bool) -> str:
        return _HELD_DURABLY if durable else _HELD

    @contextmanager
    def _transaction(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._connection()
            # FULL flushes the log to the disk; NORMAL leaves that to the system, which survives
            # a killed process
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as exc:
            self.close()  # this rolls back; the next call opens a new connection
            raise self._error(exc) from None
        except OSError as exc:
            raise self._unusable((exc.strerror or str(exc)).lower()) from None
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        self._make_file()
        # The last thread that uses the store closes it, and only one uses it at a time.
        return sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )

    def _make_file(self) -> None:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            mode = stat.S_IMODE(self.path.stat().st_mode)
            if mode & 0o077:
                logger.warning(
                    "%s holds conversations, and others can read it (mode %o); chmod 600 %s",
                    self.path, mode, self.path,
                )  # fmt: skip

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if _version(connection) != SCHEMA:
            connection.execute("BEGIN IMMEDIATE")  # another process may be creating the tables
            version = _version(connection)
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if version != SCHEMA and (version != 0 or tables):
                raise StoreError(
                    f"{self.path}: its tables have version {version}, this turnfsm needs {SCHEMA}; "
                    "name a new file, or use the turnfsm that made this one"
                )
            for table in _TABLES:
                connection.execute(table)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")

    def _error(self, exc: sqlite3.Error) -> StoreError:
        if isinstance(exc, sqlite3.OperationalError | sqlite3.ProgrammingError):
            reason = str(exc)
            if "unable to open" in reason or "readonly" in reason:
                return self._unusable(reason)
            return StoreUnavailable(f"{self.path}: {reason}")
        return self._unusable(str(exc))

    def _unusable(self, reason: str) -> StoreError:
        return StoreError(
            f"{self.path}: {reason}; name a file of turnfsm.store, or a new one in a folder that "
            "can be written"
        )


def _sql(statement: str) -> str:
    return statement.replace("turnfsm_", "").replace("%s", "?")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
