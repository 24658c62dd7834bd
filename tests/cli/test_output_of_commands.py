"""Where output goes: devices, pipes, links, full disks and narrow encodings."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO

import attrs
import pytest

from turnfsm.runtime.cli import main

FULL = Path("/dev/full")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@attrs.frozen
class Done:
    """What a command has printed, and its exit status."""

    stdout: bytes
    stderr: bytes
    returncode: int


def start(*words: str, stdout: IO[bytes] | None = None, encoding: str = "utf-8") -> Done:
    """Run the command in this process, with files as standard output and error."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        out, err = _text(stdout or printed, encoding), _text(errors, "utf-8")
        with out, err, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
            main(words)
        printed.seek(0)
        errors.seek(0)
        assert isinstance(end.value.code, int)
        return Done(printed.read(), errors.read(), end.value.code)


def _text(file: IO[bytes], encoding: str) -> io.TextIOWrapper:
    return open(os.dup(file.fileno()), "w", encoding=encoding)


def start_process(
    *words: str, stdout: int | IO[bytes] = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """Run it as a process of its own: how it ends is the interpreter's business, too."""
    command = [sys.executable, "-m", "turnfsm.runtime.cli", *words]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False)


@contextmanager
def files_are_at_most(size: int) -> Iterator[None]:
    """A disk without room for a file of more bytes."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))


@contextmanager
def pipe_without_reader() -> Iterator[IO[bytes]]:
    """As of `| head -0`."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        yield closed


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal to read, and to draw."""
    folder = tmp_path_factory.mktemp("journal")
    played = start("demo", "--text", "--out", str(folder))
    assert played.returncode == 0, played.stdout.decode()
    return folder / "journal.jsonl"


PRINTERS = [
    *("--help", "matrix turn", "check session", "export session --to xstate"),
    *("report {journal}", "why {journal}", "audit {journal}", "log {journal}"),
]


@needs_full
@pytest.mark.parametrize("words", PRINTERS)
def test_a_full_device_as_stdout_is_reported_in_one_line(words: str, journal: Path) -> None:
    """What cannot be printed is an error with its reason, not a traceback."""
    with FULL.open("wb") as full:
        done = start(*words.format(journal=journal).split(), stdout=full)
    assert done.stderr == b"error: standard output: No space left on device\n"
    assert done.returncode == 2


@needs_full
def test_the_process_prints_nothing_after_that_line() -> None:
    """The interpreter, which flushes what is left, has nothing to add."""
    with FULL.open("wb") as full:
        done = start_process("matrix", "turn", stdout=full)
    assert done.stderr == b"error: standard output: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_table_is_printed_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the terminal cannot show is written with what it can."""
    monkeypatch.setenv("COLUMNS", "80")
    done = start("matrix", "turn", encoding=encoding)
    assert (done.stderr, done.returncode) == (b"", 0)
    lines = done.stdout.decode(encoding).splitlines()
    assert any("| -> paused " in line for line in lines)
    assert len({len(line) for line in lines[2:]}) == 1, "the frame is straight"


def test_a_flow_with_words_of_any_script_is_exported_in_ascii(tmp_path: Path) -> None:
    """What is printed as JSON stays JSON, with escapes."""
    flow = tmp_path / "flow.yaml"
    flow.write_text("flow: größer\ninitial: b\nstates: {b: {}}\n", encoding="utf-8")
    wide, narrow = (
        start("export", str(flow), "--to", "xstate", encoding=encoding)
        for encoding in ("utf-8", "ascii")
    )
    told = json.loads(narrow.stdout.decode("ascii"))
    assert told == json.loads(wide.stdout.decode("utf-8"))
    assert told["id"] == "größer"


def test_a_file_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    """A file whose name is no UTF-8 can be named in a message."""
    done = start("check", os.fsdecode(bytes(tmp_path) + b"/\xff.yaml"))
    assert b"Traceback" not in done.stderr
    assert done.returncode == 2


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`turnfsm check turn | head -0`: the command ends as it would have ended, and is quiet."""
    with pipe_without_reader() as closed:
        done = start_process("check", "session", stdout=closed)
    assert (done.stderr, done.returncode) == (b"", 0)


def test_a_demo_whose_reader_goes_away_keeps_its_evidence(tmp_path: Path) -> None:
    """`turnfsm demo --text | head -1` leaves the journal, the timeline and the transcript."""
    with pipe_without_reader() as closed:
        done = start("demo", "--text", "--out", str(tmp_path), stdout=closed)
    assert (done.stderr, done.returncode) == (b"", 0)
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"conversation.html", "journal.jsonl", "timeline.svg", "transcript.txt"}


@needs_full
def test_a_demo_that_cannot_print_keeps_its_evidence(tmp_path: Path) -> None:
    """What could not be printed is said, and nothing that was recorded is lost."""
    with FULL.open("wb") as full:
        done = start("demo", "--text", "--out", str(tmp_path), stdout=full)
    assert done.stderr == b"error: standard output: No space left on device\n"
    assert done.returncode == 2
    assert (tmp_path / "journal.jsonl").stat().st_size > 10_000


def test_a_demo_on_a_disk_that_fills_keeps_what_fits(tmp_path: Path) -> None:
    """The transcript still has room; what has not is named with the reason."""
    with files_are_at_most(20 * 1024):
        done = start("demo", "--text", "--out", str(tmp_path))
    assert b"Traceback" not in done.stderr
    assert b"timeline.svg: File too large" in done.stderr
    assert done.returncode == 2
    assert {file.name for file in tmp_path.iterdir()} == {"journal.jsonl", "transcript.txt"}


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "session.svg"
    with files_are_at_most(1024):
        done = start("render", "session", "-o", str(file))
    assert (done.stderr.decode(), done.returncode) == (f"error: {file}: File too large\n", 2)
