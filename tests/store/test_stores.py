"""Every store behaves the same: epochs, fences, batches that are written whole or not at all."""

from __future__ import annotations

import os
import sqlite3
import stat
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from turnfsm.store import (
    Acquired,
    Batch,
    PostgresStore,
    SessionTaken,
    SqliteStore,
    Store,
    StoreError,
    StoreUnavailable,
    open_store,
)

from .stores import FaultyPostgres, FaultySqlite

Make = Callable[[], Any]


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes stores, each with a connection of its own, on one file or database."""
    made: list[Any] = []

    def make() -> Any:
        if request.param == "sqlite":
            made.append(FaultySqlite(tmp_path / "calls.db"))
        else:
            made.append(FaultyPostgres(request.getfixturevalue("postgres")))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def id() -> str:
    """A session that nobody has had."""
    return f"room {uuid.uuid4()}; DROP TABLE record; --'\""


def test_a_new_session_is_empty(make: Make, id: str) -> None:
    assert make().acquire(id) == Acquired(id, 1, ())


def test_the_next_worker_gets_what_was_written(make: Make, id: str) -> None:
    """In its order, whatever the text is."""
    first, second = make(), make()
    held = first.acquire(id)
    assert first.append([Batch(id, held.epoch, 1, ("one", "two"))]) == [None]
    assert first.append(
        [Batch(id, held.epoch, 3, ("thr\u2028ee 'ä' \\ %s ?",), durable=False)]
    ) == [None]
    assert second.acquire(id) == Acquired(id, 2, ("one", "two", "thr\u2028ee 'ä' \\ %s ?"))


def test_what_an_older_worker_writes_is_refused(make: Make, id: str) -> None:
    """Also when it writes nothing but the question."""
    first, second = make(), make()
    first.acquire(id)
    second.acquire(id)
    for records in (("late",), ()):
        (refused,) = first.append([Batch(id, 1, 1, records)])
        assert isinstance(refused, SessionTaken)
        assert "another worker has acquired it" in str(refused)
        assert (refused.session, refused.epoch) == (id, 1)
    assert second.append([Batch(id, 2, 1, ())]) == [None]
    assert make().acquire(id).records == ()


def test_a_worker_that_wrote_nothing_hides_nothing(make: Make, id: str) -> None:
    """It died before it wrote: the records of the worker before are still there."""
    first = make()
    first.append([Batch(id, first.acquire(id).epoch, 1, ("one",))])
    make().acquire(id)
    assert make().acquire(id) == Acquired(id, 3, ("one",))


def test_a_session_whose_records_are_refused_is_not_taken(make: Make, id: str) -> None:
    """The worker that has it goes on, and the store of the other one can be used again."""
    first, second = make(), make()
    first.append([Batch(id, first.acquire(id).epoch, 1, ("one",))])

    def refuse(acquired: Acquired) -> None:
        assert acquired == Acquired(id, 2, ("one",))
        raise StoreError("not mine")

    for _ in range(2):
        with pytest.raises(StoreError, match="not mine"):
            second.acquire(id, refuse)
    assert first.append([Batch(id, 1, 2, ("two",))]) == [None]
    assert second.acquire(id) == Acquired(id, 2, ("one", "two"))


def test_a_batch_that_is_written_twice_is_there_once(make: Make, id: str) -> None:
    """Nobody knew whether the first time had succeeded."""
    store = make()
    batch = Batch(id, store.acquire(id).epoch, 1, ("one", "two"))
    assert [*store.append([batch]), *store.append([batch])] == [None, None]
    assert make().acquire(id).records == ("one", "two")


def test_sessions_are_written_together_and_fenced_apart(make: Make, id: str) -> None:
    """One that was taken does not keep the others from being written."""
    store = make()
    for session in (id, f"{id} 2", f"{id} 3"):
        store.acquire(session)
    make().acquire(f"{id} 2")
    batches = [Batch(f"{id} {n}".removesuffix(" 1"), 1, 1, (str(n),)) for n in (3, 2, 1)]
    answers = store.append(batches)
    assert [answer is None for answer in answers] == [True, False, True]
    assert [make().acquire(batch.session).records for batch in batches] == [("3",), (), ("1",)]


def test_a_forgotten_session_is_deleted_and_its_worker_refused(make: Make, id: str) -> None:
    store = make()
    store.append([Batch(id, store.acquire(id).epoch, 1, ("private",))])
    make().delete(id)
    (refused,) = store.append([Batch(id, 1, 2, ("more",))])
    assert isinstance(refused, SessionTaken)
    assert make().acquire(id).records == ()


def test_workers_that_acquire_at_once_have_different_epochs(make: Make, id: str) -> None:
    """One is the last, and only that one may write."""
    stores = [make() for _ in range(4)]
    for store in stores:
        store.acquire("warm " + id)
    with ThreadPoolExecutor(4) as pool:
        held = list(pool.map(lambda store: store.acquire(id).epoch, stores))
    assert sorted(held) == [1, 2, 3, 4]
    answers = [
        store.append([Batch(id, epoch, 1, ("mine",))])[0]
        for store, epoch in zip(stores, held, strict=True)
    ]
    assert [epoch for epoch, refused in zip(held, answers, strict=True) if refused is None] == [4]


OPERATIONS: dict[str, Callable[[Store, str, int], object]] = {
    "acquire": lambda store, id, epoch: store.acquire(id),
    "append": lambda store, id, epoch: store.append([Batch(id, epoch, 2, ("two", "three"))]),
    "delete": lambda store, id, epoch: store.delete(f"{id} other"),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("connected", [True, False], ids=["later", "at once"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_connection_is_killed_at_any_statement(
    operation: str, connected: bool, make: Make, id: str
) -> None:
    """The operation says that the store is away, and succeeds when it is tried again: then all is
    there, and once."""
    operate = OPERATIONS[operation]
    for half in range(1, 40):
        session = f"{id} {half}"
        store = make()
        epoch = store.acquire(session).epoch
        store.append([Batch(session, epoch, 1, ("one",))])
        if not connected:
            store.close()
        store.faults.at(half / 2)
        try:
            operate(store, session, epoch)
        except StoreUnavailable:
            assert store.faults.happened
            operate(store, session, epoch)
        happened = store.faults.happened
        store.faults.at(0)
        if operation == "append":
            assert make().acquire(session).records == ("one", "two", "three")
        else:
            assert store.acquire(session).records == ("one",)
        store.close()
        if not happened:
            return
    raise AssertionError("an operation of more than 20 statements")


def test_disk_full_says_so_and_nothing_is_lost(make: Make, id: str) -> None:
    """What was not written is written when there is room again."""
    store = make()
    epoch = store.acquire(id).epoch
    batch = Batch(id, epoch, 1, tuple(f"{n} {'x' * 2000}" for n in range(50)))
    make_room = _fill_up(store)
    with pytest.raises(StoreUnavailable, match="full"):
        store.append([batch])
    make_room(store)
    assert store.append([batch]) == [None]
    assert make().acquire(id).records == batch.records


def _fill_up(store: Any) -> Callable[[Any], None]:
    """No more room; gives what makes room."""
    if isinstance(store, SqliteStore):
        connection = store._connection()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return lambda store: None  # the limit is that of the connection, which was given up
    # what the server raises when its disk is full
    connection = store._connection()
    connection.execute(
        "CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file: disk full' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql"
    )
    connection.execute(
        "CREATE TRIGGER full_disk BEFORE INSERT ON turnfsm_record FOR EACH ROW "
        "EXECUTE FUNCTION full_disk()"
    )
    return lambda store: store._connection().execute("DROP TRIGGER full_disk ON turnfsm_record")


def test_another_process_writes_for_long(make: Make, id: str) -> None:
    """The call ends in its time, and says that the store is away."""
    store, other = make(), make()
    epoch = store.acquire(id).epoch
    with other._transaction(durable=True) as connection:
        if isinstance(store, PostgresStore):
            connection.execute("LOCK TABLE turnfsm_session IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable):
            store.append([Batch(id, epoch, 1, ("one",))])
    assert store.append([Batch(id, epoch, 1, ("one",))]) == [None]


# -- one backend only


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    """The log beside it neither; a file that others can read is warned of."""
    store = SqliteStore(tmp_path / "calls.db")
    before = os.umask(0)
    try:
        store.append([Batch("room", store.acquire("room").epoch, 1, ("private",))])
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("calls.db", "calls.db-shm", "calls.db-wal"), 0o600)
    store.close()


def test_a_file_that_others_can_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "calls.db").touch(0o644)
    SqliteStore(tmp_path / "calls.db").acquire("room")
    assert "others can read it (mode 644); chmod 600" in caplog.text


def _older(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.commit()
    connection.close()


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()


BAD_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "of another version": (
        _older,
        "its tables have version 7, this turnfsm needs 1; name a new file",
    ),
    "of another program": (_foreign, "its tables have version 0, this turnfsm needs 1"),
    "no database": (
        lambda path: path.write_text("hello, this is no database" * 50),
        "not a database",
    ),
    "a folder": (lambda path: path.mkdir(), "name a file of turnfsm.store"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_is_no_store_is_refused(kind: str, tmp_path: Path) -> None:
    """With what to do, and the file as it was."""
    spoil, message = BAD_FILES[kind]
    path = tmp_path / "calls.db"
    spoil(path)
    with pytest.raises(StoreError, match=message) as caught:
        SqliteStore(path).acquire("room")
    assert not isinstance(caught.value, StoreUnavailable)
    assert str(path) in str(caught.value)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file or directory; name a file"):
        SqliteStore(tmp_path / "missing" / "calls.db").acquire("room")


def test_no_password_is_shown(tmp_path: Path) -> None:
    """Neither in the store's name nor in its errors."""
    pytest.importorskip("psycopg")
    store = PostgresStore("postgresql://agent:s3cret@localhost:1/calls", patience=0.1)
    with pytest.raises(StoreUnavailable) as caught:
        store.acquire("room")
    assert "s3cret" not in f"{store!r} {caught.value!r} {caught.value.__cause__!r}"
    assert "postgresql://localhost/calls" in str(caught.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("redis://localhost", "there is no store for redis://; give the path of a SQLite file"),
        ("postgresql://[", "cannot be read; write postgresql://user@host/database"),
        (7, "store is 7; give store='calls.db'"),
        (SqliteStore, "store is <class .*; give store='calls.db'"),
    ],
)
def test_an_invalid_address_is_refused(address: Any, message: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match=message):
        open_store(address)


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'turnfsm\[postgres\]'"):
        open_store("postgresql://localhost/calls")


def test_an_old_server_and_old_tables_are_refused(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnfsm.runtime.store.postgres._OLDEST", 99)
    with pytest.raises(StoreError, match=r"PostgreSQL \d+ is too old; use 99 or newer"):
        PostgresStore(postgres).acquire("room")
    monkeypatch.setattr("turnfsm.runtime.store.postgres._OLDEST", 12)
    store = PostgresStore(postgres)
    store.acquire("room")
    store.close()
    monkeypatch.setattr("turnfsm.runtime.store.postgres.SCHEMA", 2)
    with pytest.raises(StoreError, match="have version 1, this turnfsm needs 2; name another"):
        PostgresStore(postgres).acquire("room")


def test_an_unknown_database_is_no_passing_fault(postgres: str) -> None:
    """It is not tried again and again."""
    with pytest.raises(StoreError, match="does not exist; check the address") as caught:
        PostgresStore(postgres.replace("/postgres?", "/nowhere?")).acquire("room")
    assert not isinstance(caught.value, StoreUnavailable)
