"""The journal in memory, on disk, cut, damaged, redacted and replayed."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from calls import Host, flow_of
from calls import runtime as make_runtime

from turnfsm.runtime import (
    JournalError,
    JsonlSink,
    TurnRuntime,
    read_journal,
    replay,
    write_journal,
)
from turnfsm.runtime.journal import Redactor

OPEN: list[TurnRuntime] = []


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def runtime(host: Host | None = None, **options: Any) -> TurnRuntime:
    """A runtime that is closed at the end of the test."""
    OPEN.append(make_runtime(host, **options))
    return OPEN[-1]


def conversation(**options: Any) -> TurnRuntime:
    """A runtime after a few posts of every kind."""
    turn = runtime(Host(greet=lambda event: turn.note("said", text="Grüße\u2028!")), **options)
    turn.post("ring")
    turn.post("step_started", "s1", text="what the user said")
    turn.post("playout_started", "s1")
    turn.post("playout_started", "s0")
    turn.post("barge_in", None)
    turn.post("ring")
    turn.post("user_started")
    return turn


# -- in memory


def test_entries_say_what_was_asked_and_what_became_of_it() -> None:
    """Number, time, trigger, of, facts afterwards, verdict, cause and data."""
    turn = conversation()
    entries = list(turn.journal)
    assert [(e.seq, e.trigger, bool(e.verdict)) for e in entries] == [
        (1, "ring", True),
        (3, "step_started", True),
        (4, "playout_started", True),
        (5, "playout_started", False),
        (6, "barge_in", True),
        (7, "ring", False),
        (8, "user_started", True),
    ]
    assert entries[1].of == "s1"
    assert entries[2].facts == ("heard", "allowed")
    assert entries[1].data == {"text": "what the user said"}
    assert [e.trigger for e in turn.journal.refusals] == ["playout_started", "ring"]


def test_notes_stand_between_the_entries() -> None:
    """They have a number of the same count, and are read by kind."""
    turn = conversation()
    turn.note("other", n=1)
    assert [(n.seq, n.kind) for n in turn.journal.notes()] == [(2, "said"), (9, "other")]
    assert [n.data for n in turn.journal.notes("other")] == [{"n": 1}]


def test_the_journal_is_bounded() -> None:
    """The oldest go first; their numbers are not given again."""
    turn = runtime(maxlen=3)
    for _ in range(10):
        turn.post("tick")
    assert [entry.seq for entry in turn.journal] == [8, 9, 10]
    assert len(turn.journal) == 3


def test_an_empty_journal_is_its_header() -> None:
    """It names the flow and when it began."""
    [header] = runtime().journal.records()
    assert (header["journal"], header["flow"], header["initial"]) == (1, "call", "idle")
    assert set(header) == {"journal", "flow", "initial", "started_at"}


# -- replay


def test_a_replay_reproduces_every_state_fact_and_verdict() -> None:
    """From memory, and through JSON."""
    turn = conversation()
    records = list(turn.journal.records())
    assert replay(records, turn.flow) is None
    assert replay(json.loads(json.dumps(records)), turn.flow) is None


@pytest.mark.parametrize("kept", range(1, 9))
def test_a_journal_without_its_beginning_is_replayed_from_where_it_goes_on(kept: int) -> None:
    """The header holds the configuration and tokens after the first entry that is kept."""
    turn = conversation(maxlen=kept)
    records = list(turn.journal.records())
    assert replay(records, turn.flow) is None
    if kept >= 2:
        records[-1]["facts"] = ["heard"]
        assert replay(records, turn.flow) is not None


def test_stale_verdicts_are_reproduced_after_a_dropped_beginning() -> None:
    """The step that was current then is part of what the header keeps."""
    turn = runtime(maxlen=3)
    turn.post("step_started", "s1")
    turn.post("tick")
    turn.post("playout_started", "s1")
    turn.post("playout_started", "s2")
    records = list(turn.journal.records())
    assert records[0]["snapshot"] == {
        "seq": 2,
        "state": "talking",
        "facts": [],
        "tokens": {"step": "s1"},
    }
    assert [r.get("reason") for r in records[1:]] == [None, None, "stale"]
    assert replay(records, turn.flow) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dest", "talking"),
        ("verdict", "refused"),
        ("facts", ["heard", "allowed"]),
        ("row", "busy.again.0"),
    ],
)
def test_a_replay_says_where_it_diverges(key: str, value: Any) -> None:
    """The entry's number, what the journal has and what the flow gives."""
    turn = conversation()
    records = list(turn.journal.records())
    changed = {**records[1], key: value, "reason": None}
    divergence = replay([records[0], changed, *records[2:]], turn.flow)
    assert divergence is not None
    assert (divergence.seq, divergence.trigger) == (1, "ring")
    assert str(divergence) == (
        f"entry 1 (ring): journal {divergence.expected}; "
        "flow taken (idle.ring.0) -> busy {allowed}"
    )


def test_a_replay_on_another_flow_names_what_it_lacks() -> None:
    """A trigger that the flow does not have is an error, not a divergence."""
    records = list(conversation().journal.records())
    other = flow_of("flow: x\ninitial: a\nstates: {a: {}}")
    with pytest.raises(LookupError, match="flow 'x' has no trigger 'ring'"):
        replay(records, other)


@pytest.mark.parametrize("broken", [{"trigger": "ring"}, {"trigger": "ring", "seq": 1}])
def test_a_record_that_lacks_a_field_is_named(broken: Mapping[str, Any]) -> None:
    """A replay of half a record is refused with its place."""
    turn = runtime()
    with pytest.raises(JournalError, match="record 2 is no journal's"):
        replay([turn.journal.header(), broken], turn.flow)


# -- on disk


def test_a_sink_gets_every_record_as_it_happens(tmp_path: Path) -> None:
    """What stands in the file is what memory has, while the conversation goes on."""
    path = tmp_path / "journal.jsonl"
    turn = conversation(sinks=[JsonlSink(path, redact=None)])
    records, lost = read_journal(path)
    assert lost is None
    assert records == json.loads(json.dumps(list(turn.journal.records())))
    assert replay(records, turn.flow) is None


def test_a_file_keeps_what_memory_has_dropped(tmp_path: Path) -> None:
    """The bound is of the memory; a sink gets everything."""
    turn = runtime(maxlen=2, sinks=[JsonlSink(tmp_path / "j")])
    for _ in range(10):
        turn.post("tick")
    records, _ = read_journal(tmp_path / "j")
    assert [r["seq"] for r in records[1:]] == list(range(1, 11))


def test_only_the_owner_reads_a_journal(tmp_path: Path) -> None:
    """Mode 0600, whatever the umask."""
    before = os.umask(0)
    try:
        JsonlSink(tmp_path / "a").close()
        write_journal(tmp_path / "b", [])
    finally:
        os.umask(before)
    for name in "ab":
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    """An existing file, also a dangling link, is an error that names the remedy."""
    path = tmp_path / "there"
    path.write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for target in (path, tmp_path / "link"):
        with pytest.raises(JournalError, match="exists; name a new file"):
            JsonlSink(target)
        with pytest.raises(JournalError, match="exists; name a new file"):
            write_journal(target, [])
    assert path.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "there"]


@pytest.mark.parametrize("make", [JsonlSink, lambda path: write_journal(path, [])])
def test_a_journal_needs_a_folder(tmp_path: Path, make: Any) -> None:
    """A missing folder is one clear message."""
    with pytest.raises(JournalError, match="no such file or directory; name a file"):
        make(tmp_path / "no" / "journal")


def test_a_journal_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """An error while the records are made leaves nothing behind."""

    def records() -> Any:
        yield {"journal": 1}
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_journal(tmp_path / "journal", records())
    assert list(tmp_path.iterdir()) == []
    turn = conversation()
    write_journal(tmp_path / "journal", turn.journal.records(), redact=None)
    assert replay(read_journal(tmp_path / "journal")[0], turn.flow) is None


def test_a_full_disk_ends_the_writing_not_the_conversation() -> None:
    """The error is kept; nothing is raised, then or later."""
    with unbuffered(os.open("/dev/full", os.O_WRONLY)) as full:
        sink = JsonlSink(full)
        turn = conversation(sinks=[sink])
        assert turn.state == "busy"
        turn.close()
    assert isinstance(sink.error, OSError)
    assert sink.error.errno == errno.ENOSPC


def unbuffered(descriptor: int) -> io.TextIOWrapper:
    """A text file that keeps nothing back, so that closing it cannot fail."""
    return io.TextIOWrapper(os.fdopen(descriptor, "wb", buffering=0), write_through=True)


def test_a_closed_pipe_ends_the_writing_not_the_conversation() -> None:
    """So does a file that somebody else has closed."""
    reader, writer = os.pipe()
    os.close(reader)
    closed = io.StringIO()
    closed.close()
    with unbuffered(writer) as pipe:
        sinks = [JsonlSink(pipe), JsonlSink(closed)]
        turn = conversation(sinks=sinks)
    assert (turn.state, len(turn.journal)) == ("busy", 8)
    assert isinstance(sinks[0].error, BrokenPipeError)
    assert isinstance(sinks[1].error, ValueError)


def test_a_sink_that_raises_gets_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    """The other sinks do; the log says which one it was."""

    class Broken:
        def write(self, record: Mapping[str, Any]) -> None:
            raise RuntimeError("broken")

        def close(self) -> None:
            raise RuntimeError("also broken")

    class Fine:
        def __init__(self) -> None:
            self.records: list[Mapping[str, Any]] = []
            self.closed = 0

        def write(self, record: Mapping[str, Any]) -> None:
            self.records.append(record)

        def close(self) -> None:
            self.closed += 1

    fine = Fine()
    turn = conversation(sinks=[Broken(), fine])
    turn.close()
    turn.close()
    assert len(fine.records) == 9
    assert fine.closed == 1
    assert caplog.text.count("gets no more records") == 1


def test_an_open_file_is_not_closed() -> None:
    """Standard output is written to and left open."""
    file = io.StringIO()
    turn = conversation(sinks=[JsonlSink(file)])
    turn.close()
    assert len(file.getvalue().splitlines()) >= 9
    assert not file.closed


class Unspeakable:
    """A value that raises when it is shown."""

    def __str__(self) -> str:
        raise ValueError


def _circle() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    return circle


@pytest.mark.parametrize(
    "value", ["\ud800", {1, 2}, _circle(), {(1, 2): 3}, Unspeakable(), b"\xff", 1e400, object()]
)
def test_whatever_data_is_the_record_is_written(tmp_path: Path, value: Any) -> None:
    """Values that JSON does not have never cost a record."""
    turn = runtime(sinks=[JsonlSink(tmp_path / "j", redact=None)])
    turn.post("tick", value=value)
    turn.post("ring")
    records, lost = read_journal(tmp_path / "j")
    assert (lost, [r["trigger"] for r in records[1:]]) == (None, ["tick", "ring"])
    assert replay(records, turn.flow) is None


# -- cut and damaged


def test_a_journal_that_was_cut_anywhere_keeps_its_whole_records(tmp_path: Path) -> None:
    """At every byte: all records that are whole are read, and what was lost is said."""
    path, cut = tmp_path / "whole", tmp_path / "cut"
    turn = conversation(sinks=[JsonlSink(path, redact=None)])
    turn.close()
    blob = path.read_bytes()
    lines = blob.split(b"\n")[:-1]
    whole, _ = read_journal(path)
    assert all(replay(whole[:count], turn.flow) is None for count in range(len(whole) + 1))
    for size in range(len(blob) + 1):
        cut.write_bytes(blob[:size])
        records, lost = read_journal(cut)
        ends = [sum(len(line) + 1 for line in lines[: n + 1]) - 1 for n in range(len(lines))]
        complete = sum(end <= size for end in ends)
        assert records == whole[:complete]
        torn = size - (ends[complete - 1] + 1 if complete else 0)
        expected = f"{torn} bytes of record {complete + 1} were cut off" if torn > 0 else None
        assert lost == expected


@pytest.mark.parametrize(
    ("line", "why"),
    [(b'{"seq": 2, "t": 0.', "not JSON"), (b"[1]", "not a record"), (b"\xff\xfe", "not JSON")],
)
def test_a_torn_record_in_the_middle_is_named(tmp_path: Path, line: bytes, why: str) -> None:
    """Damage before the end is no cut: file and line are named, nothing is guessed."""
    path = tmp_path / "journal"
    conversation(sinks=[JsonlSink(path)]).close()
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[3:]]))
    with pytest.raises(JournalError, match=f"journal:3: {why}"):
        read_journal(path)


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    """A missing file, and one that begins with something else."""
    with pytest.raises(JournalError, match="no such file or directory; name a journal"):
        read_journal(tmp_path / "nothing")
    (tmp_path / "other").write_text('{"seq": 1}\n')
    with pytest.raises(JournalError, match="other:1: not a journal"):
        read_journal(tmp_path / "other")


def test_a_killed_process_loses_no_record(tmp_path: Path) -> None:
    """What was posted before kill -9 stands in the file and replays."""
    path = tmp_path / "journal"
    if (child := os.fork()) == 0:
        turn = conversation(sinks=[JsonlSink(path)])
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    records, lost = read_journal(path)
    turn = runtime()
    assert (len(records), lost) == (9, None)
    assert replay(records, turn.flow) is None


# -- redacted


def test_what_was_said_stays_off_the_disk(tmp_path: Path) -> None:
    """By default the values of private keys are left out, and the header says so."""
    path = tmp_path / "journal"
    turn = conversation(sinks=[JsonlSink(path)])
    turn.note("tool", name="look", arguments={"city": "Bonn"}, parts=[{"text": "secret", "n": 1}])
    text = path.read_text()
    assert not [word for word in ("said.", "Bonn", "secret", "Gr") if word in text]
    records, _ = read_journal(path)
    assert records[0]["redacted"]["how"] == "leave_out"
    assert "text" in records[0]["redacted"]["keys"]
    assert records[-1]["data"] == {"name": "look", "parts": [{"n": 1}]}
    assert replay(records, turn.flow) is None
    assert list(turn.journal)[1].data == {"text": "what the user said"}, "memory keeps it"


def test_hashed_words_can_be_compared_and_not_guessed() -> None:
    """Equal words have equal hashes in one journal and others in the next."""
    one, two = Redactor("hash"), Redactor("hash")
    record = {"note": "message", "data": {"text": "yes", "more": {"text": "yes"}, "role": "user"}}
    data = one(record)["data"]
    assert data["text"] == data["more"]["text"] != two(record)["data"]["text"]
    assert data["text"].startswith("hash:")
    assert data["role"] == "user"
    assert one({"data": {"text": ["\ud800", 1]}})["data"]["text"].startswith("hash:")
    assert record["data"]["text"] == "yes"  # type: ignore[index]


def test_the_private_keys_are_a_choice(tmp_path: Path) -> None:
    """Others may be named; a way to redact that there is not is refused."""
    sink = JsonlSink(tmp_path / "j", private=["phone"])
    sink.write({"note": "call", "data": {"phone": "0228", "text": "hello"}})
    sink.close()
    assert read_tail(tmp_path / "j")["data"] == {"text": "hello"}
    with pytest.raises(ValueError, match="give 'leave_out', 'hash' or None"):
        Redactor("blank")  # type: ignore[arg-type]


def read_tail(path: Path) -> Any:
    """The last record of a file."""
    return json.loads(path.read_text().splitlines()[-1])
