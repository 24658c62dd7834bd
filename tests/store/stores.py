"""Stores that fail on purpose, at any of their operations."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnfsm.store import PostgresStore, SqliteStore

__all__ = ["FaultyPostgres", "FaultySqlite"]


class _Faults:
    """Counts the statements of a store; `fail` is called before the one that is due, or after."""

    def __init__(self) -> None:
        self.due: float = 0
        self.seen = 0.0
        self.happened = False

    def at(self, moment: float) -> None:
        """Fail at a moment: 0.5 before the first statement, 1 after it, 1.5 before the second."""
        self.due, self.seen, self.happened = moment, 0.0, False

    def passes(self, fail: Callable[[], None]) -> None:
        """One moment has come."""
        self.seen += 0.5
        if self.seen == self.due:
            self.happened = True
            fail()


class FaultySqlite(SqliteStore):
    """Its disk fails."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, patience=0.1)
        self.faults = _Faults()

    def _connect(self) -> sqlite3.Connection:
        faults = self.faults

        def fail() -> None:
            raise sqlite3.OperationalError("disk I/O error")

        class Connection(sqlite3.Connection):
            def execute(self, *statement: Any) -> sqlite3.Cursor:
                return self._run(super().execute, *statement)

            def executemany(self, *statement: Any) -> sqlite3.Cursor:
                return self._run(super().executemany, *statement)

            def _run(self, run: Callable[..., sqlite3.Cursor], *statement: Any) -> sqlite3.Cursor:
                faults.passes(fail)
                cursor = run(*statement)
                faults.passes(fail)
                return cursor

        return sqlite3.connect(
            self.path, timeout=0.1, isolation_level=None, check_same_thread=False,
            factory=Connection,
        )  # fmt: skip


class FaultyPostgres(PostgresStore):
    """The server kills its connection."""

    def __init__(self, url: str) -> None:
        super().__init__(url, patience=2.0)
        self.faults = _Faults()

    def _connect(self) -> Any:
        import psycopg

        faults, url = self.faults, self._url
        connection = super()._connect()

        def kill() -> None:
            with psycopg.connect(url, autocommit=True) as other:
                pid = connection.info.backend_pid
                other.execute("SELECT pg_terminate_backend(%s, 1000)", (pid,))

        class Cursor(psycopg.Cursor[Any]):
            def execute(self, *statement: Any, **how: Any) -> Any:
                faults.passes(kill)
                done = super().execute(*statement, **how)
                faults.passes(kill)
                return done

            def executemany(self, *statement: Any, **how: Any) -> None:
                faults.passes(kill)
                super().executemany(*statement, **how)
                faults.passes(kill)

        connection.cursor_factory = Cursor
        return connection
