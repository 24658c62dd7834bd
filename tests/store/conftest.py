"""The stores under test: SQLite, and PostgreSQL if it can be started here."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAMS = Path("/usr/lib/postgresql")
"""Where Debian has the server's programs."""


def _program(name: str) -> str | None:
    found = sorted(PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return shutil.which(name, path=str(found[-1].parent) if found else None)


def _as_postgres() -> list[str]:
    """The server refuses to run as root."""
    if os.getuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("no user postgres; apt-get install postgresql")
    return ["runuser", "-u", "postgres", "--"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL of our own, or of `TURNFSM_POSTGRES`."""
    pytest.importorskip("psycopg", reason="no psycopg; pip install 'turnfsm[postgres]'")
    if given := os.environ.get("TURNFSM_POSTGRES"):
        yield given
        return
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("no PostgreSQL; apt-get install postgresql, or set TURNFSM_POSTGRES")
    become = _as_postgres()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    folder.chmod(0o777)
    data = folder / "data"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    try:
        subprocess.run([*become, initdb, "-D", data, "-U", "agent", "-A", "trust"], **quiet)
        start = [pg_ctl, "-D", data, "-o", options, "-l", folder / "log", "-w", "start"]
        subprocess.run([*become, *start], **quiet)
        try:
            yield f"postgresql://agent@/postgres?host={folder}"
        finally:
            subprocess.run([*become, pg_ctl, "-D", data, "-m", "immediate", "stop"], **quiet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
