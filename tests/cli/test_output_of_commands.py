"""Where output goes: devices, pipes, links, full disks and narrow encodings."""

from __future__ import annotations

import io
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
import threading
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
    assert start("demo", "--text", "--out", str(folder)).returncode == 0
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


WRITERS = {
    "export": ("export session --to xstate", "a.json"),
    "render": ("render session", "a.svg"),
    "report": ("report {journal}", "a.txt"),
    "timeline": ("timeline {journal}", "a.svg"),
    "view": ("view {journal}", "a.html"),
    "schema": ("schema", "a.json"),
    "compare": ("compare C1 --format json", "a.json"),
}
"""Every command that writes one file, and a name that it takes."""


@pytest.mark.parametrize("name", WRITERS)
def test_links_are_followed_and_devices_are_written_through(
    name: str, journal: Path, tmp_path: Path
) -> None:
    """The file that a link leads to gets the output; the link and a device stay what they are."""
    words, file = WRITERS[name]
    target = tmp_path / "target"
    target.write_text("old")
    target.chmod(0o640)
    link = tmp_path / file
    link.symlink_to(target)
    done = start(*words.format(journal=journal).split(), "-o", str(link))
    assert done.returncode == 0, done.stderr
    assert link.is_symlink()
    assert len(target.read_bytes()) > 100
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == sorted([file, "target"])

    if FULL.exists():
        link.unlink()
        link.symlink_to(FULL)
        done = start(*words.format(journal=journal).split(), "-o", str(link))
        assert stat.S_ISCHR(FULL.stat().st_mode)
        assert f"error: {link}: No space left on device".encode() in done.stderr
        assert b"Traceback" not in done.stderr
        assert done.returncode == 2


@pytest.mark.parametrize("name", ["export", "schema", "report", "timeline", "view"])
def test_a_pipe_with_a_name_is_written_through(name: str, journal: Path, tmp_path: Path) -> None:
    """A reader of a FIFO gets the output, and the FIFO stays."""
    words, file = WRITERS[name]
    pipe = tmp_path / file
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    done = start(*words.format(journal=journal).split(), "-o", str(pipe))
    reader.join(10)
    assert (done.stderr, done.returncode) == (b"", 0)
    assert len(got[0]) > 100
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_output_to_standard_output_by_name_is_printed(tmp_path: Path) -> None:
    """A link to /dev/stdout prints, whatever standard output is."""
    (link := tmp_path / "out").symlink_to("/proc/self/fd/1")
    printed = start("export", "session", "--to", "json").stdout
    assert start_process("export", "session", "--to", "json", "-o", str(link)).stdout == printed
    with (tmp_path / "all").open("wb") as file:
        file.write(b"before\n")
        file.flush()
        start_process("export", "session", "--to", "json", "-o", str(link), stdout=file)
    assert (tmp_path / "all").read_bytes() == b"before\n" + printed


@pytest.mark.parametrize("command", ["report", "view"])
def test_a_page_or_a_report_goes_to_standard_output_by_name(
    command: str, journal: Path, tmp_path: Path
) -> None:
    """`-o /dev/stdout` gives what a file gets."""
    file = tmp_path / "file"
    assert start(command, str(journal), "-o", str(file)).returncode == 0
    printed = start_process(command, str(journal), "-o", "/dev/stdout")
    assert (printed.stderr, printed.returncode) == (b"", 0)
    assert printed.stdout == file.read_bytes()


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """The message names the file. What was there stays, and nothing else is left."""
    file = tmp_path / "session.svg"
    file.write_text("old")
    with files_are_at_most(1024):
        done = start("render", "session", "-o", str(file))
    assert done.stderr.decode() == f"error: {file}: File too large\n"
    assert done.returncode == 2
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [
        ("session.svg", "old")
    ]


def test_counterexamples_are_written_through_links(tmp_path: Path) -> None:
    """The journal of a counterexample goes where a link of its name leads."""
    flow = tmp_path / "bad.yaml"
    flow.write_text(
        "flow: bad\ninitial: a\nevents: {go: Go.}\nstates:\n  a: {on: {go: {dest: b}}}\n  b: {}\n"
    )
    folder = tmp_path / "out"
    words = ("check", str(flow), "--counterexamples", str(folder))
    assert start(*words).returncode == 1
    found, *_ = folder.iterdir()
    journal = found.read_bytes()
    found.unlink()
    found.symlink_to(tmp_path / "target")
    assert start(*words).returncode == 1
    assert (tmp_path / "target").read_bytes() == journal
    assert found.is_symlink()
