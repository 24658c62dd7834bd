"""Sessions in PostgreSQL: for workers on several machines.

Needs `pip install 'turnfsm[postgres]'`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from turnfsm.runtime.journal import Redact

from .protocol import SCHEMA, StoreError, StoreUnavailable
from .sql import SqlStore

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresStore"]

_OLDEST = 12

_TABLES = (
    "CREATE TABLE IF NOT EXISTS turnfsm_schema (version integer PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS turnfsm_session (id text PRIMARY KEY, epoch bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS turnfsm_record (session text NOT NULL, epoch bigint NOT NULL, "
    "n bigint NOT NULL, body text NOT NULL, PRIMARY KEY (session, epoch, n))",
)

# With the lock, `acquire` and a running append wait for each other.
_HELD = "SELECT 1 FROM turnfsm_session WHERE id = %s AND epoch = %s FOR SHARE"


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database, version 12 or newer. Missing tables are created.

    Args:
        url: The URL for libpq, ``postgresql://user@host/database``. Give the password in
            ``PGPASSWORD`` or a password file. It is never logged.
        patience: The timeout of a connection or a statement, in seconds.
        redact: How the text of the conversation is redacted: ``leave_out``, ``hash``, or None to
            store it.

    Raises:
        StoreError: psycopg is not installed.

    Example:
        >>> from turnfsm.store import PostgresStore
        >>> store = PostgresStore("postgresql://me@localhost/calls")  # connects when it is used
    """

    def __init__(self, url: str, *, patience: float = 3.0, redact: Redact | None = None) -> None:
        super().__init__(redact)
        self._psycopg = _psycopg()
        self._url = url
        self._patience = patience
        try:
            parts = self._psycopg.conninfo.conninfo_to_dict(url)
        except self._psycopg.ProgrammingError:
            raise StoreError(
                "the address of the database cannot be read; write postgresql://user@host/database"
            ) from None
        host = parts.get("host", "localhost")
        self._name = f"postgresql://{host}/{parts.get('dbname', '')}"

    def __repr__(self) -> str:
        return f"PostgresStore({self._name!r})"

    def close(self) -> None:
        """As `Store.close`."""
        connection, self._open = self._open, None
        if connection is not None:
            with suppress(self._psycopg.Error):
                connection.close()

    # -- inside

    def _held(self, *, durable: bool) -> str:
        return _HELD

    @contextmanager
    def _transaction(self, *, durable: bool) -> Iterator[psycopg.Connection[Any]]:
        driver = self._psycopg
        try:
            connection = self._connection()
            with connection.transaction():
                if not durable:
                    connection.execute("SET LOCAL synchronous_commit = off")
                yield connection
        except driver.Error as exc:
            self.close()
            raise self._error(exc) from None

    def _connect(self) -> psycopg.Connection[Any]:
        wait = max(2, round(self._patience))  # libpq takes whole seconds, at least 2
        limit = round(self._patience * 1000)
        connection: psycopg.Connection[Any] = self._psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=wait,
            options=f"-c statement_timeout={limit} -c lock_timeout={limit}",
            application_name="turnfsm",
            tcp_user_timeout=limit,
        )
        return connection

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        server = connection.info.server_version // 10_000
        if server < _OLDEST:
            raise StoreError(
                f"{self._name}: PostgreSQL {server} is too old; use {_OLDEST} or newer"
            )
        found = connection.execute("SELECT to_regclass('turnfsm_schema')").fetchone()
        if found is None or found[0] is None:
            with connection.transaction():
                # two workers may start at the same time; CREATE TABLE IF NOT EXISTS alone can fail
                # then
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('turnfsm_schema'))")
                for table in _TABLES:
                    connection.execute(table)
                connection.execute(
                    "INSERT INTO turnfsm_schema VALUES (%s) ON CONFLICT DO NOTHING", (SCHEMA,)
                )
        row = connection.execute("SELECT max(version) FROM turnfsm_schema").fetchone()
        version = row[0] if row is not None else None
        if version != SCHEMA:
            raise StoreError(
                f"{self._name}: its tables have version {version}, this turnfsm needs {SCHEMA}; "
                "name another database, or use the turnfsm that made this one"
            )

    def _error(self, exc: psycopg.Error) -> StoreError:
        driver = self._psycopg
        reason = str(exc).strip().splitlines()[0] if str(exc).strip() else type(exc).__name__
        lasting = isinstance(exc, driver.OperationalError) and any(
            word in reason for word in ("authentication failed", "does not exist", "no pg_hba.conf")
        )
        if lasting or isinstance(exc, driver.errors.InsufficientPrivilege):
            return StoreError(
                f"{self._name}: {reason}; check the address, and that its user may make tables"
            )
        return StoreUnavailable(f"{self._name}: {reason}")


def _psycopg() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError:
        raise StoreError(
            "PostgreSQL needs psycopg, which is not installed; pip install 'turnfsm[postgres]'"
        ) from None
    return psycopg
